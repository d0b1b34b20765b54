package engine

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"
)

// world is a keyspace with a plain model beside it, changed by random txns.
type world struct {
	t     *testing.T
	k     *Keyspace
	rng   *rand.Rand
	txnNo uint64
	model map[worldKey]worldValue
}

type worldKey struct {
	db  int
	key string
}

type worldValue struct {
	text       string
	expireAtMs int64
	version    uint64
	raw        bool
}

func newWorld(t *testing.T, seed int64, lockSlots int) *world {
	return &world{
		t: t, k: New(Config{LockSlots: lockSlots, Seed: [16]byte{1, 2, 3}}),
		rng: rand.New(rand.NewSource(seed)), model: map[worldKey]worldValue{},
	}
}

// step runs one random txn.
func (w *world) step() {
	w.txnNo++
	at := worldKey{w.rng.Intn(4), fmt.Sprintf("key:%d", w.rng.Intn(300))}
	key := []byte(at.key)
	slot := w.k.LockSlot(key)
	switch n := w.rng.Intn(1000); {
	case n < 1:
		w.flush(at.db)
	case n < 4:
		w.swap(at.db, w.rng.Intn(4))
	case n < 300:
		w.k.Remove(slot, at.db, key, w.txnNo)
		delete(w.model, at)
	case n < 500:
		w.mutate(slot, at)
	case n < 600:
		w.expire(slot, at)
	case n < 650:
		w.move(slot, at)
	case n < 800:
		w.set(slot, at)
	default:
		w.put(slot, at)
	}
}

func (w *world) put(slot int32, at worldKey) {
	v := worldValue{text: fmt.Sprint("v", w.txnNo), version: w.txnNo, raw: w.rng.Intn(2) == 0}
	e := NewString([]byte(at.key), []byte(v.text))
	if v.raw {
		e = NewRawString([]byte(at.key), []byte(v.text), 0)
	}
	if w.rng.Intn(2) == 0 {
		v.expireAtMs = 1 + w.rng.Int63n(1000)
		e.ExpireAtMs = v.expireAtMs
	}
	w.k.Put(slot, at.db, e, w.txnNo)
	w.model[at] = v
}

// set overwrites a key, in place if possible.
func (w *world) set(slot int32, at worldKey) {
	v := worldValue{text: fmt.Sprint("s", w.rng.Intn(200)), version: w.txnNo, expireAtMs: w.rng.Int63n(3) * 300}
	if e := w.k.Find(slot, at.db, []byte(at.key)); e != nil && w.rng.Intn(2) == 0 {
		v.expireAtMs = e.ExpireAtMs
		w.k.SetText(slot, at.db, e, []byte(v.text), w.txnNo)
		w.model[at] = v
		return
	}
	w.k.SetString(slot, at.db, []byte(at.key), []byte(v.text), v.expireAtMs, w.txnNo)
	w.model[at] = v
}

// mutate changes a raw string in place.
func (w *world) mutate(slot int32, at worldKey) {
	e := w.k.Find(slot, at.db, []byte(at.key))
	if e == nil || !e.Growable() {
		return
	}
	e = w.k.Mutable(slot, at.db, e, w.txnNo)
	text := e.GrowText(len(e.Text()) + 1)
	text[0], text[len(text)-1] = 'm', '!'
	w.k.Changed(at.db, e, w.txnNo)
	v := w.model[at]
	v.text, v.version = string(text), w.txnNo
	w.model[at] = v
}

func (w *world) expire(slot int32, at worldKey) {
	e := w.k.Find(slot, at.db, []byte(at.key))
	if e == nil {
		return
	}
	v := w.model[at]
	v.expireAtMs, v.version = w.rng.Int63n(3)*500, w.txnNo
	w.model[at] = v
	w.k.SetExpire(slot, at.db, e, v.expireAtMs, w.txnNo)
}

// move renames a key.
func (w *world) move(slot int32, at worldKey) {
	e := w.k.Find(slot, at.db, []byte(at.key))
	if e == nil {
		return
	}
	to := worldKey{at.db, at.key + "'"}
	n := w.k.Moved(e, []byte(to.key), w.txnNo)
	w.k.Remove(slot, at.db, []byte(at.key), w.txnNo)
	w.k.Put(w.k.LockSlotOf(n), to.db, n, w.txnNo)
	v := w.model[at]
	v.version = w.txnNo
	delete(w.model, at)
	w.model[to] = v
	if e := w.k.Find(w.k.LockSlotOf(n), to.db, []byte(to.key)); e.Growable() {
		// A change in place right after the move must not reach the old entry.
		w.mutate(w.k.LockSlotOf(n), to)
	}
}

func (w *world) flush(db int) {
	w.k.Flush(db, w.txnNo)
	maps.DeleteFunc(w.model, func(at worldKey, _ worldValue) bool { return at.db == db })
}

func (w *world) swap(a, b int) {
	w.k.Swap(a, b, w.txnNo)
	swapped := map[worldKey]worldValue{}
	for at, v := range w.model {
		switch at.db {
		case a:
			at.db = b
		case b:
			at.db = a
		}
		swapped[at] = v
	}
	w.model = swapped
}

// image is the content of the keyspace.
func (w *world) image() map[worldKey]worldValue {
	got := map[worldKey]worldValue{}
	for slot := range int32(w.k.LockSlots()) {
		for db := range Databases {
			w.k.Slot(slot).Walk(db, 0, func(_ uint32, e *Entry) bool {
				got[worldKey{db, e.Key()}] = valueOf(e)
				return true
			})
		}
	}
	return got
}

