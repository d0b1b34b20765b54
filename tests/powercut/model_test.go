package powercut

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parsed parses a trace.
func parsed(t *testing.T, lines ...string) []call {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var calls []call
	tr := tracing{open: map[string]call{}}
	if err := tr.read(path, func(c call) error { calls = append(calls, c); return nil }); err != nil {
		t.Fatal(err)
	}
	return calls
}

func TestTraceIsRead(t *testing.T) {
	calls := parsed(t,
		`7 openat(AT_FDCWD</d>, "x y", O_RDWR|O_CREAT, 0600) = 3</d/x y>`,
		`7 pwrite64(3</d/x>, "a\0\1\0001\"\\\n) = 9", 9, 512 <unfinished ...>`,
		`8  fsync(4</d>)           = -1 EIO (Input/output error)`,
		`7 <... pwrite64 resumed>)  = 9`,
		`8 fdatasync(3</d/x> <unfinished ...>`,
		`8 <... fdatasync resumed> <unfinished ...>) = ?`,
		`9 ftruncate(3</d/x>, 700 <detached ...>`,
		`9 +++ killed by SIGKILL +++`,
	)
	var got []string
	for _, c := range calls[:3] {
		got = append(got, fmt.Sprint(c.name, c.ret, c.began, c.ended, c.over))
	}
	if want := "[openat3 1 1 true fsync-1 3 3 true pwrite649 2 4 true]"; fmt.Sprint(got) != want {
		t.Errorf("%v, not %s", got, want)
	}
	if text := string(calls[2].args[1].text); text != "a\x00\x01\x001\"\\\n) = 9" || calls[2].args[3].number() != 512 {
		t.Errorf("%q at %s", text, calls[2].args[3].word)
	}
	if at(calls[0].args[0], calls[0].args[1]) != "/d/x y" || calls[2].args[0].path != "/d/x" {
		t.Errorf("paths %+v %+v", calls[0].args, calls[2].args)
	}
	if len(calls) != 5 || calls[3].over || calls[4].over {
		t.Errorf("%d calls; those that a kill ended: %+v", len(calls), calls[3:])
	}
}

// modelled returns the files that a power cut leaves after the calls.
func modelled(t *testing.T, how fate, seed uint64, lines ...string) map[string]string {
	t.Helper()
	d := newDisk("/d")
	for _, c := range parsed(t, lines...) {
		if err := d.take(c); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if err := d.cut(rand.New(rand.NewPCG(seed, 1)), how, dir); err != nil {
		t.Fatal(err)
	}
	names, err := scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]string{}
	for name, f := range names {
		text := make([]byte, f.safe.size)
		for _, run := range f.safe.runs() {
			copy(text[run.offset:], run.data)
		}
		left[name] = string(text)
	}
	return left
}

// written are the calls that write a file of two sectors, followed by syncs of the file and its
// folder, if any.
func written(syncs ...string) []string {
	lines := []string{
		`1 openat(AT_FDCWD</>, "/d/f", O_RDWR|O_CREAT, 0600) = 3</d/f>`,
		`1 pwrite64(3</d/f>, "` + strings.Repeat("a", sector) + strings.Repeat("b", sector) + `", 1024, 0) = 1024`,
	}
	return append(lines, syncs...)
}

const (
	syncFile   = `1 fsync(3</d/f>) = 0`
	syncFolder = `1 fsync(4</d>) = 0`
)

func TestOnlyWhatWasSyncedIsSafe(t *testing.T) {
	whole := strings.Repeat("a", sector) + strings.Repeat("b", sector)
	for _, c := range []struct {
		how   fate
		syncs []string
		want  map[string]string
	}{
		{nothing, nil, map[string]string{}},
		{nothing, []string{syncFile}, map[string]string{}},
		{nothing, []string{syncFolder}, map[string]string{"/f": ""}},
		{nothing, []string{syncFile, syncFolder}, map[string]string{"/f": whole}},
		{everything, nil, map[string]string{"/f": whole}},
		{nothing, []string{syncFile, syncFolder, `1 unlinkat(AT_FDCWD</>, "/d/f", 0) = 0`}, map[string]string{"/f": whole}},
		{everything, []string{syncFile, syncFolder, `1 renameat(AT_FDCWD</>, "/d/f", AT_FDCWD</>, "/d/g") = 0`}, map[string]string{"/g": whole}},
		{nothing, []string{`1 fsync(3</d/f> <unfinished ...>`, `2 pwrite64(3</d/f>, "zz", 2, 0) = 2`, `1 <... fsync resumed>) = 0`, syncFolder}, map[string]string{"/f": whole}},
	} {
		if got := modelled(t, c.how, 1, written(c.syncs...)...); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s after %q: %.60q", c.how, c.syncs, got)
		}
	}
}

