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

// lineage is a folder of stores from its first opening on, through kills and
// power cuts.
type lineage struct {
	t    testing.TB
	kind string
	rng  *rand.Rand
	// root is the folder's root as the disk knows it, on a device that never
	// fails; everything below may.
	root    string
	disk    *disk
	history *history
	// lines counts the lines of all traces, so that places in them go on.
	lines int
	// fates are those of its power cuts, in turn.
	fates        []fate
	cutsPerPlace int
	// cuts counts power cuts, acked acknowledgements, entries the entries among
	// them.
	cuts, acked, entries int
	// wrong is what was found wrong after power cuts.
	wrong []error
	// killed: the last session ended with a kill.
	killed bool
	// lost: the trace missed a call, and nothing more can be said.
	lost bool
}

func newLineage(t testing.TB, kind string, seed uint64) *lineage {
	l := &lineage{t: t, kind: kind, rng: rand.New(rand.NewPCG(seed, 17)), root: t.TempDir(), fates: allFates, cutsPerPlace: 1}
	l.disk = newDisk(l.root)
	l.history = newHistory(contents{records: map[uint64]record{}})
	return l
}

// storesDir is where the stores are below a root. The folder is not there at
// first.
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

// strace is where it is, once it has shown that it may trace here.
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
	// strace ends as its process did.
	var exit *exec.ExitError
	l.killed = errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if o.SyncsFail > 0 && errors.As(err, &exit) && bytes.Contains(said.Bytes(), []byte(syscall.EIO.Error())) {
		l.killed, err = true, nil // it may have ended in the middle of what else it did
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

// take lets one call act on model and history. It tells whether the call
// mattered.
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

// play lets all calls act, and cuts the power after some of them, drawn at
// random: wanted times in all, from the from-th call on. It returns one of the
// cuts for a next generation.
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

// decide finds out, from the folder, how far the calls came within which the
// worker was killed, and makes sure that the model is what the folder is. Once
// in hundreds of kills strace shows nothing of a call that took place; the
// lineage is given up then.
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

// written is a write that came as far as the folder shows: a kill may end one
// in the middle.
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

// survivor is what a power cut left on disk, and what was found in it.
type survivor struct {
	names tree
	found contents
}

// cut cuts the power, opens what is left, and checks it. It returns what was
// left if that is wanted.
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

// quickDir makes a folder in memory if there is such a place: what is looked at
// once needs no disk.
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

// examine opens stores, reads all, and sees whether they go on.
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

// restart makes a survivor the folder from which the lineage goes on.
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
