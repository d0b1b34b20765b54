package fsm

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands/values"
	"lockstep/engine/rdb"
)

const (
	dayBegins = int64(1_700_000_000_000)
	anHour    = int64(3_600_000)
)

// dayMachine is a machine whose log time advances by a millisecond with each txn.
type dayMachine struct {
	*lockedMachine
	nowMs int64
}

func newDayMachine(t *testing.T) *dayMachine { return &dayMachine{newLockedMachine(t), dayBegins} }

func (m *dayMachine) do(args ...string) string {
	m.t.Helper()
	m.nowMs++
	return m.stamped(m.nowMs, txnOf(0, args...))
}

func (m *dayMachine) setDay(offsetMs int64) {
	m.t.Helper()
	m.nowMs++
	txn := SetDay(offsetMs)
	txn.Proto = 2
	if got := m.stamped(m.nowMs, txn); got != "+OK\r\n" {
		m.t.Fatalf("the order is answered %q", got)
	}
}

// want compares the reply to a command, in the log or as a read.
func (m *dayMachine) want(want string, args ...string) {
	m.t.Helper()
	if got := strings.TrimSuffix(m.do(args...), "\r\n"); got != want {
		m.t.Errorf("%q is answered %q, want %q", args, got, want)
	}
}

func (m *dayMachine) wantRead(want string, args ...string) {
	m.t.Helper()
	if got := strings.TrimSuffix(readText(m.t, m.Machine, args...), "\r\n"); got != want {
		m.t.Errorf("a read, %q, gets %q, want %q", args, got, want)
	}
}

func num(n int64) string { return fmt.Sprint(":", n) }

// offsets are for a log that is ahead of the time of day, also by years, and for one that is
// behind.
var offsets = []int64{-anHour, anHour, -10 * 365 * 24 * anHour, 40 * 365 * 24 * anHour}

// Setting the time of day changes no key's time to live. Replies with times of day change.
func TestSettingTheTimeOfDayChangesNoTimeToLive(t *testing.T) {
	for _, offset := range offsets {
		m := newDayMachine(t)
		m.want("+OK", "set", "relative", "v", "px", "600000")
		relative := m.nowMs + 600_000
		absolute := dayBegins + anHour
		m.want("+OK", "set", "absolute", "v", "pxat", fmt.Sprint(absolute))
		m.want(":1", "hset", "h", "f", "v")
		m.want("*1\r\n:1", "hpexpireat", "h", fmt.Sprint(absolute), "fields", "1", "f")
		m.setDay(offset)
		m.want(num(relative-m.nowMs-1), "pttl", "relative")
		m.want(num(absolute-m.nowMs-1), "pttl", "absolute")
		m.want(num(relative+offset), "pexpiretime", "relative")
		m.want(num((absolute+offset)/1000), "expiretime", "absolute")
		m.want("*1\r\n"+num(absolute-m.nowMs-1), "hpttl", "h", "fields", "1", "f")
		m.want("*1\r\n"+num(absolute+offset), "hpexpiretime", "h", "fields", "1", "f")
		m.wantRead(num(absolute+offset), "pexpiretime", "absolute")
		m.wantRead("*1\r\n"+num((absolute+offset+999)/1000), "hexpiretime", "h", "fields", "1", "f")
		exec := txnOf(0, "pexpiretime", "absolute")
		exec.Kind = KindExec
		reply, err := m.Read(t.Context(), &exec, ReadOptions{})
		if want := "*1\r\n" + num(absolute+offset) + "\r\n"; err != nil || string(reply) != want {
			t.Errorf("a transaction that reads gets %q, %v, want %q", reply, err, want)
		}
		m.setDay(0)
		m.want(num(absolute), "pexpiretime", "absolute")
	}
}