// A sector is old or new, and every combination occurs.
func TestSectorsFareForThemselves(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		lines := append(written(syncFile, syncFolder), `1 pwrite64(3</d/f>, "`+strings.Repeat("c", 2*sector)+`", 1024, 0) = 1024`)
		text := modelled(t, half, seed, lines...)["/f"]
		for half := range 2 {
			if s := text[half*sector : (half+1)*sector]; strings.Trim(s, s[:1]) != "" {
				t.Fatalf("a sector is mixed: %q", s)
			}
		}
		seen[text[:1]+text[sector:sector+1]] = true
	}
	if len(seen) != 4 {
		t.Errorf("seen: %v", seen)
	}
}

func TestWhatIsNotModelledIsNoticed(t *testing.T) {
	d := newDisk("/d")
	for _, line := range []string{
		`1 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3</d/f>, 0) = 0x7f`,
		`1 pwritev(3</d/f>, [{iov_base="a", iov_len=1}], 1, 0) = 1`,
		`1 sync() = 0`,
		`1 pwrite64(3</d/unknown>, "a", 1, 0) = 1`,
	} {
		if err := d.take(parsed(t, line)[0]); err == nil {
			t.Errorf("taken: %s", line)
		}
	}
}

// halfway is a history with three acknowledged entries, while two more entries, a vote and a trim
// are under way.
func halfway(t *testing.T) (*history, []record) {
	t.Helper()
	var all []record
	for i := range uint64(5) {
		all = append(all, record{Index: i + 1, Term: 1, Nonce: i + 10, SizeBytes: 50})
	}
	h := newHistory(contents{records: map[uint64]record{}})
	for _, o := range []op{
		{ID: 1, Verb: verbAppend, Records: all[:3]}, {ID: 1, Acked: true},
		{ID: 2, Verb: verbTrim, Index: 1},
		{ID: 3, Verb: verbAppend, Records: all[3:]},
		{ID: 4, Verb: verbVote, Vote: vote{2, "b"}},
	} {
		if _, err := h.take(o.line()); err != nil {
			t.Fatal(err)
		}
	}
	return h, all
}

func TestHistoryKnowsWhatIsAllowed(t *testing.T) {
	h, all := halfway(t)
	found := func(first, last uint64, change func(*contents)) contents {
		c := contents{first: first, last: last, records: map[uint64]record{}}
		for _, r := range all[first-1 : last] {
			c.records[r.Index] = r
		}
		if change != nil {
			change(&c)
		}
		return c
	}
	for name, c := range map[string]contents{
		"what was acknowledged": found(1, 3, nil), "a part of the append": found(1, 4, nil), "all of it, trimmed": found(2, 5, nil),
		"the vote": found(1, 3, func(c *contents) { c.vote = vote{2, "b"} }),
	} {
		if err := h.allows(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]contents{
		"an entry lost": found(1, 2, nil), "trimmed too far": found(3, 5, nil), "nothing": {},
		"half a vote":   found(1, 3, func(c *contents) { c.vote = vote{2, ""} }),
		"a term":        found(1, 3, func(c *contents) { c.term = 2 }),
		"a snapshot":    found(1, 3, func(c *contents) { c.snap = 2 }),
		"another entry": found(1, 3, func(c *contents) { r := all[1]; r.Nonce++; c.records[2] = r }),
	} {
		if h.allows(c) == nil {
			t.Errorf("%s was allowed", name)
		}
	}
}
