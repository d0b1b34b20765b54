package fsm

import (
	"bytes"
	"errors"
	"testing"
)

func TestADamagedEntryIsRefused(t *testing.T) {
	whole := entryOf(1, Bundle{Txns: []Txn{txnOf(0, "set", "a", "1")}})
	if _, err := DecodeEntry(7, whole); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		if _, err := DecodeEntry(7, bad); err == nil {
			t.Errorf("a flipped bit in byte %d was not noticed", i)
		}
		if _, err := DecodeEntry(7, whole[:i]); err == nil {
			t.Errorf("an entry cut at %d was taken", i)
		}
	}
	if _, err := DecodeEntry(8, whole); !errors.Is(err, ErrGroup) {
		t.Errorf("another group's entry: %v", err)
	}
}

func TestAnUnknownCommandStopsTheMachine(t *testing.T) {
	m := testMachine(t, nil)
	err := m.Apply(1, entryOf(1, Bundle{Txns: []Txn{txnOf(0, "set", "a", "1"), txnOf(0, "from-the-future", "a")}}))
	if !errors.Is(err, ErrCommand) {
		t.Fatalf("got %v", err)
	}
	if got := readText(t, m, "get", "a"); got != "$-1\r\n" {
		t.Errorf("part of the entry has run: %q", got)
	}
}

// FuzzDecodeEntry: no input makes the decoder panic or allocate beyond its size,
// and what it takes it gives back the same.
func FuzzDecodeEntry(f *testing.F) {
	f.Add(entryOf(1, Bundle{Txns: []Txn{txnOf(0, "set", "a", "1")}}))
	exec := Txn{Kind: KindExec, Proto: 3, Ops: []Op{{DB: 1, Args: [][]byte{[]byte("get"), []byte("k")}}}, Watches: []Watch{{DB: 2, Key: []byte("w"), Version: 9, SeenAt: 10}}}
	f.Add(entryOf(2, Bundle{Origin: Origin{1, 2, 3}, FirstSeq: 4, AckedBelow: 2, Txns: []Txn{exec}}, Bundle{Txns: []Txn{{Kind: KindTick}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := DecodeEntry(7, data)
		if err != nil {
			return
		}
		b := NewEntryBuilder(7, e.ID, e.StampMs, len(data))
		for i := range e.Bundles {
			b.Add(AppendBundle(nil, &e.Bundles[i]))
		}
		again, err := DecodeEntry(7, b.Finish())
		if err != nil || again.Txns != e.Txns || len(again.Bundles) != len(e.Bundles) {
			t.Fatalf("%d bundles of %d txns came back as %d of %d: %v", len(e.Bundles), e.Txns, len(again.Bundles), again.Txns, err)
		}
	})
}

// FuzzDecodeBundle is FuzzDecodeEntry for what peers send: it has no checksum
// of its own.
func FuzzDecodeBundle(f *testing.F) {
	b := Bundle{Origin: Origin{1, 2, 3}, FirstSeq: 4, AckedBelow: 2, Txns: []Txn{txnOf(3, "mset", "a", "1", "b", "2")}}
	f.Add(AppendBundle(nil, &b))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := DecodeBundle(data)
		if err != nil {
			return
		}
		again, err := DecodeBundle(AppendBundle(nil, &b))
		if err != nil || len(again.Txns) != len(b.Txns) || again.Origin != b.Origin {
			t.Fatalf("%v came back as %v: %v", b, again, err)
		}
	})
}
