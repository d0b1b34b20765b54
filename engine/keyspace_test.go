package engine

import (
	"fmt"
	"math"
	"testing"
)

// TestCountersReturnToZero fills a keyspace and empties it key by key and by Flush. All counters
// must end at zero.
func TestCountersReturnToZero(t *testing.T) {
	w := newWorld(t, 7, 64)
	for range 5000 {
		w.step()
	}
	w.checkCounters()
	for db := range 2 {
		w.txnNo++
		w.flush(db)
	}
	for at := range w.image() {
		w.txnNo++
		if w.k.Remove(w.k.LockSlot([]byte(at.key)), at.db, []byte(at.key), w.txnNo) == nil {
			t.Fatalf("%v is not there", at)
		}
		delete(w.model, at)
	}
	w.checkCounters()
	if w.k.MemoryBytes() != 0 {
		t.Fatalf("%d bytes left", w.k.MemoryBytes())
	}
	if at, slot := w.k.NextExpiryMs(); at != math.MaxInt64 || slot != -1 {
		t.Fatalf("a key is due at %d in slot %d", at, slot)
	}
}

// TestDueKeysComeInOrder: the expiry index returns exactly the keys that are due, soonest first.
func TestDueKeysComeInOrder(t *testing.T) {
	k := New(Config{LockSlots: 1})
	for i := range 100 {
		e := NewString(fmt.Appendf(nil, "k%02d", i), nil)
		e.ExpireAtMs = int64(1000 - 10*i)
		k.Put(0, i%3, e, 1)
	}
	if at, slot := k.NextExpiryMs(); at != 10 || slot != 0 || k.SlotDueMs(0) != 10 {
		t.Fatalf("next is due at %d in slot %d", at, slot)
	}
	due := k.AppendDue(nil, 0, 50, 100)
	if len(due) != 5 || due[0] != (Due{99 % 3, "k99"}) || due[4] != (Due{95 % 3, "k95"}) {
		t.Fatalf("due at 50: %v", due)
	}
	if due := k.AppendDue(nil, 0, 50, 2); len(due) != 2 {
		t.Fatalf("limit 2 gives %v", due)
	}
	k.Swap(0, 1, 2)
	if due := k.AppendDue(nil, 0, 10, 100); len(due) != 1 || due[0] != (Due{1, "k99"}) {
		t.Fatalf("after a swap: %v", due)
	}
}

// TestWatchSeesEveryChange records a key as WATCH does, changes the keyspace in every possible way,
// and checks whether the key counts as unchanged.
func TestWatchSeesEveryChange(t *testing.T) {
	key, absent := []byte("here"), []byte("absent")
	const slot = 0
	put := func(k *Keyspace, db int, key []byte, expireAtMs int64, no uint64) {
		e := NewString(key, []byte("v"))
		e.ExpireAtMs = expireAtMs
		k.Put(slot, db, e, no)
	}
	cases := map[string]struct {
		key    []byte
		change func(k *Keyspace)
		want   bool
	}{
		"nothing happens":               {key, func(k *Keyspace) {}, true},
		"nothing happens, absent":       {absent, func(k *Keyspace) {}, true},
		"another key changes":           {key, func(k *Keyspace) { put(k, 0, []byte("other"), 0, 11) }, true},
		"the key changes":               {key, func(k *Keyspace) { put(k, 0, key, 0, 11) }, false},
		"its expiry changes":            {key, func(k *Keyspace) { k.SetExpire(slot, 0, k.Find(slot, 0, key), 5000, 11) }, false},
		"it is deleted":                 {key, func(k *Keyspace) { k.Remove(slot, 0, key, 11) }, false},
		"it is deleted and comes back":  {key, func(k *Keyspace) { k.Remove(slot, 0, key, 11); put(k, 0, key, 0, 12) }, false},
		"it appears":                    {absent, func(k *Keyspace) { put(k, 0, absent, 0, 11) }, false},
		"it comes and goes":             {absent, func(k *Keyspace) { put(k, 0, absent, 0, 11); k.Remove(slot, 0, absent, 12) }, false},
		"it comes and goes by a flush":  {absent, func(k *Keyspace) { put(k, 0, absent, 0, 11); k.Flush(0, 12) }, false},
		"another key comes and goes":    {absent, func(k *Keyspace) { put(k, 0, []byte("x"), 0, 11); k.Remove(slot, 0, []byte("x"), 12) }, true},
		"the same key elsewhere":        {absent, func(k *Keyspace) { put(k, 1, absent, 0, 11); k.Remove(slot, 1, absent, 12) }, true},
		"the database is flushed":       {key, func(k *Keyspace) { k.Flush(0, 11) }, false},
		"another database is flushed":   {key, func(k *Keyspace) { k.Flush(1, 11) }, true},
		"databases are swapped":         {key, func(k *Keyspace) { k.Swap(0, 1, 11) }, false},
		"swapped with an equal version": {key, func(k *Keyspace) { put(k, 1, key, 0, 10); k.Swap(0, 1, 11) }, false},
		"other databases are swapped":   {key, func(k *Keyspace) { k.Swap(2, 1, 11) }, true},
		"it comes and is swapped away":  {absent, func(k *Keyspace) { put(k, 0, absent, 0, 11); k.Swap(0, 1, 12) }, false},
		"many deletions since": {absent, func(k *Keyspace) {
			put(k, 0, absent, 0, 11)
			k.Remove(slot, 0, absent, 12)
			for no := range uint64(100) {
				put(k, 0, []byte("x"), 0, 20+no)
				k.Remove(slot, 0, []byte("x"), 20+no)
			}
		}, false},
	}
	for name, c := range cases {
		k := New(Config{LockSlots: 1})
		put(k, 0, key, 0, 10)
		var version uint64
		if e := k.Find(slot, 0, c.key); e != nil {
			version = e.Version
		}
		c.change(k)
		if got := k.Unchanged(slot, 0, c.key, version, 10, 100); got != c.want {
			t.Errorf("%s: unchanged is %v", name, got)
		}
	}
}

