package shard

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/engine/command"
	"lockstep/fsm"
)

// A log may be ahead of the wall clock, which was set back, or is another
// machine's. A leader that has just been started reads it when it leads already:
// its time goes on from the last stamp, and does not stand still until the wall
// clock has come there.
func TestTimeGoesOnFromALogThatIsAheadOfTheWallClock(t *testing.T) {
	n := newLoneNode(t, 1, command.DefaultSettings)
	s := n.shards[0]
	s.clock.ahead(time.Hour)
	if _, err := n.propose(0, "set", "before", "1"); err != nil {
		t.Fatal(err)
	}
	ahead := s.machine.StampMs()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg := s.cfg
	cfg.Boot++
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	n.shards[0] = s
	n.until("leadership", s.Leads)
	const ttlMs = 50
	if _, err := n.propose(0, "set", "due", "1", "px", "50"); err != nil {
		t.Fatal(err)
	}
	n.until("a key is due", func() bool {
		reply, err := n.propose(0, "exists", "due")
		return err == nil && string(reply) == ":0\r\n"
	})
	if at := s.machine.StampMs(); at < ahead+ttlMs {
		t.Errorf("the key was due at %d, after %d", at, ahead)
	}
}

// ahead puts a clock forward.
func (c *clock) ahead(d time.Duration) {
	c.mu.Lock()
	c.baseMs += d.Milliseconds()
	c.mu.Unlock()
}

// A node may have been started under a wall clock that was wrong, and lead much
// later: from the first entry of a term it goes by the wall clock of that time.
func TestATermBeginsByItsOwnWallClock(t *testing.T) {
	n := newLoneNode(t, 1, command.DefaultSettings)
	s := n.shards[0]
	s.clock.mu.Lock()
	s.clock.baseMs += time.Hour.Milliseconds()
	s.clock.term-- // so it was before this node led
	s.clock.mu.Unlock()
	if _, err := n.propose(0, "set", "k", "1"); err != nil {
		t.Fatal(err)
	}
	if ahead := s.machine.StampMs() - time.Now().UnixMilli(); ahead > time.Minute.Milliseconds() {
		t.Errorf("the entry is stamped %d ms ahead", ahead)
	}
}

// A log that is an hour ahead comes back to wall time, never backwards, and stays
// there; one that is not runs as the wall clock does.
func TestALogThatIsAheadComesBackToWallTime(t *testing.T) {
	begin := time.UnixMilli(1_000_000_000_000)
	const hour = int64(time.Hour / time.Millisecond)
	for _, ahead := range []int64{hour, 0, -hour} {
		var c clock
		c.at(1, begin.UnixMilli()+ahead, begin)
		ahead = max(ahead, 0)
		last := begin.UnixMilli() + ahead
		for passed := time.Duration(0); passed <= 2*slower*time.Hour; passed += 777 * time.Millisecond {
			now := c.at(1, 0, begin.Add(passed))
			if now < last {
				t.Fatalf("%d is before %d", now, last)
			}
			last = now
			want := max(ahead-passed.Milliseconds()/slower, 0)
			if got := now - begin.Add(passed).UnixMilli(); got != want {
				t.Fatalf("after %v it is %d ms ahead, want %d", passed, got, want)
			}
		}
	}
}

func TestAKeyThatIsDueInAMillionYearsIsNotLookedForAllTheTime(t *testing.T) {
	const nowMs = int64(1_700_000_000_000)
	for dueMs, want := range map[int64]time.Duration{
		nowMs - 5: time.Millisecond, nowMs: time.Millisecond, nowMs + 7: 7 * time.Millisecond, nowMs + 5000: expireEvery,
		nowMs + 1<<44: expireEvery, 1 << 62: expireEvery, 1<<62 + 1<<61: expireEvery,
	} {
		if got := untilDue(dueMs, nowMs); got != want {
			t.Errorf("due at %d: %v, want %v", dueMs, got, want)
		}
	}
}

// The log's time goes on from its last stamp, also where the leader began before
// it had applied that, and its own clock is far behind: keys expire in time.
func TestTimeGoesOnBehindALogOfALaterTime(t *testing.T) {
	n := newLoneNode(t, 1, command.DefaultSettings)
	dir := t.TempDir()
	s := n.open(7, dir)
	n.serves(s)
	later := time.Now().Add(time.Hour).UnixMilli()
	entry := fsm.NewEntryBuilder(7, fsm.EntryID{Node: 1, Boot: 1, N: 1 << 40}, later, 64)
	entry.Add(fsm.AppendBundle(nil, &fsm.Bundle{Txns: []fsm.Txn{{Kind: fsm.KindTick}}}))
	if err := s.group.Append(t.Context(), entry.Finish()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	n.shards = append(n.shards, n.open(7, dir))
	s = n.shards[1]
	n.serves(s)
	n.until("the log's time is its last stamp's", func() bool { return s.machine.StampMs() >= later })
	n.must(1, "set", "k", "v", "px", "20")
	n.until("the key to expire", func() bool { return !n.has(1, "k") })
	if at := s.machine.StampMs(); at < later+20 || at > later+patience.Milliseconds() {
		t.Errorf("the log's time went from %d to %d", later, at)
	}
}

// Names may be so long that those of all keys which are due are more than an entry
// holds: they go in several.
func TestKeysWithLongNamesExpire(t *testing.T) {
	const keys, nameBytes = 9, 7 << 20
	n := newLoneNode(t, 1, command.DefaultSettings)
	s := n.shards[0]
	s.SetActiveExpire(false)
	for i := range keys {
		n.must(0, "set", strings.Repeat(strconv.Itoa(i), nameBytes), "v", "px", "1")
	}
	n.must(0, "set", "short", "v", "px", "1")
	s.SetActiveExpire(true)
	n.until("all to expire", func() bool { return s.machine.Keyspace().Keys(0) == 0 })
}
