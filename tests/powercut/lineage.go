package powercut

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"

	"lockstep/tests/kit/proc"
)

// lineage is a folder of stores from its first opening, through kills and power cuts.
type lineage struct {
	t    testing.TB
	kind string
	rng  *rand.Rand
	// root is the folder's root as the disk knows it. The root itself is on a device that never
	// fails; everything below it may fail.
	root    string
	disk    *disk
	history *history
	// lines counts the lines of all traces, so that positions continue from one trace to the next.
	lines int
	// fates are the fates of its power cuts, in turn.
	fates        []fate
	cutsPerPlace int
	// cuts counts power cuts, acked acknowledgements, and entries the acknowledged entries.
	cuts, acked, entries int
	// wrong are the errors that were found after power cuts.
	wrong []error
	// killed means that the last session ended with a kill.
	killed bool
	// lost means that the trace lacks a call, so nothing more can be checked.
	lost bool
}

func newLineage(t testing.TB, kind string, seed uint64) *lineage {
	l := &lineage{t: t, kind: kind, rng: rand.New(rand.NewPCG(seed, 17)), root: t.TempDir(), fates: allFates, cutsPerPlace: 1}
	l.disk = newDisk(l.root)
	l.history = newHistory(contents{records: map[uint64]record{}})
	return l
}

// storesDir is the folder of the stores below a root. It does not exist at first.
func storesDir(root string) string { return filepath.Join(root, "raft", "group") }

// needStrace finds strace, or skips the test.
func needStrace(t testing.TB) string {
	t.Helper()
	proc.NeedProcesses(t)
	path, err := strace()
	if err != nil {
		proc.Skip(t, err.Error())
	}
	return path
}

// strace is the path of strace, once a trial has shown that it is allowed to trace here.
var strace = sync.OnceValues(func() (string, error) {
	path, err := exec.LookPath("strace")
	if err != nil {
		return "", errors.New("strace is not installed")
	}
	if out, err := exec.Command(path, append(straceArgs(os.DevNull), "true")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("strace may not trace here: %w: %s", err, out)
	}
	return path, nil
})

// session runs a worker in the folder under strace and returns its calls.
func (l *lineage) session(o order) []call {
	l.t.Helper()
	o.Dir, o.Kind, o.Seed = storesDir(l.root), l.kind, l.rng.Uint64()
	text, err := json.Marshal(o)
	if err != nil {
		l.t.Fatal(err)
	}
	trace := filepath.Join(l.t.TempDir(), "trace")
	args := straceArgs(trace)
	if o.SyncsFail > 0 {
		args = append(args, failing(o.SyncsFail)...)
	}
	cmd := exec.Command(needStrace(l.t), append(args, os.Args[0])...)
	cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	// strace exits with the status of its process.
	var exit *exec.ExitError
	l.killed = errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if o.SyncsFail > 0 && errors.As(err, &exit) && bytes.Contains(said.Bytes(), []byte(syscall.EIO.Error())) {
		l.killed, err = true, nil // the process may have ended in the middle of other work
	}
	if err != nil && !(l.killed && o.KillAfter > 0) {
		l.t.Fatalf("worker with %s: %v\n%s", text, err, said.Bytes())
	}
	var calls []call
	t := tracing{n: l.lines, open: map[string]call{}}
	if err := t.read(trace, func(c call) error { calls = append(calls, c); return nil }); err != nil {
		l.t.Fatal(err)
	}
	l.lines = t.n + 1
	if err := os.Remove(trace); err != nil {
		l.t.Fatal(err)
	}
	return calls
}

// take applies one call to model and history. It reports whether the call mattered.
func (l *lineage) take(c call) (mattered bool, err error) {
	if c.name == "write" && c.args[0].path == reportPath {
		if !c.over {
			return false, nil
		}
		acked, err := l.history.take(c.args[1].text)
		if acked != nil {
			l.acked++
			l.entries += len(acked.Records)
		}
		return true, err
	}
	return l.matters(c), l.disk.take(c)
}

func (l *lineage) matters(c call) bool {
	for _, a := range c.args {
		if l.disk.has(a.path) || l.disk.has(string(a.text)) {
			return true
		}
	}
	return false
}

