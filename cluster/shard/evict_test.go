package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster"
	"lockstep/cluster/raftio"
	"lockstep/cluster/transport"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/sched"
	"lockstep/fsm"
	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/ring"
)

// loneNode is a node with shards of one replica each.
type loneNode struct {
	t        *testing.T
	memory   Memory
	settings atomic.Pointer[command.Settings]
	// tick is the clock that stamps the use of keys.
	tick   atomic.Uint32
	shards []*Shard
	seq    atomic.Uint64

	addr      string
	transport *transport.Transport
	log       *slog.Logger
	// unsettled is true if the node does not know which settings the cluster wants.
	unsettled atomic.Bool
}

func newLoneNode(t *testing.T, shards int, settings command.Settings) *loneNode {
	t.Helper()
	n := &loneNode{t: t}
	n.settings.Store(&settings)
	n.tick.Store(1)
	addr := ports.FreeAddr(t)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	tr, err := transport.Listen(transport.Config{
		Ring: ring.Shared(), Listen: []string{addr}, Advertise: addr, NodeID: "n", ClusterID: func() string { return "c" }, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	n.addr, n.transport, n.log = addr, tr, log
	for i := range shards {
		n.shards = append(n.shards, n.open(uint32(i), t.TempDir()))
	}
	tr.Serve()
	for _, s := range n.shards {
		n.serves(s)
	}
	return n
}

// serves waits until a shard serves.
func (n *loneNode) serves(s *Shard) {
	n.t.Helper()
	n.until("leadership", func() bool { return s.Leads() && s.settings.settledTerm.Load() == s.readyTerm.Load() })
	n.until("the settings", func() bool { return s.machine.Settings() == *n.settings.Load() })
}

var errUnsettled = errors.New("unsettled")

func (n *loneNode) settle(context.Context) error {
	if n.unsettled.Load() {
		return errUnsettled
	}
	return nil
}

func (n *loneNode) open(group uint32, dir string) *Shard {
	s, err := Open(Config{
		Group: GroupConfig{
			ID: group, Dir: dir, LogStore: raftio.StoreBolt, LocalID: "n", LocalAddr: raft.ServerAddress(n.addr), Transport: n.transport,
			HeartbeatMs: 200, ElectionMs: 200, SnapshotEntries: 1 << 30, TrailingEntries: 1 << 20,
			Fatal: func(err error) { n.t.Error(err) }, Log: n.log,
		},
		Machine: fsm.Config{
			Engine: engine.Config{LockSlots: 64}, Sched: sched.Config{Permits: 8}, UseTick: n.tick.Load,
		},
		Node: 1, Boot: 1, ReadMode: func() ReadMode { return ReadLease },
		EntryBytesMax: 1 << 20, OutstandingBytesMax: 64 << 20, OutstandingTxnsMax: 1 << 20,
		Settings: func() command.Settings { return *n.settings.Load() }, Settle: n.settle, Memory: &n.memory, Log: n.log,
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.Close(ctx)
	})
	if err := s.group.Bootstrap([]raft.Server{{ID: "n", Address: raft.ServerAddress(n.addr)}}); err != nil {
		n.t.Fatal(err)
	}
	return s
}

func (n *loneNode) until(what string, ok func() bool) {
	n.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			n.t.Fatalf("%s: did not happen", what)
		}
	}
}

// change puts other settings into effect.
func (n *loneNode) change(change func(*command.Settings)) {
	n.t.Helper()
	settings := *n.settings.Load()
	change(&settings)
	n.settings.Store(&settings)
	for _, s := range n.shards {
		s.SyncSettings(n.t.Context())
		n.until("the settings", func() bool { return s.machine.Settings() == settings })
	}
}

// propose runs one command on a shard. Like a gateway, it asks again if the machine is so busy that
// eviction takes long.
func (n *loneNode) propose(shard int, args ...string) (reply []byte, err error) {
	for deadline := time.Now().Add(patience); ; {
		reply, err = n.proposeOnce(shard, args...)
		if !errors.Is(err, cluster.ErrOverloaded) || time.Now().After(deadline) {
			return reply, err
		}
	}
}

func (n *loneNode) proposeOnce(shard int, args ...string) ([]byte, error) {
	op := fsm.Op{}
	for _, a := range args {
		op.Args = append(op.Args, []byte(a))
	}
	b := fsm.Bundle{Origin: fsm.Origin{Node: 9, Boot: 1}, FirstSeq: n.seq.Add(1), Txns: []fsm.Txn{{Proto: 2, Ops: []fsm.Op{op}}}}
	b.Origin.Lane = uint32(b.FirstSeq % fsm.Lanes)
	answer := make(chan Result, 1)
	n.shards[shard].Propose(Offer{Bundle: fsm.AppendBundle(nil, &b), Txns: b.Txns, Until: time.Now().Add(time.Minute)}, func(r Result) { answer <- r })
	select {
	case r := <-answer:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Replies[0].Bytes, nil
	case <-time.After(patience):
		n.t.Error("a write was never answered")
		return nil, errors.New("no answer")
	}
}

