package keycmd_test

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/tests/kit/cmdtest"
)

// scanAll scans a database to its end and counts how often each key was returned.
func scanAll(r *cmdtest.Runner, options string, between func()) map[string]int {
	seen := map[string]int{}
	cursor := "0"
	for range 1_000_000 {
		reply := strings.Fields(r.Do("SCAN " + cursor + options))
		cursor = reply[2]
		for i := 5; i < len(reply); i += 2 {
			seen[reply[i]]++
		}
		if cursor == "0" {
			return seen
		}
		between()
	}
	r.T.Fatal("the scan does not end")
	return nil
}

// TestScanGivesEveryKeyThatStays scans while other keys come and go. It expects each key that
// exists all the time exactly once.
func TestScanGivesEveryKeyThatStays(t *testing.T) {
	for _, lockSlots := range []int{1, 7, 1024} {
		r := cmdtest.NewRunner(t)
		r.KS = engine.New(engine.Config{LockSlots: lockSlots})
		rng := rand.New(rand.NewSource(1))
		const stay = 3000
		for i := range stay {
			r.Do(fmt.Sprintf("SET stay:%d x", i))
		}
		for _, options := range []string{"", " COUNT 1000", " COUNT 77 TYPE string", " MATCH stay:* COUNT 500"} {
			seen := scanAll(r, options, func() {
				for range 20 {
					r.Do(fmt.Sprintf("%s other:%d x", []string{"SET", "GETSET", "DEL"}[rng.Intn(3)], rng.Intn(5000)))
				}
			})
			for i := range stay {
				if n := seen[fmt.Sprint("stay:", i)]; n != 1 {
					t.Fatalf("%d lock slots, SCAN%s: stay:%d came %d times", lockSlots, options, i, n)
				}
			}
		}
		if seen := scanAll(r, " TYPE list COUNT 1000", func() {}); len(seen) != 0 {
			t.Fatalf("SCAN TYPE list gives %d keys", len(seen))
		}
	}
}

// TestCursorMeansTheSameOnEveryReplica fills two keyspaces in different order. One scan alternates
// between them at every step.
func TestCursorMeansTheSameOnEveryReplica(t *testing.T) {
	replicas := []*cmdtest.Runner{cmdtest.NewRunner(t), cmdtest.NewRunner(t)}
	const n = 2000
	for i := range n {
		replicas[0].Do(fmt.Sprint("SET ", i, " x"))
		replicas[1].Do(fmt.Sprint("SET ", n-1-i, " x"))
	}
	seen := map[string]int{}
	cursor := "0"
	for step := 0; ; step++ {
		reply := strings.Fields(replicas[step%2].Do("SCAN " + cursor))
		if other := replicas[1-step%2].Do("SCAN " + cursor); other != strings.Join(reply, " ") {
			t.Fatalf("SCAN %s differs: %s and %s", cursor, reply, other)
		}
		for i := 5; i < len(reply); i += 2 {
			seen[reply[i]]++
		}
		if cursor = reply[2]; cursor == "0" {
			break
		}
	}
	if len(seen) != n {
		t.Fatalf("%d keys of %d", len(seen), n)
	}
}

// TestScanIsBounded expects one SCAN to visit no more keys than its bound.
func TestScanIsBounded(t *testing.T) {
	r := cmdtest.NewRunner(t)
	for i := range command.ScanMax + 1000 {
		key := fmt.Append(nil, i)
		r.KS.SetString(r.KS.LockSlot(key), 0, key, nil, 0, 1)
	}
	reply := r.Do("SCAN 0 COUNT 9223372036854775807")
	if n := strings.Count(reply, "$") - 1; n < command.ScanMax || n > command.ScanMax+10 {
		t.Fatalf("%d keys", n)
	}
}

// brokenWalker fails after some slots, as if the client were gone.
type brokenWalker struct {
	left   int
	inside int
}

func (w *brokenWalker) Enter(int32) error {
	if w.left--; w.left < 0 {
		return errors.New("gone")
	}
	w.inside++
	return nil
}

func (w *brokenWalker) Leave(int32) { w.inside-- }

func (w *brokenWalker) Sum(slots int32, of func(int32) int) (n int, err error) {
	for slot := range slots {
		if err := w.Enter(slot); err != nil {
			return 0, err
		}
		n += of(slot)
		w.Leave(slot)
	}
	return n, nil
}

