package fsm

import (
	"strings"
	"testing"
)

// The longest value that a client may send fits into an entry, with a key of 64 KB and rules of a user of 512 KB.
func TestTheLongestValueFitsIntoAnEntry(t *testing.T) {
	txn := txnOf(0, "set", strings.Repeat("k", 64<<10), strings.Repeat("v", ValueBytesMax))
	txn.User = make([]byte, 512<<10)
	b := NewEntryBuilder(1, EntryID{}, 0, 0)
	b.Add(AppendBundle(nil, &Bundle{Txns: []Txn{txn}}))
	if n := len(b.Finish()); n > EntryBytesMax || n < ValueBytesMax {
		t.Errorf("the entry has %d bytes; the longest has %d", n, EntryBytesMax)
	}
}
