package script_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"lockstep/engine/script"
)

func read(t *testing.T, source string) *script.Script {
	t.Helper()
	s, err := script.Read([]byte(source), &script.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCacheFindsWhatWasLoaded(t *testing.T) {
	var c script.Cache
	l := script.CacheLimits{Scripts: 10, Bytes: 20}
	s, err := c.Load(read(t, "return 1"), l)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := c.Load(read(t, "return 1"), l)
	if n, bytes := c.Size(); again != s || n != 1 || bytes != 8 {
		t.Errorf("loaded twice: %p and %p, %d scripts, %d bytes", s, again, n, bytes)
	}
	if c.Get(strings.ToUpper(s.SHA)) != s || c.Get("nope") != nil || c.Get(strings.Repeat("0", 40)) != nil {
		t.Error("Get finds the wrong script")
	}
	if _, err := c.Load(read(t, "return 'too long for it'"), l); !errors.Is(err, script.ErrCacheFull) {
		t.Errorf("got %v", err)
	}
	c.Flush()
	if n, bytes := c.Size(); c.Get(s.SHA) != nil || n+bytes != 0 {
		t.Error("flushed, but still there")
	}
}

// TestEvaluatedScriptsMakeRoom: the scripts that were not used for the longest time go first.
// Loaded scripts stay, and so does an evaluated script that is loaded later.
func TestEvaluatedScriptsMakeRoom(t *testing.T) {
	var c script.Cache
	l := script.CacheLimits{Scripts: 4, Bytes: 1000}
	text := func(i int) *script.Script { return read(t, fmt.Sprintf("return %d", i)) }
	if _, err := c.Load(text(0), l); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 3; i++ {
		c.Keep(text(i), l)
	}
	c.Use(text(1).SHA)
	c.Get(text(2).SHA) // leaves no trace
	c.Keep(text(4), l)
	if c.Get(text(2).SHA) != nil || c.Get(text(1).SHA) == nil || c.Get(text(0).SHA) == nil {
		t.Error("2 was unused for longest")
	}
	if _, err := c.Load(text(3), l); err != nil {
		t.Fatal(err)
	}
	var copied script.Cache
	for _, s := range c.All() {
		copied.Restore(s)
	}
	for name, c := range map[string]*script.Cache{"itself": &c, "restored": &copied} {
		for i := 10; i < 20; i++ {
			c.Keep(text(i), l)
		}
		for i, want := range map[int]bool{0: true, 3: true, 1: false, 4: false, 17: false, 18: true, 19: true} {
			if got := c.Get(text(i).SHA) != nil; got != want {
				t.Errorf("%s: script %d is there: %v", name, i, got)
			}
		}
		if n, bytes := c.Size(); n != 4 || bytes != 34 {
			t.Errorf("%s: %d scripts of %d bytes", name, n, bytes)
		}
	}
	if big := read(t, "return '"+strings.Repeat("x", 2000)+"'"); c.Keep(big, l) != big || c.Get(big.SHA) != nil {
		t.Error("what cannot be kept is to be run all the same")
	}
}

// The memory that scripts and libraries report is about the memory that they use.
func TestMemoryOfProgramsIsAboutWhatTheyTake(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const n = 200
	for _, lines := range []int{0, 2, 40} {
		var c script.Cache
		before := heap()
		for i := range n {
			source := fmt.Sprintf("%sreturn %d", strings.Repeat("local a = redis.call('get', KEYS[1]) if a == ARGV[1] then a = 1 end\n", lines), i)
			s, err := script.Compile([]byte(source), &script.DefaultLimits)
			if err != nil {
				t.Fatal(err)
			}
			c.Keep(s, script.CacheLimits{Scripts: n, Bytes: 1 << 30})
		}
		took, said := heap()-before, c.MemoryBytes()
		t.Logf("%d lines: %d bytes each, %d are counted", lines, took/n, said/n)
		if said < took*2/3 || said > took*3/2 {
			t.Errorf("scripts of %d lines take %d bytes each, %d are counted", lines, took/n, said/n)
		}
		c.Flush()
		if got := c.MemoryBytes(); got != 0 {
			t.Errorf("%d bytes are left", got)
		}
	}
}
