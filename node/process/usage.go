package process

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ResidentBytes is the process's resident memory without the pages of files: the kernel reclaims
// the pages of logs and of the program when something else needs the memory.
func ResidentBytes() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 3 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	shared, _ := strconv.ParseInt(fields[2], 10, 64)
	return (pages - shared) * int64(os.Getpagesize())
}

// CPUSeconds is the CPU time of the process.
func CPUSeconds() (user, system float64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()).Seconds(), time.Duration(u.Stime.Nano()).Seconds()
}

// Disk returns the free and total bytes of the disk of a folder. It returns false if the system
// does not say.
func Disk(dir string) (free, size int64, ok bool) {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return 0, 0, false
	}
	block := int64(fs.Bsize) // its type depends on the system
	return int64(fs.Bavail) * block, int64(fs.Blocks) * block, true
}
