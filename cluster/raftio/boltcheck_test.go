package raftio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// boltKinds returns files of bbolt of several shapes: with and without a list of free pages, with
// buckets inside a value or with pages of their own, with long values, and with deletions.
func boltKinds(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for name, o := range map[string]*bbolt.Options{
		"listed":   {},
		"unlisted": {NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
		"pages":    {PageSize: 16 << 10},
	} {
		path := filepath.Join(t.TempDir(), name)
		db, err := bbolt.Open(path, 0o600, o)
		must(t, err)
		for round := range 3 {
			must(t, db.Update(func(tx *bbolt.Tx) error { return fillBolt(tx, round) }))
		}
		must(t, db.Close())
		files[name] = path
	}
	return files
}

func fillBolt(tx *bbolt.Tx, round int) error {
	for _, name := range []string{"large", "small", "long"} {
		b, err := tx.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			return err
		}
		n := map[string]int{"large": 2000, "small": 3, "long": 5}[name]
		for i := range n {
			key := fmt.Appendf(nil, "key%06d", i)
			value := bytes.Repeat([]byte{byte(i)}, map[string]int{"large": 50, "small": 8, "long": 100_000}[name])
			if round == 1 && i%3 == 0 {
				err = b.Delete(key)
			} else {
				err = b.Put(key, value)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func TestAFileOfBoltIsGoodAsBoltLeavesIt(t *testing.T) {
	for name, path := range boltKinds(t) {
		if err := readyBolt(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := readyBolt(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Error("one that is not there:", err)
	}
}

// If the examination accepts a file, bbolt can open it and read it to its end without a panic.
func TestADamagedFileOfBoltIsRefusedOrCanBeRead(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it uses one goroutine")
	}
	const tries = 150
	draw := rand.New(rand.NewPCG(1, 2))
	for name, path := range boltKinds(t) {
		whole, err := os.ReadFile(path)
		must(t, err)
		refused, at := 0, filepath.Join(t.TempDir(), "damaged")
		for range tries {
			what, damaged := damageBytes(draw, whole)
			must(t, os.WriteFile(at, damaged, 0o600))
			if readyBolt(at) != nil {
				refused++
				continue
			}
			readBolt(t, name+": "+what, at)
		}
		if refused < tries/10 {
			t.Errorf("%s: %d of %d were refused", name, refused, tries)
		}
	}
}

// damageBytes damages a copy of a file's bytes, and says how.
func damageBytes(draw *rand.Rand, whole []byte) (what string, damaged []byte) {
	damaged = bytes.Clone(whole)
	at := draw.IntN(len(whole))
	switch draw.IntN(4) {
	case 0:
		damaged[at] ^= 1 << draw.IntN(8)
		return fmt.Sprintf("a bit of byte %d is flipped", at), damaged
	case 1:
		at -= at % 512 // the heads of pages hold more that can be damaged
		damaged[at+draw.IntN(min(64, len(whole)-at))] ^= 1 << draw.IntN(8)
		return fmt.Sprintf("a bit behind byte %d is flipped", at), damaged
	case 2:
		n := copy(damaged[at:], make([]byte, 300))
		return fmt.Sprintf("%d bytes from %d on are zero", n, at), damaged
	}
	return fmt.Sprintf("it ends at byte %d", at), damaged[:at]
}

// readBolt opens a file as a store does, reads everything in it, and writes.
func readBolt(t *testing.T, what, path string) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: panic: %v", what, p)
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true, NoSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer db.Close()
	must(t, db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(_, v []byte) error { _ = bytes.Clone(v); return nil })
		})
	}))
	must(t, db.Update(func(tx *bbolt.Tx) error { return fillBolt(tx, 1) }))
}
