package keycmd_test

import (
	"testing"

	"lockstep/engine/commands/keycmd"
	"lockstep/tests/kit/cmdtest"
)

// TestKeyCountsTravel: counts are the same after they were written and read.
func TestKeyCountsTravel(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Script(`
		SET a 1 => +OK
		SET b 1 => +OK
		PEXPIREAT b 4000000000000 => :1
	`)
	r.Do("SELECT 7")
	r.Do("SET c 1")
	counts, ok := keycmd.ParseKeyCounts(r.Exec([]byte("lockstep.keycounts")))
	if !ok {
		t.Fatal("the reply cannot be read")
	}
	for db := range counts {
		if want := keycmd.CountKeys(r.KS, db, 0); counts[db] != want {
			t.Errorf("database %d: %+v, not %+v", db, counts[db], want)
		}
	}
	if want := (keycmd.KeyCounts{Keys: 2, Volatile: 1, ExpirySec: 4_000_000_000}); counts[0] != want {
		t.Errorf("database 0: %+v, not %+v", counts[0], want)
	}
	if counts[7].Keys != 1 || counts[1].Keys != 0 {
		t.Errorf("they are %+v", counts)
	}
	for _, reply := range []string{"", "-ERR\r\n", "*64\r\n", "*0\r\n:1\r\n"} {
		if _, ok := keycmd.ParseKeyCounts([]byte(reply)); ok {
			t.Errorf("%q was read", reply)
		}
	}
}
