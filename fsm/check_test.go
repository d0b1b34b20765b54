package fsm

import (
	"errors"
	"math"
	"strconv"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/version"
)

// TestWhatAPeerMayNotPropose: a bundle that would stop every replica, and again after its restart,
// is refused before it enters the log.
func TestWhatAPeerMayNotPropose(t *testing.T) {
	get, set := txnOf(0, "get", "k"), txnOf(0, "set", "k", "v")
	of := func(kind Kind, txn Txn) Txn { txn.Kind = kind; return txn }
	exec := Txn{Kind: KindExec, Ops: append(set.Ops, get.Ops...)}
	for _, good := range []Txn{get, set, exec, {Kind: KindExec}, txnOf(0, "EVAL", "return 1", "0")} {
		if err := CheckCalls([]Txn{good}); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for name, bad := range map[string]Txn{
		"unknown command": txnOf(0, "nosuch"), "container": txnOf(0, "config"), "of a node": txnOf(0, "info"), "arity": txnOf(0, "get"),
		"no command": {}, "two commands": of(KindCommand, exec), "unknown in a transaction": {Kind: KindExec, Ops: txnOf(0, "nosuch").Ops},
		"a tick": {Kind: KindTick}, "a setting": of(KindSetting, txnOf(0, "lockstep.set", "maxmemory", "1")), "expiry of nothing": {Kind: KindExpire},
		"expiry": of(KindExpire, txnOf(0, "lockstep.expire", "0", "k")), "eviction": of(KindEvict, txnOf(0, "lockstep.evict", "0", "k", "1")),
	} {
		if err := CheckCalls([]Txn{get, bad}); !errors.Is(err, ErrCommand) && !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]struct {
		txn Txn
		err error
	}{
		"a read": {get, nil}, "a write": {set, ErrLogged}, "a script": {txnOf(0, "eval", "return 1", "0"), nil},
		"a transaction": {exec, ErrLogged}, "a transaction of reads": {of(KindExec, get), nil}, "one of nothing": {Txn{Kind: KindExec}, nil},
		"a script in a transaction":     {of(KindExec, txnOf(0, "eval_ro", "return 1", "0")), nil}, // planned on the leader
		"SCRIPT FLUSH in a transaction": {of(KindExec, txnOf(0, "script", "flush")), ErrLogged},
	} {
		if err := CheckReads([]Txn{want.txn}); !errors.Is(err, want.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoEntryPanics: if such an entry is in the log nevertheless, the machine stops with an error.
func TestNoEntryPanics(t *testing.T) {
	of := func(kind Kind, args ...string) Txn { txn := txnOf(0, args...); txn.Kind = kind; return txn }
	for name, txn := range map[string]Txn{
		"a setting of another command": of(KindSetting, "get", "k"), "a setting of nothing": {Kind: KindSetting},
		"expiry of nothing": {Kind: KindExpire}, "eviction of nothing": {Kind: KindEvict},
	} {
		m := testMachine(t, nil)
		if err := m.Apply(1, entryOf(1, Bundle{Txns: []Txn{txn}})); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestASettingThatNobodyKnowsStopsTheMachine: replicas that skipped an unknown setting would differ
// from those whose program knows it.
func TestASettingThatNobodyKnowsStopsTheMachine(t *testing.T) {
	for _, c := range [][2]string{{"no-such-setting", "1"}, {"maxmemory", "-1"}, {"maxmemory", "much"}, {"lockstep.version", strconv.Itoa(version.Known() + 1)}} {
		txn := txnOf(0, "lockstep.set", c[0], c[1])
		txn.Kind = KindSetting
		m := testMachine(t, nil)
		if err := m.Apply(1, entryOf(1, Bundle{Txns: []Txn{txn}})); !errors.Is(err, ErrCommand) {
			t.Errorf("%s %s: %v", c[0], c[1], err)
		}
		if got := m.Settings(); got != command.DefaultSettings {
			t.Errorf("%s %s changed something: %+v", c[0], c[1], got)
		}
	}
}

// TestNumbersThatRunOver: a bundle is stale if its numbers overflow.
func TestNumbersThatRunOver(t *testing.T) {
	m := testMachine(t, nil)
	for i, b := range []Bundle{
		{FirstSeq: math.MaxUint64, AckedBelow: 0}, {FirstSeq: math.MaxUint64 - 1, AckedBelow: 5},
		{FirstSeq: 5, AckedBelow: math.MaxUint64}, {FirstSeq: math.MaxUint64, AckedBelow: math.MaxUint64},
	} {
		b.Origin, b.Txns = Origin{Node: uint64(i + 1), Boot: 1}, []Txn{txnOf(0, "incr", "k"), txnOf(0, "incr", "k")}
		if err := m.Apply(uint64(i+1), entryOf(uint64(i), b)); err != nil {
			t.Fatal(err)
		}
	}
	if got := readText(t, m, "get", "k"); got != "$-1\r\n" {
		t.Errorf("they ran: %q", got)
	}
}

// TestClaimsTakeNoRoom: a bundle cannot have more parts than fit into its bytes.
func TestClaimsTakeNoRoom(t *testing.T) {
	const bytes = 1 << 20
	head := AppendBundle(nil, &Bundle{})
	data := append(head[:len(head)-1:len(head)-1], 0xff, 0xff, 0x3f) // 2^20-1 txns
	if _, err := DecodeBundle(append(data, make([]byte, bytes)...)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a million txns in a megabyte: %v", err)
	}
}
