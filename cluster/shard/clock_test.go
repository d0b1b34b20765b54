package shard

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster"
	"lockstep/cluster/clock"
	"lockstep/cluster/raftio"
	"lockstep/engine/command"
	"lockstep/fsm"
)

// clockWorld is a shard of nodes whose wall clocks can be set.
type clockWorld struct {
	*shardWorld
	mu sync.Mutex
	// ahead is how far each node's wall clock is ahead of the true time.
	ahead map[raft.ServerID]time.Duration
	// mute is true if no node reports what its clock shows, not even to itself.
	mute bool
}

// newClockWorld starts nodes n1, n2 and so on, whose clocks are ahead by the given times.
func newClockWorld(t *testing.T, ahead ...time.Duration) *clockWorld {
	w := &clockWorld{shardWorld: &shardWorld{world: &world{t: t}}, ahead: map[raft.ServerID]time.Duration{}}
	for i, d := range ahead {
		w.ahead[raft.ServerID(fmt.Sprintf("n%d", i+1))] = d
	}
	w.found(len(ahead), raftio.StoreBolt, steady, func(g GroupConfig) Config {
		cfg := w.shardOf(g)
		cfg.Clocks = func(voters []string) clock.Now { return w.now(g.LocalID, voters) }
		return cfg
	})
	return w
}

// now returns what a majority of the running nodes says, asked within a millisecond.
func (w *clockWorld) now(self raft.ServerID, voters []string) clock.Now {
	w.world.mu.Lock()
	nodes := append([]*testNode(nil), w.nodes...)
	w.world.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	mono, wall := raftio.Now().Microseconds(), time.Now().UnixMicro()
	now := clock.Now{MonoUs: mono, OwnUs: wall + w.ahead[self].Microseconds(), LeastUs: clock.Never, MostUs: clock.Always}
	var readings []clock.Reading
	for _, n := range nodes {
		n.mu.Lock()
		open := n.open || n.id == self
		n.mu.Unlock()
		if open && slices.Contains(voters, string(n.id)) && !w.mute {
			readings = append(readings, clock.Take(wall+w.ahead[n.id].Microseconds(), mono-500, mono+500))
		}
	}
	if least, most := clock.Majority(len(voters), readings); least != clock.Never {
		now.LeastUs, now.MostUs = least+mono, most+mono
	}
	return now
}

// setClocks sets the clocks of some nodes.
func (w *clockWorld) setClocks(ahead time.Duration, nodes ...*testNode) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range nodes {
		w.ahead[n.id] = ahead
	}
}

func (w *clockWorld) setMute(mute bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mute = mute
}

// tell reports the leader's log time to all replicas.
func (w *clockWorld) tell() {
	for _, from := range w.nodes {
		for _, to := range w.nodes {
			sent := raftio.Now().Microseconds()
			if t, leads := from.shard.clock.LogTime(); leads && from != to {
				to.shard.clock.HearTime(string(from.id), t, sent, raftio.Now().Microseconds())
			}
		}
	}
}

// serves makes a node the leader, if it is not, and waits until it may serve.
func (w *clockWorld) serves(n *testNode) {
	w.t.Helper()
	w.until(string(n.id)+" leads", func() bool {
		for _, other := range w.others(n) {
			if other.group.IsLeader() {
				_ = other.group.TransferTo(w.ctx(), n.id)
			}
		}
		return n.shard.Leads()
	})
}

// do runs a command on a leading node and returns its reply.
func (w *clockWorld) do(n *testNode, args ...string) (reply string) {
	w.t.Helper()
	w.until(args[0], func() bool {
		r := <-w.propose(n, args...)
		if r.Err == nil {
			reply = strings.TrimSuffix(string(r.Replies[0].Bytes), "\r\n")
		}
		return r.Err == nil
	})
	return reply
}

// number runs a command and returns the number in its reply.
func (w *clockWorld) number(n *testNode, args ...string) int64 {
	w.t.Helper()
	reply := w.do(n, args...)
	v, err := strconv.ParseInt(strings.TrimPrefix(reply, ":"), 10, 64)
	if err != nil {
		w.t.Fatalf("%q is answered %q", args, reply)
	}
	return v
}