// TestWatchSeesExpiry: a watched key that expires counts as changed, before and after its deletion.
// A key that was missing and is missing counts as unchanged. A key that was made meanwhile counts
// as changed, although it has expired.
func TestWatchSeesExpiry(t *testing.T) {
	k := New(Config{LockSlots: 1})
	e := NewString([]byte("k"), nil)
	e.ExpireAtMs = 50
	k.Put(0, 0, e, 1)
	if !k.Unchanged(0, 0, []byte("k"), 1, 1, 49) {
		t.Error("not yet due: changed")
	}
	if k.Unchanged(0, 0, []byte("k"), 1, 1, 50) {
		t.Error("due: unchanged")
	}
	if !k.Unchanged(0, 0, []byte("k"), 0, 1, 50) {
		t.Error("due when watched, and still there: changed")
	}
	k.Put(0, 0, e, 2)
	if k.Unchanged(0, 0, []byte("k"), 0, 1, 50) {
		t.Error("came and lapsed: unchanged")
	}
}

// TestSwapBackAndForth: two swaps restore everything.
func TestSwapBackAndForth(t *testing.T) {
	w := newWorld(t, 5, 16)
	for range 3000 {
		w.step()
	}
	want := w.image()
	w.k.Swap(0, 3, w.txnNo+1)
	w.k.Swap(3, 0, w.txnNo+2)
	w.equal("swapped twice", w.image(), want)
	w.checkCounters()
}

// TestRawStringGrowsInPlace: GrowText keeps the text and fills with zero bytes, also where a longer
// text was before.
func TestRawStringGrowsInPlace(t *testing.T) {
	e := NewRawString([]byte("k"), []byte("abc"), 0)
	if got := e.GrowText(5); string(got) != "abc\x00\x00" {
		t.Fatalf("%q", got)
	}
	copy(e.GrowText(2), "xy")
	c := e.Copied([]byte("other"))
	copy(e.GrowText(2), "zz")
	if string(c.Text()) != "xyc\x00\x00" || c.Key() != "other" || string(e.Text()) != "zzc\x00\x00" {
		t.Fatalf("copy %q, original %q", c.Text(), e.Text())
	}
}

// TestOtherDatabasesIndexIsLeftAlone: flushing or swapping databases costs no step per key of
// another database. So a client that flushes a small database does not delay clients that use a
// large one.
func TestOtherDatabasesIndexIsLeftAlone(t *testing.T) {
	k := New(Config{LockSlots: 1})
	for i := range 100 {
		k.SetString(0, 0, fmt.Appendf(nil, "k%02d", i), nil, int64(1000+i), 1)
	}
	k.SetString(0, 1, []byte("soon"), nil, 10, 1)
	k.SetString(0, 2, []byte("sooner"), nil, 5, 1)
	tree := k.slots[0].expires.trees[0]
	k.Flush(2, 2)
	if k.slots[0].expires.trees[0] != tree {
		t.Error("the index of database 0 was made anew when database 2 was emptied")
	}
	if at, n := k.SlotDueMs(0), k.Weight(0, true); at != 10 || n != 101 {
		t.Errorf("the first of %d keys is due at %d", n, at)
	}
	k.Swap(0, 3, 3)
	if k.slots[0].expires.trees[3] != tree {
		t.Error("the index of database 0 was made anew when it was swapped with database 3")
	}
	if due := k.AppendDue(nil, 0, 1000, 9); len(due) != 2 || due[0] != (Due{1, "soon"}) || due[1] != (Due{3, "k00"}) {
		t.Errorf("due at 1000: %v", due)
	}
}

// A caller that sleeps until the first key is due is woken once if a key with an earlier expiry
// comes, and by nothing else.
func TestWhoWaitsForADueKeyIsWoken(t *testing.T) {
	ks := New(Config{LockSlots: 4})
	woken := 0
	set := func(key string, atMs int64) {
		ks.SetString(ks.LockSlot([]byte(key)), 0, []byte(key), []byte("v"), atMs, 1)
	}
	want := func(what string, n int) {
		t.Helper()
		if woken != n {
			t.Errorf("%s: woken %d times, want %d", what, woken, n)
		}
	}
	wait := func(atMs int64) { ks.WakeBefore(atMs, func() { woken++ }) }
	wait(1000)
	set("lasts", 0)
	set("later", 1000)
	want("nothing is due before", 0)
	set("sooner", 999)
	set("soonest", 5)
	want("two are", 1)
	wait(5)
	want("asked again", 1)
	wait(6)
	want("one was there already", 2)
	ks.Remove(ks.LockSlot([]byte("soonest")), 0, []byte("soonest"), 2)
	wait(500)
	set("again", 400)
	want("asked anew", 3)
}
