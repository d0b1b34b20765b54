package fsm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lockstep/engine/sched"
)

// together runs reads together and returns the replies as text.
func together(m *Machine, opt ReadOptions, txns ...Txn) []string {
	var texts []string
	for _, r := range m.ReadTogether(txns, opt, nil) {
		texts = append(texts, string(r.Bytes))
	}
	return texts
}

func TestReadsTogetherAnswerAsEachAlone(t *testing.T) {
	m := newLockedMachine(t)
	for i := range 300 {
		m.apply(txnOf(i%2, "set", fmt.Sprint("s", i), strings.Repeat("x", i)), txnOf(i%2, "rpush", fmt.Sprint("l", i), "a", "b"))
	}
	m.executed(300)
	rng := rand.New(rand.NewPCG(5, 8))
	forms := []string{"get", "strlen", "exists", "llen", "type", "ttl"}
	for range 200 {
		txns := make([]Txn, 1+rng.IntN(togetherMax))
		for i := range txns {
			key := fmt.Sprint([]string{"s", "l"}[rng.IntN(2)], rng.IntN(330))
			txns[i] = txnOf(rng.IntN(3), forms[rng.IntN(len(forms))], key)
		}
		got := together(m.Machine, ReadOptions{}, txns...)
		if len(got) != len(txns) {
			t.Fatalf("%d of %d answered", len(got), len(txns))
		}
		for i := range txns {
			want, err := m.Read(t.Context(), &txns[i], ReadOptions{})
			if err != nil || got[i] != string(want) {
				t.Fatalf("%s: %q together, %q alone; %v", txns[i].Ops[0].Args, got[i], want, err)
			}
		}
	}
	if st := m.Sched().Stats(); st.PermitsInUse != 0 {
		t.Errorf("%d permits left in use", st.PermitsInUse)
	}
}

// Reads that may take long, or must wait, do not run together with others.
func TestReadsTogetherStopWhereOneMustWait(t *testing.T) {
	m := newLockedMachine(t)
	big := strings.Repeat("b", togetherBytesMax)
	m.apply(txnOf(0, "set", "a", "1"), txnOf(0, "set", "due", "2", "pxat", "5000"), txnOf(0, "set", "big", big))
	m.executed(1)
	get := func(key string) Txn { return txnOf(0, "get", key) }
	resp3 := get("a")
	resp3.Proto = 3
	for _, c := range []struct {
		what string
		txns []Txn
		want int
	}{
		{"a scan", []Txn{get("a"), txnOf(0, "keys", "*"), get("a")}, 1},
		{"a range that may be long", []Txn{get("a"), txnOf(0, "lrange", "l", "0", "-1")}, 1},
		{"a short range", []Txn{get("a"), txnOf(0, "lrange", "l", "0", "99"), txnOf(0, "zrange", "z", "-9", "-1", "withscores"), get("a")}, 4},
		{"many arguments", []Txn{get("a"), txnOf(0, append([]string{"exists"}, make([]string, heavyArgs)...)...)}, 1},
		{"another protocol", []Txn{get("a"), get("a"), resp3}, 2},
		{"large replies", []Txn{get("big"), get("a")}, 1},
		{"a key that is due by the leader's clock", []Txn{get("a"), get("due"), get("a")}, 1},
	} {
		if got := together(m.Machine, ReadOptions{LeaderMs: 5000}, c.txns...); len(got) != c.want {
			t.Errorf("%s: %d answered, not %d", c.what, len(got), c.want)
		}
	}
	var writer sched.Ticket
	var access sched.Access
	access.Add(m.Keyspace().LockSlot([]byte("a")), sched.Exclusive)
	if err := m.Sched().Lock(t.Context(), &writer, &access); err != nil {
		t.Fatal(err)
	}
	other := m.elsewhere("a", 1)[0]
	if got := together(m.Machine, ReadOptions{}, get(other), get("a")); len(got) != 0 {
		t.Errorf("%d reads ran beside a writer of a slot among theirs", len(got))
	}
	m.Sched().Unlock(&writer)
	if got := together(m.Machine, ReadOptions{}, get(other), get("a")); len(got) != 2 {
		t.Errorf("%d of 2 reads ran", len(got))
	}
}

func BenchmarkReadTogether16(b *testing.B) {
	m := testMachine(b, nil)
	const keys = 100_000
	for i := range uint64(keys / 100) {
		var txns []Txn
		for j := range uint64(100) {
			txns = append(txns, txnOf(0, "set", fmt.Sprintf("key:%012d", i*100+j), "xxx"))
		}
		if err := m.Apply(i+1, entryOf(i+1, Bundle{Txns: txns})); err != nil {
			b.Fatal(err)
		}
	}
	batches := make([][]Txn, 1000)
	for i := range batches {
		for range 16 {
			batches[i] = append(batches[i], txnOf(0, "get", fmt.Sprintf("key:%012d", rand.IntN(keys))))
		}
	}
	var replies []Reply
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		replies = m.ReadTogether(batches[n%len(batches)], ReadOptions{}, replies[:0])
		n++
		if len(replies) != 16 {
			b.Fatal(len(replies))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/16, "ns/read")
}
