package script_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"lockstep/engine/reply"
	"lockstep/engine/script"
)

var roomy = script.FunctionLimits{Libraries: 10, Functions: 20, Bytes: 10_000, SourceBytes: 5000}

func source(name string, functions ...string) []byte {
	s := "#!lua name=" + name + "\n"
	for _, f := range functions {
		s += fmt.Sprintf("redis.register_function('%s', function() return '%s of %s' end)\n", f, f, name)
	}
	return []byte(s)
}

func libraryNames(libraries []*script.Library) []string {
	var names []string
	for _, l := range libraries {
		names = append(names, l.Name)
	}
	return names
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if text == "" && err != nil || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
		t.Errorf("got the error %v, want %q", err, text)
	}
}

func TestFunctionsAreFoundUntilTheirLibraryGoes(t *testing.T) {
	var f script.Functions
	load := func(src []byte, replace bool, want string) {
		t.Helper()
		_, err := f.Load(src, replace, &roomy, 1, nil)
		wantError(t, err, want)
	}
	load(source("a", "one", "two"), false, "")
	load(source("a", "one"), false, "Library 'a' already exists")
	load(source("b", "ONE"), false, "Function ONE already exists")
	load(source("b", "ONE"), true, "Function ONE already exists")
	load(source("b", "three"), true, "")
	load(source("a", "one"), true, "")
	if fn, settled := f.Find("TWO"); fn != nil || !settled {
		t.Errorf("two is still there: %v, %v", fn, settled)
	}
	if fn, _ := f.Find("ONE"); fn == nil || fn.Name != "one" || fn.Library.Name != "a" {
		t.Errorf("found %v", fn)
	}
	if libraries, functions, bytes := f.Count(); libraries != 2 || functions != 2 || bytes != len(source("a", "one"))+len(source("b", "three")) {
		t.Errorf("%d libraries, %d functions, %d bytes", libraries, functions, bytes)
	}
	wantError(t, f.Delete("A", 1), "Library not found")
	wantError(t, f.Delete("a", 1), "")
	if names := libraryNames(f.Libraries()); !slices.Equal(names, []string{"b"}) {
		t.Errorf("left are %v", names)
	}
	f.Announce()
	if _, settled := f.Find("three"); settled {
		t.Error("a change is open, but not told of")
	}
	f.Settle()
	before := f.Changes()
	f.Flush(1)
	if fn, settled := f.Find("three"); fn != nil || !settled || f.Changes() == before {
		t.Errorf("flushed, but found %v (%v)", fn, settled)
	}
}

// TestRestoringChangesAllOrNothing: if one library is bad, too many, or exists already, no library
// changes.
func TestRestoringChangesAllOrNothing(t *testing.T) {
	long := append(source("long", "l"), strings.Repeat(" ", 4500)...)
	for _, c := range []struct {
		given  [][]byte
		policy script.Policy
		err    string
		names  []string
	}{
		{[][]byte{source("b", "x"), source("c", "y")}, script.Append, "", []string{"a", "b", "c"}},
		{[][]byte{source("b", "x"), source("a", "y")}, script.Append, "Library a already exists", []string{"a"}},
		{[][]byte{source("b", "x"), source("a", "y")}, script.Replace, "", []string{"a", "b"}},
		{[][]byte{source("b", "One")}, script.Replace, "Function One already exists", []string{"a"}},
		{[][]byte{source("b", "One")}, script.Clear, "", []string{"b"}},
		{[][]byte{source("b", "x"), source("b", "y")}, script.Replace, "Library 'b' already exists", []string{"a"}},
		{[][]byte{source("b", "x"), source("c", "X")}, script.Replace, "Function X already exists", []string{"a"}},
		{[][]byte{source("b", "x"), source("c")}, script.Clear, "No functions registered", []string{"a"}},
		{[][]byte{source("b", "x"), []byte("x")}, script.Clear, "Missing library metadata", []string{"a"}},
		{nil, script.Clear, "", nil},
		{nil, script.Append, "", []string{"a"}},
		{[][]byte{source("b", strings.Fields("f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20")...)}, script.Append, "more than 20 functions", []string{"a"}},
		{[][]byte{long, append(source("long2", "l2"), strings.Repeat(" ", 4500)...), append(source("long3", "l3"), strings.Repeat(" ", 4500)...)}, script.Append, "10000 bytes together", []string{"a"}},
		{[][]byte{append(source("b", "x"), strings.Repeat(" ", 5000)...)}, script.Append, "longer than 5000 bytes", []string{"a"}},
		{[][]byte{source("b", "1"), source("c", "2"), source("d", "3"), source("e", "4"), source("f", "5"), source("g", "6"), source("h", "7"), source("i", "8"), source("j", "9"), source("k", "10")}, script.Append, "more than 10 libraries", []string{"a"}},
	} {
		var f script.Functions
		if _, err := f.Load(source("a", "one"), false, &roomy, 1, nil); err != nil {
			t.Fatal(err)
		}
		wantError(t, f.Restore(c.given, c.policy, &roomy, 2, nil), c.err)
		if names := libraryNames(f.Libraries()); !slices.Equal(names, c.names) {
			t.Errorf("%.80q left %v, want %v", c.given, names, c.names)
		}
	}
}

