package node

import (
	"runtime"
	"testing"
)

func TestOneProcessorMoreThanCores(t *testing.T) {
	before, cores := runtime.GOMAXPROCS(0), runtime.NumCPU()
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	for _, c := range []struct {
		what, chosen string
		have, want   int
	}{
		{"as many as cores", "", cores, cores + 1},
		{"a ration", "", cores + 3, cores + 3},
		{"chosen", "2", cores, cores},
	} {
		t.Setenv("GOMAXPROCS", c.chosen)
		runtime.GOMAXPROCS(c.have)
		SpareProcessor()
		if got := runtime.GOMAXPROCS(0); got != c.want {
			t.Errorf("%s: %d processors, want %d", c.what, got, c.want)
		}
	}
}
