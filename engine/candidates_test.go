package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sampled is a keyspace of one lock slot with n keys in databases 0 and 3, of which every third has
// an expiry.
func sampled(n int) *Keyspace {
	k := New(Config{LockSlots: 1})
	for i := range n {
		at := int64(0)
		if i%3 == 0 {
			at = int64(1_000_000 - i)
		}
		k.SetString(0, 3*(i%2), fmt.Appendf(nil, "key:%d", i), []byte("v"), at, uint64(i+1))
	}
	return k
}

func TestEveryKeyIsDrawnAboutAsOften(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		volatile bool
		keys     int
	}{{false, 9000}, {true, 3000}} {
		k := sampled(9000)
		const per = 60
		seen := map[string]int{}
		for _, x := range k.Sample(nil, 0, c.volatile, per*c.keys, rng.IntN) {
			if c.volatile && x.ExpireAtMs == 0 {
				t.Fatalf("%s does not expire", x.Key)
			}
			e := k.Find(0, x.DB, []byte(x.Key))
			if e == nil || e.Version != x.Version || e.MemoryBytes() != x.Bytes {
				t.Fatalf("%+v is not there", x)
			}
			seen[x.Key]++
		}
		if len(seen) != c.keys {
			t.Errorf("%d of %d keys were drawn", len(seen), c.keys)
		}
		// The counts have a Poisson distribution with a mean of per: six deviations never happen.
		for key, n := range seen {
			if math.Abs(float64(n-per)) > 6*math.Sqrt(per) {
				t.Errorf("%s was drawn %d times", key, n)
			}
		}
	}
}

func TestNearestExpiryComesFirst(t *testing.T) {
	k := sampled(3000)
	found := k.AppendNearest(nil, 0, 999_000, 10_000)
	for _, c := range found {
		if c.ExpireAtMs > 999_000 {
			t.Errorf("%d is later than asked for", c.ExpireAtMs)
		}
	}
	if len(found) != 666 || !slices.IsSortedFunc(found, func(a, b Candidate) int { return int(a.ExpireAtMs - b.ExpireAtMs) }) {
		t.Errorf("%d found", len(found))
	}
	if got := k.AppendNearest(nil, 0, math.MaxInt64, 5); len(got) != 5 || got[0].ExpireAtMs != 1_000_000-2997 {
		t.Errorf("%+v", got)
	}
}

// TestWeightsFollowTheKeys: the counts that need no lock are correct after every kind of change.
func TestWeightsFollowTheKeys(t *testing.T) {
	k := New(Config{LockSlots: 8})
	rng := rand.New(rand.NewPCG(5, 6))
	for txn := uint64(1); txn < 20_000; txn++ {
		key := fmt.Appendf(nil, "%d", rng.IntN(2000))
		slot, db := k.LockSlot(key), rng.IntN(3)
		switch e := k.Find(slot, db, key); rng.IntN(10) {
		case 0, 1, 2:
			k.SetString(slot, db, key, make([]byte, rng.IntN(50)), 0, txn)
		case 3, 4:
			k.SetString(slot, db, key, nil, int64(rng.IntN(1000))+1, txn)
		case 5, 6:
			k.Remove(slot, db, key, txn)
		case 7, 8:
			if e != nil {
				k.SetExpire(slot, db, e, int64(rng.IntN(3)), txn)
			}
		default:
			switch rng.IntN(200) {
			case 0:
				k.Flush(db, txn)
			case 1:
				k.Swap(db, rng.IntN(3), txn)
			}
		}
	}
	var all, volatile int64
	for slot := range int32(8) {
		keys, expiring := 0, 0
		for db := range Databases {
			k.Slot(slot).Walk(db, 0, func(_ uint32, e *Entry) bool {
				keys++
				if e.ExpireAtMs != 0 {
					expiring++
				}
				return true
			})
		}
		if k.Weight(slot, false) != int64(keys) || k.Weight(slot, true) != int64(expiring) {
			t.Errorf("slot %d weighs %d and %d, has %d and %d", slot, k.Weight(slot, false), k.Weight(slot, true), keys, expiring)
		}
		all, volatile = all+int64(keys), volatile+int64(expiring)
	}
	if all == 0 || k.AllKeys(false) != all || k.AllKeys(true) != volatile {
		t.Errorf("%d and %d keys, counted %d and %d", all, volatile, k.AllKeys(false), k.AllKeys(true))
	}
}
