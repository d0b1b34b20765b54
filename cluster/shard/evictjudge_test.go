package shard

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/fsm"
)

// proposeTxns proposes txns as one bundle; the channel receives the answer.
func (n *loneNode) proposeTxns(txns ...fsm.Txn) <-chan Result {
	b := fsm.Bundle{Origin: fsm.Origin{Node: 9, Boot: 1}, Txns: txns}
	b.FirstSeq = n.seq.Add(uint64(len(txns))) - uint64(len(txns)) + 1
	b.Origin.Lane = uint32(b.FirstSeq % fsm.Lanes)
	answer := make(chan Result, 1)
	n.shards[0].Propose(Offer{Bundle: fsm.AppendBundle(nil, &b), Txns: b.Txns, Until: time.Now().Add(time.Minute)}, func(r Result) { answer <- r })
	return answer
}

func (n *loneNode) answer(from <-chan Result) Result {
	n.t.Helper()
	select {
	case r := <-from:
		return r
	case <-time.After(patience):
		n.t.Fatal("a bundle was never answered")
		return Result{}
	}
}

func txnOf(commands ...[]string) fsm.Txn {
	t := fsm.Txn{Proto: 2}
	if len(commands) > 1 {
		t.Kind = fsm.KindExec
	}
	for _, words := range commands {
		var op fsm.Op
		for _, w := range words {
			op.Args = append(op.Args, []byte(w))
		}
		t.Ops = append(t.Ops, op)
	}
	return t
}

// TestFarWritesAreLetInOneByOne: commands of a few bytes ask for megabytes each. Commands that come
// together are not let in together, however they are sent, and refused or divided ones leave
// nothing in the counters.
func TestFarWritesAreLetInOneByOne(t *testing.T) {
	const value, count, mostBytes = 1 << 20, 64, 8 << 20
	n := newLoneNode(t, 1, settingsOf(command.PolicyNone, mostBytes))
	far := func(i int) []string { return []string{"setrange", fmt.Sprint("k", i), strconv.Itoa(value), "x"} }
	var all []fsm.Txn
	for i := range count {
		all = append(all, txnOf(far(i)))
	}
	if r := n.answer(n.proposeTxns(all...)); !errors.Is(r.Err, cluster.ErrTooMuchAtOnce) {
		t.Fatalf("%d MB in one bundle, of %d: %v", count, mostBytes>>20, r.Err)
	}
	var answers []<-chan Result
	for _, txn := range all {
		answers = append(answers, n.proposeTxns(txn))
	}
	done := 0
	for _, a := range answers {
		switch r := n.answer(a); {
		case r.Err == nil:
			done++
		case !errors.Is(r.Err, cluster.ErrOutOfMemory) && !errors.Is(r.Err, cluster.ErrOverloaded):
			t.Fatal(r.Err)
		}
	}
	used := n.memory.UsedBytes()
	if done == 0 || used < mostBytes/2 || used > mostBytes+3*value {
		t.Errorf("%d of %d were done, and %d bytes are used", done, count, used)
	}
	if growth := n.shards[0].admit.growth.Load(); growth != 0 {
		t.Errorf("%d bytes are still expected", growth)
	}
	// All of these keys exist: a bundle of writes within their values needs no memory.
	n.change(func(s *command.Settings) { s.MemoryBytesMax = used + value/2 })
	within := txnOf([]string{"setrange", "k0", "1000", "x"})
	// The size of a value is not known while the value is locked, as for a moment after a setting
	// was changed.
	n.until("three within what is there are let in together", func() bool {
		r := n.answer(n.proposeTxns(within, within, within))
		if r.Err != nil && !errors.Is(r.Err, cluster.ErrTooMuchAtOnce) {
			t.Fatal(r.Err)
		}
		return r.Err == nil
	})
}

// TestTransactionsBeyondAllMemoryAreRefused: a transaction is one txn and cannot be divided.
// Without the command that needs most, it must fit.
func TestTransactionsBeyondAllMemoryAreRefused(t *testing.T) {
	const value, mostBytes = 1 << 20, 4 << 20
	n := newLoneNode(t, 1, settingsOf(command.PolicyAllKeysLRU, mostBytes))
	var some, many [][]string
	for i := range 16 {
		many = append(many, []string{"setbit", fmt.Sprint("k", i), strconv.Itoa(8 * value), "1"})
	}
	some = many[:2]
	if r := n.answer(n.proposeTxns(txnOf(many...))); !errors.Is(r.Err, cluster.ErrOutOfMemory) {
		t.Errorf("16 MB of 4: %v", r.Err)
	}
	if r := n.answer(n.proposeTxns(txnOf(some...))); r.Err != nil {
		t.Errorf("2 MB of 4: %v", r.Err)
	}
	// A single command is let in, as in Redis, and its key is evicted when others come.
	n.must(0, "setrange", "large", strconv.Itoa(2*mostBytes), "x")
	n.must(0, "set", "small", "x")
	n.until("the large one is evicted", func() bool { return n.memory.UsedBytes() <= mostBytes })
	if !n.has(0, "small") && n.has(0, "large") {
		t.Error("the large one stays")
	}
}

// TestStoredResultsCountWhatTheyAreMadeOf: COPY has a few bytes and writes as many as its source
// has.
func TestStoredResultsCountWhatTheyAreMadeOf(t *testing.T) {
	const value, mostBytes = 1 << 20, 8 << 20
	n := newLoneNode(t, 1, settingsOf(command.PolicyNone, mostBytes))
	n.must(0, "setrange", "source", strconv.Itoa(value), "x")
	n.must(0, "set", "little", "x")
	var large, small []fsm.Txn
	for i := range 50 {
		large = append(large, txnOf([]string{"copy", "source", fmt.Sprint("copy", i)}))
		small = append(small, txnOf([]string{"copy", "little", fmt.Sprint("little", i)}))
	}
	if r := n.answer(n.proposeTxns(large...)); !errors.Is(r.Err, cluster.ErrTooMuchAtOnce) {
		t.Errorf("50 copies of 1 MB, with room for 7: %v", r.Err)
	}
	// The size of the source is not known while the source is locked, as for a moment after it was
	// written.
	n.until("50 copies of a byte are let in together", func() bool {
		r := n.answer(n.proposeTxns(small...))
		if r.Err != nil && !errors.Is(r.Err, cluster.ErrTooMuchAtOnce) {
			t.Fatal(r.Err)
		}
		return r.Err == nil
	})
}

func BenchmarkJudge(b *testing.B) {
	t := txnOf([]string{"set", "key:000000000001", value})
	for _, count := range []int{1, 16} {
		bundle := fsm.AppendBundle(nil, &fsm.Bundle{Txns: slicesOf(t, count)})
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			sizes := func(int) *command.Sizes { return &command.Sizes{} }
			for b.Loop() {
				fsm.EachTxn(bundle, func(t *fsm.Txn) { _ = t.GrowsMemory(); _, _ = t.GrowthBytes(sizes) })
			}
		})
	}
}

func slicesOf(t fsm.Txn, n int) (all []fsm.Txn) {
	for range n {
		all = append(all, t)
	}
	return all
}