// After the time of day is set, clients' times of day have their exact meaning.
func TestTimesOfDayMeanWhatTheySayOnceItIsSet(t *testing.T) {
	for _, offset := range offsets {
		m := newDayMachine(t)
		m.want("+OK", "set", "k", "v")
		m.setDay(offset)
		day := func() int64 { return m.nowMs + 1 + offset }
		for i, command := range [][]string{
			{"pexpireat", "k"}, {"set", "k", "v", "pxat"}, {"getex", "k", "pxat"}, {"restore", "copy", "", "", "absttl"},
		} {
			at := day() + 5000
			if command[0] == "restore" {
				m.do("restore", "k", fmt.Sprint(at), payloadOf(t, m.Machine, "k"), "absttl", "replace")
			} else {
				m.do(append(command, fmt.Sprint(at))...)
			}
			m.want(num(at-day()), "pttl", "k")
			m.want(num(at), "pexpiretime", "k")
			if t.Failed() {
				t.Fatalf("offset %d, command %d", offset, i)
			}
		}
		m.want(":1", "expireat", "k", fmt.Sprint(day()/1000+7))
		m.want(num(day()/1000+7), "expiretime", "k")
		m.want(":1", "pexpireat", "k", fmt.Sprint(day()-1))
		m.want("$-1", "get", "k")
		m.want("+OK", "set", "k", "v")
		m.want(":1", "pexpireat", "k", "1")
		m.want("$-1", "get", "k")
		m.want("+OK", "set", "due", "v", "pxat", fmt.Sprint(day()+5))
		for range 5 {
			m.do("exists", "due")
		}
		m.want("$-1", "get", "due")
		now := day()
		m.want(num(now), "eval", "local t = redis.call('time'); return t[1] * 1000 + t[2] / 1000", "0")
		if got := m.do("xadd", "s", "*", "f", "v"); !strings.Contains(got, fmt.Sprint(m.nowMs+offset, "-0")) {
			t.Errorf("offset %d: XADD answers %q at %d", offset, got, m.nowMs+offset)
		}
	}
}

// Idle times stay the same, and times of delivery are shown as times of day.
func TestStreamsKeepWhatWasDelivered(t *testing.T) {
	for _, offset := range offsets {
		m := newDayMachine(t)
		m.do("xadd", "s", "1-1", "f", "v")
		m.do("xgroup", "create", "s", "g", "0")
		m.do("xreadgroup", "group", "g", "c", "streams", "s", ">")
		delivered := m.nowMs
		m.do("xgroup", "createconsumer", "s", "g", "idle")
		m.setDay(offset)
		pending := m.do("xpending", "s", "g", "-", "+", "1")
		if !strings.Contains(pending, num(m.nowMs-delivered)+"\r\n:1") {
			t.Errorf("XPENDING answers %q, %d ms later", pending, m.nowMs-delivered)
		}
		info := m.do("xinfo", "stream", "s", "full")
		for _, part := range []string{"seen-time\r\n" + num(delivered+offset), "1-1\r\n" + num(delivered+offset), "active-time\r\n" + num(delivered+offset), "active-time\r\n:-1"} {
			if !strings.Contains(info, part) {
				t.Errorf("offset %d: XINFO does not say %q: %q", offset, part, info)
			}
		}
		m.do("xclaim", "s", "g", "c", "0", "1-1", "time", fmt.Sprint(m.nowMs+1+offset-5000))
		m.want("*1\r\n*4\r\n$3\r\n1-1\r\n$1\r\nc\r\n:5001\r\n:2", "xpending", "s", "g", "-", "+", "1")
	}
}

// restoreFile restores the keys of an RDB file under other names.
func (m *dayMachine) restoreFile(file io.Reader, prefix string) {
	m.t.Helper()
	in, err := rdb.NewReader(file)
	if err != nil {
		m.t.Fatal(err)
	}
	for {
		e, err := in.Next()
		if err != nil {
			m.t.Fatal(err)
		}
		if e.EOF {
			return
		}
		if e.Key == nil {
			continue
		}
		entry, err := values.ReadValue(&in.Source, e.Type, e.Key, nil)
		if err != nil {
			m.t.Fatal(err)
		}
		m.want("+OK", "restore", prefix+string(e.Key), fmt.Sprint(e.ExpireAtMs), string(values.AppendPayload(nil, entry)), "absttl")
	}
}