// TestWalksGiveSlotsBack runs each command that walks, once to its end and cut short at each point.
// The command must hold no slot afterwards, and answer an error if it was cut short.
func TestWalksGiveSlotsBack(t *testing.T) {
	r := cmdtest.NewRunner(t)
	for i := range 100 {
		r.Do(fmt.Sprint("SET ", i, " x"))
	}
	for _, line := range []string{"KEYS *", "SCAN 0 COUNT 1000", "RANDOMKEY", "DBSIZE", "lockstep.digest", "lockstep.countkeysinslot 5", "lockstep.getkeysinslot 5 9"} {
		args := cmdtest.Words(line)
		spec, _ := commands.Lookup(args)
		for left := range 200 {
			w := &brokenWalker{left: left}
			r.Out.Reset(2)
			spec.Run(&command.Ctx{KS: r.KS, Out: &r.Out, Walk: w, Times: command.Times{NowMs: 1}, Meter: command.Meter{Settings: &r.Settings}}, args)
			if w.inside != 0 {
				t.Fatalf("%s, cut after %d slots: holds %d", line, left, w.inside)
			}
			failed := strings.HasPrefix(string(r.Out.Bytes()), "-TRYAGAIN")
			if failed != (w.left < 0) || strings.Count(string(r.Out.Bytes()), "-TRYAGAIN") > 1 {
				t.Fatalf("%s, cut after %d slots: %q", line, left, r.Out.Bytes())
			}
		}
	}
}

// TestRandomKeyIsFair expects each key about as often as the others.
func TestRandomKeyIsFair(t *testing.T) {
	r := cmdtest.NewRunner(t)
	if got := r.Do("RANDOMKEY"); got != "$-1" {
		t.Fatalf("of no keys: %s", got)
	}
	const keys, draws = 20, 4000
	for i := range keys {
		// Half of them share a lock slot.
		r.Do(fmt.Sprintf("SET {%d}%d x", i/(keys/2)*i, i))
	}
	drawn := map[string]int{}
	for range draws {
		drawn[r.Do("RANDOMKEY")]++
	}
	for key, n := range drawn {
		if n < draws/keys/2 || n > draws/keys*2 {
			t.Errorf("%s was drawn %d times of %d", key, n, draws)
		}
	}
	if len(drawn) != keys {
		t.Errorf("%d of %d keys were drawn", len(drawn), keys)
	}
}

// TestHashSlotsListTheirKeys checks the keys of some hash slots and the sum over all hash slots.
func TestHashSlotsListTheirKeys(t *testing.T) {
	for _, lockSlots := range []int{1, 100, 16384} {
		r := cmdtest.NewRunner(t)
		r.KS = engine.New(engine.Config{LockSlots: lockSlots})
		for i := range 700 {
			r.Do(fmt.Sprintf("SET {a}%d x", i))
		}
		r.Do("SET b x")
		// The hash slots of "a" and "b", by redis-cli.
		r.Script(`
			lockstep.countkeysinslot 15495 => :700
			lockstep.countkeysinslot 3300 => :1
			lockstep.countkeysinslot 3301 => :0
			lockstep.getkeysinslot 3300 5 => *1 $1 b
			lockstep.getkeysinslot 3300 0 => *0
			lockstep.getkeysinslot 3300 -1 => -ERR Invalid number of keys
			lockstep.countkeysinslot 16384 => -ERR Invalid slot
			lockstep.countkeysinslot x => -ERR value is not an integer or out of range
		`)
		if got := r.Do("lockstep.getkeysinslot 15495 600"); !strings.HasPrefix(got, "*600 ") {
			t.Errorf("%.20s", got)
		}
	}
}

// TestVersionsForWatch expects the version of a key and the number of the last
// txn, which EXEC compares.
func TestVersionsForWatch(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Script(`
		lockstep.versions a b => *4 :0 :0 :0 :0
		SET a 1 => +OK
		SET b 1 => +OK
		lockstep.versions a b c => *6 :1 :2 :2 :2 :0 :2
		DEL a => :1
		lockstep.versions a => *2 :0 :3
	`)
}

// TestDigestIsRedisDigest compares DEBUG DIGEST-VALUE; the differential tests
// compare DEBUG DIGEST.
func TestDigestIsRedisDigest(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.NowMs = cmdtest.WallMs()
	for _, line := range []string{"set a 1", "set b xyz ex 1000", "append c z", `set d ""`} {
		o.Do(line)
		r.Do(line)
	}
	if got, want := r.Do("lockstep.digest-value a b c d nokey"), o.Do("debug digest-value a b c d nokey"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}