// play applies all calls, and cuts the power after some random ones: wanted times in total, from
// the call number from on. It returns one of the power cuts for the next generation.
func (l *lineage) play(calls []call, from, wanted int) (next *survivor) {
	l.t.Helper()
	var places []int
	for i, c := range calls {
		if i >= from && c.over && (l.matters(c) || c.name == "write" && c.args[0].path == reportPath) {
			places = append(places, i)
		}
	}
	l.rng.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	places = places[:min(wanted, len(places))]
	chosen := -1
	if len(places) > 0 {
		chosen = places[0]
	}
	slices.Sort(places)
	var undecided []call
	for i, c := range calls {
		_, err := l.take(c)
		if errors.Is(err, errUndecided) {
			undecided = append(undecided, c)
		} else if err != nil {
			l.t.Fatalf("%s, call %d: %s: %v", l.kind, i, c.name, err)
		}
		if _, here := slices.BinarySearch(places, i); here {
			for range l.cutsPerPlace {
				if s := l.cut(i == chosen); s != nil {
					next = s
				}
			}
		}
	}
	l.decide(undecided)
	return next
}

// decide finds out, from the folder, how far those calls got in which the worker was killed, and
// checks that the model agrees with the folder. Once in hundreds of kills strace does not show a
// call that took place; then the lineage is given up.
func (l *lineage) decide(undecided []call) {
	l.t.Helper()
	for _, c := range undecided {
		writes := c.name == "pwrite64" || c.name == "write"
		if !writes && l.disk.same() == nil {
			break
		}
		c.over, c.ended = true, l.lines
		if writes {
			c = l.written(c)
		}
		if err := l.disk.take(c); err != nil {
			l.t.Fatal(err)
		}
	}
	err := l.disk.same()
	if err != nil && !l.killed {
		l.t.Fatalf("%s: the model is wrong: %v", l.kind, err)
	}
	l.lost = err != nil
}

// written returns a write, cut to the part that is in the folder, because a kill may end a write in
// the middle.
func (l *lineage) written(c call) call {
	l.t.Helper()
	f, err := os.Open(c.args[0].path)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	there := make([]byte, len(c.args[1].text))
	offset := int64(0)
	if c.name == "pwrite64" {
		offset = c.args[3].number()
	} else if known := l.disk.live[c.args[0].path]; known != nil {
		offset = known.length()
	}
	n, err := f.ReadAt(there, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		l.t.Fatal(err)
	}
	c.args = slices.Clone(c.args)
	c.args[1].text, c.ret = there[:n], int64(n)
	return c
}

// survivor is the folder that a power cut left, and the content that was found in it.
type survivor struct {
	names tree
	found contents
}

// cut cuts the power, opens the remaining folder, and checks it. If wanted, it returns what was
// left.
func (l *lineage) cut(wanted bool) *survivor {
	l.t.Helper()
	how := l.fates[l.cuts%len(l.fates)]
	l.cuts++
	dir := quickDir(l.t)
	defer os.RemoveAll(dir)
	if err := l.disk.cut(l.rng, how, dir); err != nil {
		l.t.Fatal(err)
	}
	var names tree
	if wanted {
		var err error
		if names, err = scan(dir); err != nil {
			l.t.Fatal(err)
		}
	}
	found, err := examine(storesDir(dir), l.kind)
	if err == nil {
		err = l.history.allows(found)
	}
	if err != nil {
		l.wrong = append(l.wrong, fmt.Errorf("%s: power cut %d, which let through %s: %w", l.kind, l.cuts, how, err))
		return nil
	}
	if !wanted {
		return nil
	}
	return &survivor{names, found}
}

// quickDir makes a folder in memory if possible, because a folder that is only read once needs no
// disk.
func quickDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "lockstep-powercut-")
	if err != nil {
		dir, err = os.MkdirTemp("", "lockstep-powercut-")
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// examine opens stores, reads everything, and checks that they continue to work.
func examine(dir, kind string) (found contents, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("lockstepd would have ended: %v", p)
		}
	}()
	s, err := openStores(dir, kind)
	if err != nil {
		return found, err
	}
	defer s.Close()
	if found, err = observe(s); err != nil {
		return found, err
	}
	r := record{Index: max(found.last, found.snap) + 1, Term: 1 << 40, SizeBytes: 2000}
	if err := s.Log.StoreLog(r.entry()); err != nil {
		return found, err
	}
	var back raft.Log
	if err := s.Log.GetLog(r.Index, &back); err != nil {
		return found, err
	}
	_, err = recordOf(&back)
	return found, err
}

// restart makes a survivor the folder from which the lineage continues.
func (l *lineage) restart(s *survivor) {
	l.t.Helper()
	l.root = l.t.TempDir()
	l.disk = newDisk(l.root)
	for path, f := range s.names {
		l.disk.safe[l.root+path], l.disk.live[l.root+path] = f, f
	}
	if err := l.disk.cut(l.rng, nothing, l.root); err != nil {
		l.t.Fatal(err)
	}
	l.history = newHistory(s.found)
}