// dayOf is about how far the time of day of a shard is ahead of the true time.
func (w *clockWorld) dayOf(n *testNode) time.Duration {
	return time.Duration(n.shard.clock.nowMs()+n.shard.machine.DayOffsetMs()-time.Now().UnixMilli()) * time.Millisecond
}

// near reports whether two times are as close as can be expected of a busy machine.
func near(a, b time.Duration) bool { return (a - b).Abs() < 2*time.Second }

const years = 10 * 365 * 24 * time.Hour

// left checks that a key has about want to live, counted from since.
func (w *clockWorld) left(n *testNode, key string, want time.Duration, since time.Time) {
	w.t.Helper()
	left := time.Duration(w.number(n, "pttl", key)) * time.Millisecond
	if want -= time.Since(since); !near(left, want) {
		w.t.Errorf("%s: %s has %v to live, want %v", n.id, key, left, want)
	}
}

// A node with a wrong wall clock becomes the leader. No key with time left is gone, no expired key
// stays, and a time of day means what the other clocks show. It makes no difference whether the
// node was just started.
func TestALeaderWithAWrongClock(t *testing.T) {
	for _, wrong := range []time.Duration{time.Hour, -time.Hour, years} {
		t.Run(wrong.String(), func(t *testing.T) {
			t.Parallel()
			w := newClockWorld(t, wrong, 0, 0)
			bad, good := w.nodes[0], w.nodes[1]
			w.serves(good)
			began := time.Now()
			w.do(good, "set", "k", "v", "px", "600000")
			w.do(good, "set", "day", "v", "pxat", fmt.Sprint(began.Add(10*time.Minute).UnixMilli()))
			for _, how := range []string{"told", "cold"} {
				if how == "told" {
					w.tell()
				} else {
					w.serves(good)
					bad.stop()
					bad.start()
				}
				w.serves(bad)
				w.left(bad, "k", 10*time.Minute, began)
				w.left(bad, "day", 10*time.Minute, began)
				if ahead := w.dayOf(bad); !near(ahead, 0) {
					t.Errorf("%s: its time of day is %v ahead", how, ahead)
				}
				w.do(bad, "set", "soon", "v", "pxat", fmt.Sprint(time.Now().Add(300*time.Millisecond).UnixMilli()))
				w.until("what is due soon is gone", func() bool { return w.do(bad, "exists", "soon") == ":0" })
			}
			if set := bad.shard.clock.TimesDaySet(); set != 0 {
				t.Errorf("it has set the time of day %d times", set)
			}
		})
	}
}

// Most clocks are set while a shard is led. Remaining times to live stay, and the time of day
// follows, whatever happens to the leader, and also after a restart of all nodes.
func TestMostClocksAreSet(t *testing.T) {
	for _, jump := range []time.Duration{time.Hour, -time.Hour, years} {
		t.Run(jump.String(), func(t *testing.T) {
			t.Parallel()
			w := newClockWorld(t, 0, 0, 0)
			leader := w.nodes[1]
			w.serves(leader)
			began := time.Now()
			w.do(leader, "set", "k", "v", "px", "600000")
			w.tell()
			w.setClocks(jump, w.nodes[0], w.nodes[1])
			w.until("the time of day is set", func() bool { return near(w.dayOf(leader), jump) })
			w.left(leader, "k", 10*time.Minute, began)
			for _, n := range w.nodes {
				w.until("all know", func() bool { return near(time.Duration(n.shard.machine.DayOffsetMs())*time.Millisecond, jump) })
			}
			w.serves(w.nodes[2])
			w.left(w.nodes[2], "k", 10*time.Minute, began)
			for _, n := range w.nodes {
				n.stop()
			}
			for _, n := range w.nodes {
				n.start()
			}
			w.serves(w.nodes[0])
			w.left(w.nodes[0], "k", 10*time.Minute, began)
			if ahead := w.dayOf(w.nodes[0]); !near(ahead, jump) {
				t.Errorf("after a restart the time of day is %v ahead", ahead)
			}
		})
	}
}