func (n *loneNode) must(shard int, args ...string) {
	n.t.Helper()
	if reply, err := n.propose(shard, args...); err != nil || reply[0] == '-' {
		n.t.Fatalf("%.60q: %s %v", args, reply, err)
	}
}

func (n *loneNode) has(shard int, key string) bool {
	ks := n.shards[shard].machine.Keyspace()
	slot, found := ks.LockSlot([]byte(key)), false
	lookInto(n.shards[shard], slot, func(ks *engine.Keyspace) { found = ks.Find(slot, 0, []byte(key)) != nil })
	return found
}

func (n *loneNode) evicted() (sum int64) {
	for _, s := range n.shards {
		sum += s.machine.Keyspace().Stats.Evicted.Load()
	}
	return sum
}

func settingsOf(policy command.Policy, limitBytes int64) command.Settings {
	s := command.DefaultSettings
	s.EvictionPolicy, s.MemoryBytesMax = int64(policy), limitBytes
	return s
}

// value is about one KiB long.
var value = string(make([]byte, 1000))

const limit = 512 << 10

// TestMemoryStaysBelowTheLimit writes four times the limit in parallel, under each policy that
// evicts, on several shards. No write fails, and the sum exceeds the limit at most by the writes of
// one moment.
func TestMemoryStaysBelowTheLimit(t *testing.T) {
	for policy := command.PolicyAllKeysLRU; policy <= command.PolicyVolatileTTL; policy++ {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			const writers, each = 8, 250
			n := newLoneNode(t, 3, settingsOf(policy, limit))
			var highest atomic.Int64
			var all sync.WaitGroup
			for w := range writers {
				all.Go(func() {
					for i := range each {
						key := fmt.Sprintf("%d:%d", w, i)
						if reply, err := n.propose(i%3, "set", key, value, "px", strconv.Itoa(1_000_000+i)); err != nil || reply[0] != '+' {
							t.Errorf("%s %v", reply, err)
							return
						}
						highest.Store(max(highest.Load(), n.memory.UsedBytes()))
					}
				})
			}
			all.Wait()
			if got := highest.Load(); got > limit+writers*2<<10 || got < limit/2 {
				t.Errorf("%d bytes were used at most, of %d", got, limit)
			}
			if n.evicted() < writers*each*3/5 {
				t.Errorf("%d keys were evicted", n.evicted())
			}
		})
	}
}

func TestWritesAreRefusedWhereNothingCanGo(t *testing.T) {
	n := newLoneNode(t, 2, settingsOf(command.PolicyNone, limit))
	full := false
	for i := 0; i < 2000 && !full; i++ {
		_, err := n.propose(i%2, "set", fmt.Sprint("k", i), value)
		if full = errors.Is(err, cluster.ErrOutOfMemory); err != nil && !full {
			t.Fatal(err)
		}
	}
	if used := n.memory.UsedBytes(); !full || used <= limit || used > limit+4<<10 || !n.memory.Full() {
		t.Fatalf("full: %v, %v, at %d", full, n.memory.Full(), used)
	}
	// Commands that need no memory are not refused, and make room.
	n.must(0, "expire", "k0", "1000")
	n.must(0, "del", "k0", "k2", "k4", "k6")
	n.must(0, "set", "k0", value)
	// Only keys with an expiry may be evicted, and there are none.
	n.change(func(s *command.Settings) { s.EvictionPolicy = int64(command.PolicyVolatileLRU) })
	for i := range 10 {
		if _, err := n.propose(1, "set", fmt.Sprint("more", i), value); err != nil {
			if !errors.Is(err, cluster.ErrOutOfMemory) {
				t.Fatal(err)
			}
			break
		}
	}
	if !n.memory.Full() {
		t.Error("there is room")
	}
	// The only key that may be evicted is on the other shard.
	n.must(0, "expire", "k8", "1000")
	n.until("it has gone for another", func() bool {
		_, err := n.propose(1, "set", "more", value)
		if err != nil && !errors.Is(err, cluster.ErrOutOfMemory) {
			t.Fatal(err)
		}
		return err == nil
	})
	if n.has(0, "k8") {
		t.Error("it has not gone")
	}
	n.change(func(s *command.Settings) { s.MemoryBytesMax = 0 })
	for i := range 20 {
		n.must(1, "set", fmt.Sprint("unlimited", i), value)
	}
}

