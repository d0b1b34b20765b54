package fsm

import (
	"context"
	"fmt"
	"testing"
	"time"

	"lockstep/engine"
	"lockstep/engine/sched"
)

// If all work shares a lock, many lock slots and permits neither help nor hurt: the work is as fast
// as under a single lock (B32). The fastest round of each counts, in turns. While the machine is
// busy there may be no fast round, so the test repeats for as long as that may last.
func TestWorkThatSharesALockIsNoSlowerThanUnderASingleOne(t *testing.T) {
	const txns, patience = 100, 2 * time.Minute
	for name, txn := range map[string]func(i int) Txn{
		"one hot key":      func(int) Txn { return txnOf(0, "incr", "k") },
		"one hash tag":     func(i int) Txn { return txnOf(0, "set", fmt.Sprint("{tag}:", i), "v") },
		"a default script": func(int) Txn { return txnOf(0, "eval", "return redis.call('incr', KEYS[1])", "1", "k") },
		"FLUSHDB": func(i int) Txn {
			if i%2 == 1 {
				return txnOf(0, "flushdb")
			}
			return txnOf(0, "set", "k", "v")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b Bundle
			for i := range txns {
				b.Txns = append(b.Txns, txn(i))
			}
			single := newLockRound(t, b, engine.Config{LockSlots: 1}, sched.Config{Permits: 1, Workers: 1})
			many := newLockRound(t, b, engine.Config{LockSlots: 1024}, sched.Config{})
			factor := 1.5
			if name == "FLUSHDB" {
				factor = 2 // as many tables as locks are emptied, and a single lock has only one
			}
			for began, round := time.Now(), 0; time.Since(began) < patience; round++ {
				single.run()
				many.run()
				if round > 2 && float64(many.best) <= factor*float64(single.best) {
					t.Logf("%v under a single lock, %v with many", single.best, many.best)
					return
				}
			}
			t.Errorf("%v under a single lock, %v with many", single.best, many.best)
		})
	}
}

// lockRound applies the same entry again and again.
type lockRound struct {
	t      *testing.T
	m      *Machine
	bundle Bundle
	index  uint64
	best   time.Duration
}

func newLockRound(t *testing.T, b Bundle, keys engine.Config, locks sched.Config) *lockRound {
	r := &lockRound{t: t, m: New(Config{Group: 7, Engine: keys, Sched: locks}), bundle: b}
	t.Cleanup(r.m.Close)
	return r
}

// run applies some entries and waits until they have run.
func (r *lockRound) run() {
	r.t.Helper()
	const entries = 20
	var all [][]byte
	for i := range uint64(entries) {
		all = append(all, entryOf(r.index+1+i, r.bundle))
	}
	began := time.Now()
	for _, entry := range all {
		r.index++
		if err := r.m.Apply(r.index, entry); err != nil {
			r.t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), locksPatience)
	defer cancel()
	if err := r.m.WaitExecuted(ctx, r.index); err != nil {
		r.t.Fatal(err)
	}
	if took := time.Since(began); r.best == 0 || took < r.best {
		r.best = took
	}
}
