package fsm

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"lockstep/engine"
	"lockstep/engine/sched"
)

func testMachine(tb testing.TB, sink Sink) *Machine {
	m := New(Config{Group: 7, Engine: engine.Config{LockSlots: 64}, Sink: sink, Sched: sched.Config{Permits: 8, Workers: 4}})
	tb.Cleanup(m.Close)
	return m
}

// imageOf is a machine's snapshot, written out.
func imageOf(tb testing.TB, m *Machine) []byte {
	tb.Helper()
	snap, err := m.Snapshot()
	if err != nil {
		tb.Fatal(err)
	}
	defer snap.Release()
	var image bytes.Buffer
	if err := snap.Persist(&image); err != nil {
		tb.Fatal(err)
	}
	return image.Bytes()
}

func txnOf(db int, args ...string) Txn {
	op := Op{DB: db}
	for _, a := range args {
		op.Args = append(op.Args, []byte(a))
	}
	return Txn{Proto: 2, Ops: []Op{op}}
}

func entryOf(n uint64, bundles ...Bundle) []byte {
	b := NewEntryBuilder(7, EntryID{1, 1, n}, 1000+int64(n), 128)
	for i := range bundles {
		b.Add(AppendBundle(nil, &bundles[i]))
	}
	return b.Finish()
}

func readText(t *testing.T, m *Machine, args ...string) string {
	t.Helper()
	txn := txnOf(0, args...)
	reply, err := m.Read(context.Background(), &txn, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(reply)
}

func TestAnAppliedWriteIsSeenByTheNextRead(t *testing.T) {
	m := testMachine(t, nil)
	if err := m.Apply(1, entryOf(1, Bundle{Txns: []Txn{txnOf(0, "set", "a", "1")}})); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, m, "get", "a"); got != "$1\r\n1\r\n" {
		t.Fatalf("got %q", got)
	}
	if m.Executed() != 1 || m.TxnNo() != 1 {
		t.Fatalf("executed %d, txn %d", m.Executed(), m.TxnNo())
	}
}

func BenchmarkApplySet(b *testing.B) {
	benchmarkApply(b, testMachine(b, nil), 100, func(i int) Txn { return txnOf(0, "set", fmt.Sprintf("key:%012d", i), "xxx") })
}

// BenchmarkApplyLoneSet applies entries of one SET, as one slow client makes them.
func BenchmarkApplyLoneSet(b *testing.B) {
	benchmarkApply(b, testMachine(b, nil), 1, func(int) Txn { return txnOf(0, "set", "key:000000000000", "xxx") })
}

// limitedScript is a script of two calls.
const limitedScript = "local n = tonumber(redis.call('get', KEYS[1]) or '0') if n >= tonumber(ARGV[1]) then return -1 end return redis.call('incr', KEYS[1])"

func BenchmarkApplyEval(b *testing.B) {
	benchmarkApply(b, testMachine(b, nil), 100, func(int) Txn { return txnOf(0, "eval", limitedScript, "1", "key", "1000000000") })
}

// benchmarkApply applies entries of so many txns, and waits until they have run.
func benchmarkApply(b *testing.B, m *Machine, txns int, txn func(i int) Txn) {
	var bundles []Bundle
	for i := range txns {
		bundles = append(bundles, Bundle{Origin: Origin{Node: 1, Boot: 1, Lane: uint32(i % Lanes)}, Txns: []Txn{txn(i)}})
	}
	b.ReportAllocs()
	seq := [Lanes]uint64{}
	index := uint64(0)
	for b.Loop() {
		b.StopTimer()
		for i := range bundles {
			l := bundles[i].Origin.Lane
			bundles[i].FirstSeq, bundles[i].AckedBelow = seq[l], seq[l]
			seq[l]++
		}
		index++
		e := entryOf(index, bundles...)
		b.StartTimer()
		if err := m.Apply(index, e); err != nil {
			b.Fatal(err)
		}
		if err := m.WaitExecuted(b.Context(), index); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*txns), "ns/txn")
}

func BenchmarkReadGet(b *testing.B) {
	m := testMachine(b, nil)
	if err := m.Apply(1, entryOf(1, Bundle{Txns: []Txn{txnOf(0, "set", "a", "1")}})); err != nil {
		b.Fatal(err)
	}
	txn := txnOf(0, "get", "a")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Read(context.Background(), &txn, ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