// TestWhatIsNoKeyCountsToo: expiries, scripts and libraries are part of the counted memory, and are
// subtracted when they go.
func TestWhatIsNoKeyCountsToo(t *testing.T) {
	n := newLoneNode(t, 1, settingsOf(command.PolicyNone, 0))
	const keys = 200
	for i := range keys {
		n.must(0, "set", fmt.Sprint("k", i), "value")
	}
	text := strings.Repeat("x", 50<<10)
	each := func(words ...string) func() {
		return func() {
			for i := range keys {
				n.must(0, append(words[:1:1], append([]string{fmt.Sprint("k", i)}, words[1:]...)...)...)
			}
		}
	}
	once := func(words ...string) func() { return func() { n.must(0, words...) } }
	for _, c := range []struct {
		name         string
		least        int
		comes, leave func()
	}{
		{"expiries", keys * engine.OverheadExpiryBytes, each("pexpire", "10000000"), each("persist")},
		{"a script", len(text), once("script", "load", "return 1 --"+text), once("script", "flush")},
		{"a library", len(text), once("function", "load", "#!lua name=l\nredis.register_function('f', function() end) --"+text), once("function", "flush")},
	} {
		before := n.memory.UsedBytes()
		c.comes()
		used := n.memory.UsedBytes()
		if grown := used - before; grown < int64(c.least) || grown > 10*int64(c.least)+64<<10 {
			t.Errorf("%s: %d bytes, of %d at least", c.name, grown, c.least)
		}
		n.change(func(s *command.Settings) { s.MemoryBytesMax = used - 1 })
		if _, err := n.propose(0, "set", "another", "v"); !errors.Is(err, cluster.ErrOutOfMemory) {
			t.Errorf("%s: beyond the limit a write is told %v", c.name, err)
		}
		c.leave()
		n.must(0, "set", "k0", "value")
		n.change(func(s *command.Settings) { s.MemoryBytesMax = 0 })
		if got := n.memory.UsedBytes(); got != before {
			t.Errorf("%s: %d bytes are used behind it, %d were before", c.name, got, before)
		}
	}
}

