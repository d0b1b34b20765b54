package fsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"lockstep/engine/command"
)

func decodeEntry(group uint32, data []byte) (Entry, error) {
	var d entryDecoder
	return d.decode(group, data)
}

func TestADamagedEntryIsRefused(t *testing.T) {
	whole := entryOf(1, Bundle{Txns: []Txn{txnOf(0, "set", "a", "1")}})
	if _, err := decodeEntry(7, whole); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		if _, err := decodeEntry(7, bad); err == nil {
			t.Errorf("a flipped bit in byte %d was not noticed", i)
		}
		if _, err := decodeEntry(7, whole[:i]); err == nil {
			t.Errorf("an entry cut at %d was taken", i)
		}
	}
	if _, err := decodeEntry(8, whole); !errors.Is(err, ErrGroup) {
		t.Errorf("another group's entry: %v", err)
	}
	next := bytes.Clone(whole[:len(whole)-entryCRCSize])
	next[3]++
	next = binary.LittleEndian.AppendUint32(next, crc32.Checksum(next, castagnoli))
	if _, err := decodeEntry(7, next); !errors.Is(err, ErrVersion) {
		t.Errorf("an entry of the next version: %v", err)
	}
}

func TestAnUnknownCommandStopsTheMachine(t *testing.T) {
	for _, unknown := range []Txn{txnOf(0, "from-the-future", "a"), txnOf(0, "get"), txnOf(0, "hello"), {Kind: KindCommand}} {
		m := testMachine(t, nil)
		err := m.Apply(1, entryOf(1, Bundle{Txns: []Txn{txnOf(0, "set", "a", "1"), unknown}}))
		if !errors.Is(err, ErrCommand) && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d ops: %v", len(unknown.Ops), err)
		}
		if got := readText(t, m, "get", "a"); got != "$-1\r\n" {
			t.Errorf("part of the entry has run: %q", got)
		}
	}
}

// sealed appends the checksum to the bytes of an entry.
func sealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli))
}

// FuzzDecodeEntry: no input makes the decoder panic or allocate more than its size allows. An entry
// that is accepted survives encoding. Each input is decoded as it is, and also with a valid
// checksum: otherwise the code behind the checksum would see no input.
func FuzzDecodeEntry(f *testing.F) {
	seeds := [][]byte{entryOf(1, Bundle{Txns: []Txn{txnOf(0, "set", "a", "1")}})}
	exec := Txn{Kind: KindExec, Proto: 3, Ops: []Op{{DB: 1, Args: [][]byte{[]byte("get"), []byte("k")}}}, Watches: []Watch{{DB: 2, Key: []byte("w"), Version: 9, SeenAt: 10}}}
	seeds = append(seeds, entryOf(2, Bundle{Origin: Origin{1, 2, 3}, FirstSeq: 4, AckedBelow: 2, Txns: []Txn{exec}}, Bundle{Txns: []Txn{{Kind: KindTick}}}))
	seeds = append(seeds, entryOf(3, Bundle{Txns: []Txn{bySum("return 1", "0")}}))
	for _, whole := range seeds {
		f.Add(whole)
		f.Add(whole[:len(whole)-entryCRCSize])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, sealed(data)} {
			if e, err := decodeEntry(7, data); err == nil {
				comesBack(t, &e, len(data))
			}
		}
	})
}

// comesBack expects a decoded entry to be the same after encoding it.
func comesBack(t *testing.T, e *Entry, size int) {
	t.Helper()
	b := NewEntryBuilder(7, e.ID, e.StampMs, size)
	for i := range e.Bundles {
		b.Add(AppendBundle(nil, &e.Bundles[i]))
	}
	again, err := decodeEntry(7, b.Finish())
	if err != nil || again.Txns != e.Txns || len(again.Bundles) != len(e.Bundles) || again.ID != e.ID || again.StampMs != e.StampMs {
		t.Fatalf("%d bundles of %d txns came back as %d of %d: %v", len(e.Bundles), e.Txns, len(again.Bundles), again.Txns, err)
	}
}

// FuzzDecodeBundle is FuzzDecodeEntry for bundles, which peers send without a checksum.
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

// TestNoTouchTravels: the flag survives encoding with each protocol version, and has no effect if
// it is not set.
func TestNoTouchTravels(t *testing.T) {
	b := Bundle{Txns: []Txn{
		{Proto: 2, Ops: []Op{{Args: [][]byte{[]byte("get"), []byte("k")}}}},
		{Proto: 3, NoTouch: true, Ops: []Op{{Args: [][]byte{[]byte("get"), []byte("k")}}}},
		{Kind: KindEvict, NoTouch: true, Ops: []Op{{Args: [][]byte{[]byte("lockstep.evict"), []byte("0"), []byte("k"), []byte("1")}}}},
	}}
	got, err := DecodeBundle(AppendBundle(nil, &b))
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Txns {
		want, txn := &b.Txns[i], &got.Txns[i]
		if txn.Kind != want.Kind || txn.Proto != want.Proto || txn.NoTouch != want.NoTouch {
			t.Errorf("%d: %+v", i, txn)
		}
	}
}

// TestACallerTravels: the caller of a script survives encoding, alone and behind a user's rules. It
// takes no bytes if there is none.
func TestACallerTravels(t *testing.T) {
	op := []Op{{Args: [][]byte{[]byte("eval"), []byte("return 1"), []byte("0")}}}
	b := Bundle{Txns: []Txn{
		{Proto: 2, Ops: op},
		{Proto: 3, Ops: op, Caller: command.Caller{Node: 1<<63 + 1, Client: 1<<62 + 3, Watched: true}},
		{Proto: 3, User: []byte("as=ann"), Ops: op, Caller: command.Caller{Node: 7, Client: 5}},
	}}
	got, err := DecodeBundle(AppendBundle(nil, &b))
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Txns {
		want, txn := &b.Txns[i], &got.Txns[i]
		if txn.Caller != want.Caller || txn.Proto != want.Proto || string(txn.User) != string(want.User) {
			t.Errorf("%d: %+v", i, txn)
		}
	}
	nobody := Txn{Proto: 2, Ops: op, Caller: command.Caller{Client: 5, Watched: true}}
	if with, without := appendTxn(nil, &nobody), appendTxn(nil, &b.Txns[0]); !bytes.Equal(with, without) {
		t.Errorf("% x, not % x", with, without)
	}
}

// TestGrowsMemory: a txn needs memory if one of its commands does.
func TestGrowsMemory(t *testing.T) {
	op := func(args ...string) (o Op) {
		for _, a := range args {
			o.Args = append(o.Args, []byte(a))
		}
		return o
	}
	get, del, set := op("get", "k"), op("del", "k"), op("set", "k", "v")
	for _, c := range []struct {
		ops  []Op
		want bool
	}{{[]Op{get}, false}, {[]Op{set}, true}, {[]Op{del, get}, false}, {[]Op{del, set}, true}, {nil, false}} {
		if txn := (Txn{Ops: c.ops}); txn.GrowsMemory() != c.want {
			t.Errorf("%d ops: %v", len(c.ops), !c.want)
		}
	}
}