// TestACutKeepsTheLibrariesOfItsTxn: a cut does not contain the changes of later txns.
func TestACutKeepsTheLibrariesOfItsTxn(t *testing.T) {
	var f script.Functions
	load := func(name string, txnNo uint64) {
		if _, err := f.Load(source(name, name), false, &roomy, txnNo, nil); err != nil {
			t.Fatal(err)
		}
	}
	load("a", 5)
	cut := f.OpenCut(7)
	load("b", 7)
	load("c", 8)
	later := f.OpenCut(8)
	f.Flush(9)
	load("d", 10)
	if names := libraryNames(cut.Libraries()); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("behind txn 7 there were %v", names)
	}
	if names := libraryNames(later.Libraries()); !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("behind txn 8 there were %v", names)
	}
	cut.Close()
	later.Close()
	last := f.OpenCut(10)
	defer last.Close()
	if names := libraryNames(last.Libraries()); !slices.Equal(names, []string{"d"}) {
		t.Errorf("behind txn 10 there were %v", names)
	}
	var g script.Functions
	if err := g.Adopt([][]byte{source("x", "x"), source("y", "y")}); err != nil || len(g.Libraries()) != 2 {
		t.Errorf("adopted %v: %v", libraryNames(g.Libraries()), err)
	}
}

// TestLibrariesThatWentAreNotKept: an interpreter that has called a library releases the text once
// it is replaced.
func TestLibrariesThatWentAreNotKept(t *testing.T) {
	const length, versions = 200 << 10, 200
	var f script.Functions
	var e script.Interpreters
	limits := script.FunctionLimits{Libraries: 10, Functions: 10, Bytes: 1 << 20, SourceBytes: 1 << 20}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i := range versions {
		text := fmt.Sprintf("#!lua name=lib\n--%s\nredis.register_function('f', function() return %d end)", strings.Repeat("x", length), i)
		if _, err := f.Load([]byte(text), true, &limits, uint64(i+1), nil); err != nil {
			t.Fatal(err)
		}
		fn, _ := f.Find("f")
		out := reply.NewWriter(reply.RESP2)
		e.Call(fn, &script.Run{Host: newHost(), Limits: &small}, out)
		if got := string(out.Bytes()); got != fmt.Sprintf(":%d\r\n", i) {
			t.Fatalf("version %d answers %q", i, got)
		}
	}
	if grown := heap() - before; grown > versions*length/4 {
		t.Errorf("%d bytes are kept for texts of %d", grown, length)
	}
	runtime.KeepAlive(&e)
	runtime.KeepAlive(&f)
}

// TestALibraryPaysForWhatItFills: loading has the same kinds of bound as a script.
func TestALibraryPaysForWhatItFills(t *testing.T) {
	var f script.Functions
	limits := script.FunctionLimits{Libraries: 10, Functions: 10, Bytes: 1 << 20, SourceBytes: 1 << 20}
	_, err := f.Load([]byte("#!lua name=lib\nlocal all = {} for i = 1, 20 do all[i] = {[60000] = i} end\n"+
		"redis.register_function('f', function() return #all end)"), false, &limits, 1, nil)
	if err == nil || !strings.Contains(err.Error(), "may allocate") {
		t.Errorf("a library that fills 10 MB: %v", err)
	}
}