// The time of day is set at once by an order, and not at all if there is no majority.
func TestTheTimeOfDayIsSetByOrder(t *testing.T) {
	t.Parallel()
	w := newClockWorld(t, 0, 0, 0)
	leader := w.nodes[0]
	w.serves(leader)
	w.setClocks(300*time.Millisecond, w.nodes...)
	by, err := leader.shard.clock.AdoptDay(w.ctx())
	if err != nil || by < 200*time.Millisecond || by > 310*time.Millisecond {
		t.Errorf("it was set by %v, %v", by, err)
	}
	if d := leader.shard.clock.Day(); !d.Known || leader.shard.clock.TimesDaySet() != 1 || d.AwayMs < -50 || d.AwayMs > 50 {
		t.Errorf("%+v", d)
	}
	w.setMute(true)
	if by, err := leader.shard.clock.AdoptDay(w.ctx()); !errors.Is(err, ErrNoMajority) {
		t.Errorf("without a majority it was set by %v, %v", by, err)
	}
}

// A leader that does not know the time serves no client: it would stamp a time that is long past.
func TestWhoDoesNotKnowTheTimeServesNobody(t *testing.T) {
	t.Parallel()
	w := newClockWorld(t, 0, 0, 0)
	w.setMute(true)
	leader := w.leader()
	for range 20 {
		if r := <-w.propose(leader, "set", "k", "v"); !errors.Is(r.Err, cluster.ErrNotLeader) && !leader.shard.clock.begun() {
			t.Fatalf("a write is answered %+v", r)
		}
	}
	w.setMute(false)
	w.serves(leader)
	w.do(leader, "set", "k", "v")
}

// But it waits no longer than necessary: if it can ask no node, the last stamp counts.
func TestWhoCannotLearnTheTimeGoesOnFromTheLastStamp(t *testing.T) {
	t.Parallel()
	w := newClockWorld(t, 0, 0, 0)
	n := w.nodes[0]
	w.serves(n)
	w.do(n, "set", "k", "v", "px", "600000")
	began := time.Now()
	for _, n := range w.nodes {
		n.stop()
	}
	w.setMute(true)
	w.setClocks(years, w.nodes...)
	for _, n := range w.nodes {
		n.start()
	}
	w.serves(n)
	left := time.Duration(w.number(n, "pttl", "k")) * time.Millisecond
	if least := 10*time.Minute - time.Since(began); left < least-2*time.Second || left > 10*time.Minute {
		t.Errorf("it has %v to live", left)
	}
}

// A log was stamped ahead of the wall clock, which was set back, or belonged to another machine. A
// leader that has just been started reads the stamps when it already leads. Its log time continues
// from there and does not stand still; its time of day is corrected.
func TestALogThatIsAheadOfTheWallClock(t *testing.T) {
	t.Parallel()
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
	n.until("the time of day", func() bool {
		ahead := time.Duration(s.machine.DayMs()-time.Now().UnixMilli()) * time.Millisecond
		n.must(1, "set", "now", "v")
		return near(ahead, 0)
	})
	day := time.Now().Add(200 * time.Millisecond).UnixMilli()
	n.must(1, "set", "soon", "v", "pxat", strconv.FormatInt(day, 10))
	n.until("what is due soon to expire", func() bool { return !n.has(1, "soon") })
	if now := time.Now().UnixMilli(); now < day {
		t.Errorf("it expired %d ms early", day-now)
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

// A key that is made while the leader waits, for other keys or for none, expires when it is due,
// and not only at the leader's next scheduled check.
func TestKeysGoWhenTheyAreDue(t *testing.T) {
	n := newLoneNode(t, 1, command.DefaultSettings)
	ks := n.shards[0].machine.Keyspace()
	inTime := 0
	n.until("eight keys in a row to go in time", func() bool {
		before, set := ks.Stats.Expired.Load(), time.Now()
		n.must(0, "set", "k", "v", "px", "5")
		n.until("the key to go", func() bool { return ks.Stats.Expired.Load() > before })
		if inTime++; time.Since(set) > expireEvery/4 {
			inTime = 0
		}
		return inTime == 8
	})
}

// Names may be so long that those of all due keys do not fit into one entry: then several entries
// delete the keys.
func TestKeysWithLongNamesExpire(t *testing.T) {
	t.Parallel()
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
