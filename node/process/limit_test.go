package process

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The limit of a container counts with either version of control groups, whether the process sees
// its own path or the machine's.
func TestTheLeastLimitOfMemoryCounts(t *testing.T) {
	const none = math.MaxInt64
	for name, c := range map[string]struct {
		files  map[string]string
		groups string
		want   int64
	}{
		"no groups":          {nil, "", none},
		"no limit":           {map[string]string{"a.slice/memory.max": "max\n"}, "0::/a.slice\n", none},
		"a unit":             {map[string]string{"a.slice/b.service/memory.max": "1000\n", "a.slice/memory.max": "max\n"}, "0::/a.slice/b.service\n", 1000},
		"the slice above":    {map[string]string{"a.slice/b.service/memory.max": "1000\n", "a.slice/memory.max": "900\n"}, "0::/a.slice/b.service\n", 900},
		"a container":        {map[string]string{"memory.max": "5000\n"}, "0::/\n", 5000},
		"its path outside":   {map[string]string{"memory.max": "5000\n"}, "0::/../../pod7/c1\n", 5000},
		"the first version":  {map[string]string{"memory/memory.limit_in_bytes": "7000\n"}, "9:cpu,cpuacct:/d/1\n4:memory:/d/1\n0::/\n", 7000},
		"and no limit in it": {map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, "4:memory:/\n", 9223372036854771712},
		"another's":          {map[string]string{"c.slice/memory.max": "1\n"}, "0::/a.slice\n", none},
	} {
		dir := t.TempDir()
		for file, text := range c.files {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := memoryLimit(dir, c.groups); got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
	}
	if got := MemoryMost(); got <= 0 || got > TotalMemory() {
		t.Errorf("this process may take %d of %d bytes", got, TotalMemory())
	}
}
