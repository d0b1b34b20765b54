package shard

import (
	"errors"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/sched"
	"lockstep/fsm"
)

// A read that waits for others gives up after its patience, or at its deadline. Its error says what
// runs, where, and for how long. The same holds for a scan of the keys, and for a write.
func TestWhoWaitsForOthersIsToldWhatRuns(t *testing.T) {
	for _, c := range []struct {
		name string
		// patienceMs is busy-reply-threshold, 0 for none; deadline is the read's own.
		patience, deadline time.Duration
		read               fsm.Txn
	}{
		{"a read, by its patience", time.Millisecond, time.Minute, commandTxn("get", "k")},
		{"a read, by its deadline", 0, 20 * time.Millisecond, commandTxn("get", "k")},
		{"a script that only reads", time.Millisecond, time.Minute, commandTxn("eval_ro", "return 1", "0")},
		{"a walk through the keys", time.Millisecond, time.Minute, commandTxn("dbsize")},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newLoneNode(t, 1, command.DefaultSettings)
			s := n.shards[0]
			s.cfg.ScriptTimeout = func() time.Duration { return c.patience }
			if _, err := n.propose(0, "eval_ro", "return 1", "0"); err != nil {
				t.Fatal(err) // so that it is in the cache
			}
			holder := sched.Ticket{Label: "eval", Detail: "5332"}
			if err := s.machine.Sched().Lock(t.Context(), &holder, &sched.Access{Global: true}); err != nil {
				t.Fatal(err)
			}
			defer s.machine.Sched().Unlock(&holder)
			_, err := s.Read(t.Context(), time.Now().Add(c.deadline), []fsm.Txn{c.read}, 0)
			var busy *cluster.BusyError
			if !errors.As(err, &busy) || !errors.Is(err, cluster.ErrBusy) || errors.Is(err, cluster.ErrUnknown) {
				t.Fatalf("%v", err)
			}
			if busy.What != "script 5332" || busy.Node != "n" || busy.Shard != 0 {
				t.Errorf("%+v", busy)
			}
			for _, slots := range [][]uint16{nil, {0}, {7, 9}} {
				if b := s.InTheWay(slots); b == nil || b.What != "script 5332" {
					t.Errorf("in the way of %v is %+v", slots, b)
				}
			}
		})
	}
}

// If nothing runs, nothing holds the read up. The holder of a lock has a name that people
// understand.
func TestWhatRunsIsCalled(t *testing.T) {
	n := newLoneNode(t, 1, command.DefaultSettings)
	if b := n.shards[0].InTheWay(nil); b != nil {
		t.Errorf("%+v is in the way", b)
	}
	if b := n.shards[0].Longest(); b != nil {
		t.Errorf("%+v runs", b)
	}
	for want, h := range map[string]sched.Holder{
		"script 5332": {Label: "evalsha", Detail: "5332"}, "function f": {Label: "fcall", Detail: "f"}, "command sort": {Label: "sort"}, "another command": {},
		"script 77": {Label: "exec", Detail: "77"},
	} {
		if got := described(h); got != want {
			t.Errorf("%+v is %q, want %q", h, got, want)
		}
	}
}