func valueOf(e *Entry) worldValue {
	return worldValue{string(e.Text()), e.ExpireAtMs, e.Version, e.Growable()}
}

// cutImage is the content of a cut. It captures the slots that no txn has captured.
func (w *world) cutImage(c *Cut) map[worldKey]worldValue {
	got := map[worldKey]worldValue{}
	for _, slot := range w.rng.Perm(w.k.LockSlots()) {
		c.Capture(int32(slot))
		for db := range Databases {
			n := 0
			err := c.Each(int32(slot), db, func(e *Entry) error {
				got[worldKey{db, e.Key()}] = valueOf(e)
				n++
				return nil
			})
			if err != nil || n != c.Count(int32(slot), db) {
				w.t.Fatalf("each gives %d entries of %d, error %v", n, c.Count(int32(slot), db), err)
			}
		}
		c.Release(int32(slot))
	}
	return got
}

func (w *world) equal(what string, got, want map[worldKey]worldValue) {
	w.t.Helper()
	for at, v := range want {
		if got[at] != v {
			w.t.Fatalf("%s: %v is %+v, want %+v", what, at, got[at], v)
		}
	}
	if len(got) != len(want) {
		w.t.Fatalf("%s: %d keys, want %d", what, len(got), len(want))
	}
}

// TestCutHoldsTheMomentItWasOpened opens cut after cut while txns keep changing everything, with
// zero to hundreds of txns in between, and reads each cut after later txns have run.
func TestCutHoldsTheMomentItWasOpened(t *testing.T) {
	for seed := range int64(20) {
		w := newWorld(t, seed, 1+int(seed)*3)
		for range 40 {
			for range w.rng.Intn(400) {
				w.step()
			}
			want, swapped := maps.Clone(w.model), w.k.swappedAt
			c := w.k.OpenCut(w.txnNo)
			for range w.rng.Intn(3) * w.rng.Intn(400) {
				w.step()
			}
			w.equal("cut", w.cutImage(c), want)
			if c.SwappedAt() != swapped {
				t.Fatal("the cut has later swap marks")
			}
			c.Close()
			c.Close()
			w.equal("keyspace", w.image(), w.model)
			w.checkCounters()
		}
	}
}

// TestCutRemembersDeletions: the deletions in a cut are those before the cut, and RestoreDeletions
// restores them.
func TestCutRemembersDeletions(t *testing.T) {
	w := newWorld(t, 1, 4)
	for range 2000 {
		w.step()
	}
	c := w.k.OpenCut(w.txnNo)
	before := make([]deletions, 4)
	for slot := range before {
		before[slot] = w.k.slots[slot].deleted
		before[slot].ring = slices.Clone(before[slot].ring)
	}
	for range 500 {
		w.step()
	}
	other := New(w.k.Config())
	for slot := range int32(4) {
		c.Capture(slot)
		if !other.Slot(slot).RestoreDeletions(c.AppendDeletions(nil, slot)) {
			t.Fatal("what AppendDeletions wrote is refused")
		}
		for seenAt := range w.txnNo {
			for _, x := range before[slot].ring {
				if got, want := other.slots[slot].deleted.since(int(x.db), x.hash, seenAt), before[slot].since(int(x.db), x.hash, seenAt); got != want {
					t.Fatalf("slot %d since %d: %v, want %v", slot, seenAt, got, want)
				}
			}
		}
	}
	for _, bad := range [][]byte{nil, {0x80}, {0, 1, 2}} {
		if other.Slot(0).RestoreDeletions(bad) {
			t.Errorf("%v is taken", bad)
		}
	}
}

// checkCounters compares the counters and the expiry index with the model.
func (w *world) checkCounters() {
	w.t.Helper()
	var keys, volatile, expirySec [Databases]int64
	var memory int64
	for at, v := range w.model {
		keys[at.db]++
		if v.expireAtMs != 0 {
			volatile[at.db]++
			expirySec[at.db] += v.expireAtMs / 1000
		}
	}
	var due []Due
	for slot := range int32(w.k.LockSlots()) {
		due = w.k.AppendDue(due, slot, 1<<60, 1<<30)
		for db := range Databases {
			w.k.Slot(slot).Walk(db, 0, func(_ uint32, e *Entry) bool { memory += int64(e.MemoryBytes()); return true })
		}
	}
	for db := range Databases {
		want := Counts{Keys: keys[db], Volatile: volatile[db], MeanExpirySec: expirySec[db] / max(volatile[db], 1)}
		if got := w.k.Counts(db); got != want || w.k.Keys(db) != int(keys[db]) {
			w.t.Fatalf("db %d: %+v and %d keys, want %+v", db, got, w.k.Keys(db), want)
		}
	}
	if w.k.MemoryBytes() != memory {
		w.t.Fatalf("memory counter %d, entries sum up to %d", w.k.MemoryBytes(), memory)
	}
	seen := map[worldKey]bool{}
	for _, d := range due {
		at := worldKey{d.DB, d.Key}
		if seen[at] || w.model[at].expireAtMs == 0 {
			w.t.Fatalf("%v is in the expiry index, twice: %v", at, seen[at])
		}
		seen[at] = true
		volatile[d.DB]--
	}
	if volatile != [Databases]int64{} {
		w.t.Fatalf("keys missing in the expiry index: %v", volatile)
	}
}