// Data that leaves the shard, in dumps and backups, has times of day.
func TestWhatLeavesTheShardTellsTimesOfDay(t *testing.T) {
	for _, offset := range offsets {
		m := newDayMachine(t)
		m.do("set", "k", "v", "px", "600000")
		for i, name := range []string{"small", "large"} {
			fields := []string{"hset", name, "f", "v", "g", strings.Repeat("x", 200*i)}
			m.do(fields...)
			m.do("hpexpire", name, "600000", "fields", "1", "f")
		}
		m.do("xadd", "s", "1-1", "f", "v")
		m.do("xgroup", "create", "s", "g", "0")
		m.do("xreadgroup", "group", "g", "c", "streams", "s", ">")
		m.setDay(offset)
		snap, err := m.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		err = snap.PersistKeys(&file, false, func(int) {})
		snap.Release()
		if err != nil {
			t.Fatal(err)
		}
		if day := m.nowMs + offset; snap.DayMs() != day || m.DayMs() != day {
			t.Errorf("the time of day is %d, and %d in the snapshot, want %d", m.DayMs(), snap.DayMs(), day)
		}
		// A cluster whose log time is the time of day reads them.
		other := newDayMachine(t)
		other.nowMs = m.nowMs + offset
		for _, key := range []string{"small", "large", "s"} {
			other.want("+OK", "restore", key, "0", payloadOf(t, m.Machine, key))
		}
		other.restoreFile(&file, "from-file-")
		same := func(key, there string, args ...string) {
			t.Helper()
			m.nowMs += 10
			want := m.do(args...)
			args[slices.Index(args, key)] = there
			other.nowMs = m.nowMs + offset - 1
			if got := other.do(args...); got != want {
				t.Errorf("offset %d: %q is answered %q here and %q there", offset, args, want, got)
			}
		}
		same("k", "from-file-k", "pttl", "k")
		same("k", "from-file-k", "pexpiretime", "k")
		for _, prefix := range []string{"", "from-file-"} {
			for _, name := range []string{"small", "large"} {
				same(name, prefix+name, "hpttl", name, "fields", "2", "f", "g")
				same(name, prefix+name, "hpexpiretime", name, "fields", "2", "f", "g")
			}
			same("s", prefix+"s", "xpending", "s", "g", "-", "+", "1")
		}
	}
}

// The offset is part of snapshots, and a snapshot's content is exactly the state.
func TestTheTimeOfDayIsInSnapshots(t *testing.T) {
	for _, offset := range append(offsets, command.DayOffsetMsMax, -command.DayOffsetMsMax) {
		g := newGateways(t)
		g.askTxn(Origin{Node: 5, Boot: 2}, 0, 0, SetDay(offset))
		g.ask(Origin{Node: 5, Boot: 2}, 1, 1, "set", "k", "v", "px", "5")
		g.ask(Origin{Node: 5, Boot: 2}, 2, 2, "hset", "h", "f", "v")
		g.ask(Origin{Node: 5, Boot: 2}, 3, 3, "hpexpire", "h", "7", "fields", "1", "f")
		before := g.image()
		g.become(bytes.NewReader(before.Bytes()))
		if g.DayOffsetMs() != offset || !bytes.Equal(g.image().Bytes(), before.Bytes()) {
			t.Errorf("behind a snapshot with offset %d it is %d", offset, g.DayOffsetMs())
		}
	}
}

func TestAnOffsetOutOfBoundsIsNone(t *testing.T) {
	m := newDayMachine(t)
	m.setDay(5)
	for _, offset := range []int64{command.DayOffsetMsMax + 1, -command.DayOffsetMsMax - 1, 1<<63 - 1, -1 << 63} {
		m.setDay(offset)
	}
	junk := SetDay(0)
	junk.Ops[0].Args[1] = []byte("junk")
	m.stamped(m.nowMs, junk)
	if got := m.DayOffsetMs(); got != 5 {
		t.Errorf("it is %d", got)
	}
}

// With offsets and times at their bounds, no result is outside the range of valid times, or beyond
// the expiries that a snapshot can hold.
func TestTimesAtTheirBounds(t *testing.T) {
	for _, offset := range []int64{command.DayOffsetMsMax, -command.DayOffsetMsMax} {
		m := newDayMachine(t)
		m.setDay(offset)
		for _, at := range []string{"1", "9223372036854775807", "70000000000000", "70368744177663"} {
			m.do("set", "k", "v")
			m.do("pexpireat", "k", at)
			m.do("pexpiretime", "k")
			m.do("set", "k2", "v", "pxat", at)
			m.do("hset", "h", "f", "v", "g", "w")
			m.do("hpexpireat", "h", at, "fields", "1", "f")
			m.do("hpexpiretime", "h", "fields", "1", "f")
			m.do("restore", "copy", "0", payloadOf(t, m.Machine, "h"))
		}
		for _, again := range []int64{0, offset, -offset} {
			m.setDay(again)
			image := imageOf(t, m.Machine)
			other := testMachine(t, nil)
			if err := other.Restore(bytes.NewReader(image)); err != nil {
				t.Fatalf("offset %d, then %d: %v", offset, again, err)
			}
			if !bytes.Equal(imageOf(t, other), image) {
				t.Errorf("offset %d, then %d: the snapshot of what was read is another one", offset, again)
			}
			if payload := payloadOf(t, m.Machine, "h"); payload != "" && payload != "$-1" {
				if _, err := values.ReadPayload([]byte(payload), []byte("h")); err != nil {
					t.Errorf("offset %d, then %d: the dump of a hash is not read: %v", offset, again, err)
				}
			}
		}
	}
}