// TestThoseThatWaitAreAnswered: writes that wait for memory continue when there is room, leave
// nothing in the counters, and are answered when the shard closes.
func TestThoseThatWaitAreAnswered(t *testing.T) {
	n := newLoneNode(t, 1, settingsOf(command.PolicyNone, 0))
	for i := range 100 {
		n.must(0, "set", fmt.Sprint("k", i), value)
	}
	v := &n.shards[0].evictor
	waits := func(count int) (answers chan error) {
		answers = make(chan error, count)
		for i := range count {
			b := fsm.Bundle{Txns: []fsm.Txn{{Proto: 2, Ops: []fsm.Op{{Args: [][]byte{[]byte("set"), fmt.Append(nil, i), []byte("v")}}}}}}
			c := n.shards[0].proposer.admitted(&Offer{Bundle: fsm.AppendBundle(nil, &b), Txns: b.Txns}, func(r Result) { answers <- r.Err })
			v.wait(c, 0)
		}
		return answers
	}
	for range 2 {
		answers := waits(50)
		for range 50 {
			select {
			case err := <-answers:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Fatal("a write that waits was never answered")
			}
		}
	}
	if v.waitingBytes.Load() != 0 || v.number.Load() != 0 {
		t.Errorf("%d wait with %d bytes", v.number.Load(), v.waitingBytes.Load())
	}
	if txns, bytes := n.shards[0].Outstanding(); txns != 0 || bytes != 0 {
		t.Errorf("%d txns with %d bytes are outstanding", txns, bytes)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := n.shards[0].Close(ctx); err != nil {
		t.Fatal(err)
	}
	late := make(chan error, 1)
	v.shard.admit.force(1, 1)
	v.wait(&bundleCall{bundle: []byte{0}, replies: make([]Reply, 1), done: func(r Result) { late <- r.Err }, admit: &v.shard.admit}, 0)
	if err := <-late; !errors.Is(err, cluster.ErrShuttingDown) {
		t.Error(err)
	}
}

// fill makes the keys from to to-1; the clock of uses shows sec.
func (n *loneNode) fill(prefix string, from, to int, sec uint32, options ...string) {
	n.t.Helper()
	n.tick.Store(sec * engine.UseTicks)
	for i := from; i < to; i++ {
		n.must(0, append([]string{"set", fmt.Sprint(prefix, i), value}, options...)...)
	}
}

// left counts the keys with a prefix that still exist.
func (n *loneNode) left(prefix string, count int) int {
	sum := 0
	for i := range count {
		if n.has(0, fmt.Sprint(prefix, i)) {
			sum++
		}
	}
	return sum
}

func TestLeastRecentlyUsedGoFirst(t *testing.T) {
	n := newLoneNode(t, 1, settingsOf(command.PolicyAllKeysLRU, 0))
	n.change(func(s *command.Settings) { s.EvictionSamples = 10 })
	n.fill("old", 0, 200, 10)
	n.fill("used", 0, 100, 10)
	n.fill("new", 0, 100, 20)
	for i := range 100 {
		n.must(0, "touch", fmt.Sprint("used", i))
	}
	n.change(func(s *command.Settings) { s.MemoryBytesMax = n.memory.UsedBytes() * 5 / 8 })
	n.until("eviction", func() bool { return n.memory.UsedBytes() <= n.settings.Load().MemoryBytesMax })
	old, used, fresh := n.left("old", 200), n.left("used", 100), n.left("new", 100)
	t.Logf("%d of 200 old, %d of 100 used, %d of 100 new are left", old, used, fresh)
	if old > 80 || used < 85 || fresh < 85 {
		t.Error("others went")
	}
}

func TestLeastFrequentlyUsedGoFirst(t *testing.T) {
	s := settingsOf(command.PolicyAllKeysLFU, 0)
	s.LFULogFactor, s.EvictionSamples = 0, 10
	n := newLoneNode(t, 1, s)
	n.fill("often", 0, 100, 60)
	for i := range 100 {
		for range 5 {
			n.must(0, "touch", fmt.Sprint("often", i))
		}
	}
	n.fill("once", 0, 200, 65)
	n.change(func(s *command.Settings) { s.MemoryBytesMax = n.memory.UsedBytes() * 5 / 8 })
	n.until("eviction", func() bool { return n.memory.UsedBytes() <= n.settings.Load().MemoryBytesMax })
	often, once := n.left("often", 100), n.left("once", 200)
	t.Logf("%d of 100 used often and %d of 200 used once are left", often, once)
	if often < 90 || once > 110 {
		t.Error("others went")
	}
}

func TestNearestExpiryGoesFirstAndNothingWithoutOne(t *testing.T) {
	n := newLoneNode(t, 1, settingsOf(command.PolicyVolatileTTL, 0))
	n.fill("forever", 0, 100, 1)
	for i := range 300 {
		// The order is shuffled: 7 and 300 have no common factor.
		n.must(0, "set", fmt.Sprint("k", i*7%300), value, "px", strconv.Itoa(10_000_000+i*7%300*10_000))
	}
	n.change(func(s *command.Settings) { s.MemoryBytesMax = n.memory.UsedBytes() * 5 / 8 })
	// Eviction frees the whole reserve and then stops.
	most := n.settings.Load().MemoryBytesMax
	n.until("eviction", func() bool { return n.memory.UsedBytes() <= most-reserveBytes(most) })
	if got := n.left("forever", 100); got != 100 {
		t.Errorf("%d of 100 that never expire are left", got)
	}
	// The keys that are left are the last ones, without a gap.
	gone := int(n.evicted())
	for i := range 300 {
		if n.has(0, fmt.Sprint("k", i)) != (i >= gone) {
			t.Errorf("%d went; k%d: %v", gone, i, n.has(0, fmt.Sprint("k", i)))
		}
	}
	if gone < 100 {
		t.Errorf("%d went", gone)
	}
}

func TestVolatilePoliciesSpareKeysWithoutExpiry(t *testing.T) {
	for _, policy := range []command.Policy{command.PolicyVolatileLRU, command.PolicyVolatileLFU, command.PolicyVolatileRandom} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			n := newLoneNode(t, 1, settingsOf(policy, 0))
			n.fill("forever", 0, 100, 1)
			n.fill("k", 0, 200, 2, "ex", "10000")
			n.must(0, "rpush", "list", value)
			n.change(func(s *command.Settings) { s.MemoryBytesMax = n.memory.UsedBytes() / 2 })
			n.until("eviction", func() bool { return n.memory.UsedBytes() <= n.settings.Load().MemoryBytesMax })
			if got := n.left("forever", 100); got != 100 || !n.has(0, "list") {
				t.Errorf("%d of 100 that never expire are left", got)
			}
			if got := n.left("k", 200); got > 60 {
				t.Errorf("%d of 200 are left", got)
			}
		})
	}
}
