package process

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryMost is how much memory the process may take: all of the machine's, or less if a container
// or a systemd unit limits it.
func MemoryMost() int64 {
	text, _ := os.ReadFile("/proc/self/cgroup")
	return min(TotalMemory(), memoryLimit("/sys/fs/cgroup", string(text)))
}

// memoryLimit is the lowest limit of the control groups that a process is in, or math.MaxInt64 if
// there is none. mounted is the folder of the control groups. groups is the kernel's list for the
// process, with lines "number:controllers:path". In a container the path may be the one outside,
// which is not mounted; then the groups at the root are the container's.
func memoryLimit(mounted, groups string) int64 {
	least := int64(math.MaxInt64)
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var root, file string
		switch {
		case parts[1] == "": // cgroup v2
			root, file = mounted, "memory.max"
		case parts[1] == "memory":
			root, file = filepath.Join(mounted, "memory"), "memory.limit_in_bytes"
		default:
			continue
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			if limit, ok := limitIn(filepath.Join(root, at, file)); ok {
				least = min(least, limit)
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

// limitIn reads a limit. A file says with a word, or with a number beyond any memory, that there is
// none.
func limitIn(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return limit, err == nil && limit > 0
}
