package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/caught"
	"lockstep/engine"
	"lockstep/engine/reply"
	"lockstep/engine/sched"
	"lockstep/fsm"
	"lockstep/proto/acl"
	"lockstep/proto/client"
	"lockstep/proto/pubsub"
	"lockstep/proto/resp"
	"lockstep/proto/server"
	"lockstep/proto/tracking"
	"lockstep/tests/respconn"
)

const testGroup = 7

// Clients that read nothing are given up for that after a while: on a busy machine
// before what a test waits for has come.
func init() { resp.DefaultLimits.StallTimeout = time.Hour }

// machines is an Executor that runs calls on real state machines, with a log
// that exists in memory alone. Key slots are dealt to the machines in turn.
type machines struct {
	all []*machine
	// fail, when set, is the outcome of every call that would be logged.
	fail atomic.Pointer[error]
	// lost, when set, says what becomes of a call for a shard instead.
	lost atomic.Pointer[func(shard int, c *cluster.Call) error]
	// batches counts calls of Do.
	batches atomic.Int64
	// repliesMax, when set, is the length of replies behind which reads are left for
	// later, as by a shard.
	repliesMax atomic.Int64
	// onShard, when set, is called when somebody asks which shard owns a slot.
	onShard atomic.Pointer[func()]
	// tracking hears of what the machines change.
	tracking *tracking.Table
}

type machine struct {
	mu    sync.Mutex
	m     *fsm.Machine
	index uint64
	got   map[fsm.EntryID]*receiver
}

type receiver struct {
	replies [][]byte
	left    sync.WaitGroup
}

func (r *receiver) Deliver(txn int, reply []byte, _ fsm.Outcome, _ int64) {
	r.replies[txn] = reply
	r.left.Done()
}

// Receiver implements fsm.Sink.
func (m *machine) Receiver(id fsm.EntryID) fsm.Receiver { return m.got[id] }

func newMachines(t testing.TB, n int) *machines {
	e := &machines{tracking: tracking.New(1, 1000)}
	for i := range n {
		m := &machine{got: map[fsm.EntryID]*receiver{}}
		m.m = fsm.New(fsm.Config{Group: testGroup, Tracker: e.tracking.Shard(i), Engine: engine.Config{LockSlots: 64}, Sink: m, Sched: sched.Config{Permits: 4, Workers: 2}})
		t.Cleanup(m.m.Close)
		e.all = append(e.all, m)
	}
	return e
}

func (e *machines) Shards() int { return len(e.all) }

// Indexes and Await: there are no replicas here, and so nothing is ever behind.
func (e *machines) Indexes(_ context.Context, shards []int) ([]uint64, error) {
	indexes := make([]uint64, len(shards))
	for i, shard := range shards {
		indexes[i] = e.all[shard].m.Taken()
	}
	return indexes, nil
}

func (e *machines) Await(ctx context.Context, floors map[int]uint64) bool {
	for shard, index := range floors {
		if e.all[shard].m.WaitTaken(ctx, index) != nil {
			return false
		}
	}
	return true
}

func (e *machines) ShardOfSlot(slot uint16) int {
	if f := e.onShard.Load(); f != nil {
		(*f)()
	}
	return int(slot) % len(e.all)
}

func (e *machines) Do(ctx context.Context, calls []*cluster.Call) {
	e.batches.Add(1)
	size := int64(0)
	for _, c := range calls {
		if most := e.repliesMax.Load(); most > 0 && size > most && c.ReadOnly {
			continue
		}
		shard := c.Shard
		for i, slot := range c.Slots {
			if s := int(slot) % len(e.all); i > 0 && s != shard {
				shard = -1
				break
			} else {
				shard = s
			}
		}
		if shard < 0 || shard >= len(e.all) {
			c.Err = cluster.ErrCrossSlot
			continue
		}
		e.one(ctx, shard, c)
		size += int64(len(c.Reply))
	}
}

func (e *machines) one(ctx context.Context, shard int, c *cluster.Call) {
	m := e.all[shard]
	if lost := e.lost.Load(); lost != nil {
		if c.Err = (*lost)(shard, c); c.Err != nil {
			return
		}
	}
	if c.ReadOnly {
		c.Reply, c.Err = m.m.Read(ctx, &c.Txn, fsm.ReadOptions{Uncached: true})
		return
	}
	if fail := e.fail.Load(); fail != nil {
		c.Err = *fail
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.index++
	id := fsm.EntryID{Node: 1, Boot: 1, N: m.index}
	r := &receiver{replies: make([][]byte, 1)}
	r.left.Add(1)
	m.got[id] = r
	b := fsm.NewEntryBuilder(testGroup, id, time.Now().UnixMilli(), 128)
	origin := fsm.Origin{Node: 1, Boot: 1}
	if c.Client != 0 {
		e.tracking.Sent(shard, fsm.TxnID{Origin: origin, Seq: m.index}, c.Client)
	}
	b.Add(fsm.AppendBundle(nil, &fsm.Bundle{Origin: origin, FirstSeq: m.index, AckedBelow: m.index, Txns: []fsm.Txn{c.Txn}}))
	if c.Err = m.m.Apply(m.index, b.Finish()); c.Err != nil {
		return
	}
	r.left.Wait()
	delete(m.got, id)
	c.Reply = r.replies[0]
}

// world is the node that the commands of these tests see.
type world struct {
	hub      *pubsub.Hub
	settings atomic.Pointer[client.Settings]
	mu       sync.Mutex
	config   map[string]string
	stopped  atomic.Bool
	mode     atomic.Value
	full     atomic.Bool
	links    []client.ClusterLink
	// elsewhere holds the addresses of the shards that another node leads.
	elsewhere sync.Map
	// nodes and owners are what the CLUSTER commands tell of, if the node is not
	// unaware of its cluster.
	nodes   []client.ClusterNode
	owners  []client.SlotOwner
	unaware atomic.Bool
	// copied is what SYNC sends; nil: nothing can be copied.
	copied []byte
	// onHub and onSettings, when set, are called when somebody looks for those, onReload
	// when the data is to be loaded again.
	onHub, onSettings, onReload atomic.Pointer[func()]
}

// Moved implements client.ClusterView.
func (w *world) Moved(shard int, stale, _ bool) string {
	addr, _ := w.elsewhere.Load(shard)
	if text, ok := addr.(string); ok && !stale {
		return text
	}
	return ""
}

func (w *world) Settings() *client.Settings {
	if f := w.onSettings.Load(); f != nil {
		(*f)()
	}
	return w.settings.Load()
}

// set changes a setting.
func (w *world) set(change func(*client.Settings)) {
	s := *w.settings.Load()
	change(&s)
	w.settings.Store(&s)
}

func (w *world) ConfigGet(patterns []string) [][2]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var pairs [][2]string
	for _, p := range patterns {
		if v, ok := w.config[p]; ok {
			pairs = append(pairs, [2]string{p, v})
		}
	}
	return pairs
}

func (w *world) ConfigSet(pairs [][2]string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range pairs {
		w.config[p[0]] = p[1]
		if p[0] == "requirepass" {
			w.set(func(s *client.Settings) { s.RequirePass = p[1] })
		}
	}
	return nil
}

// Block tries again and again: there are no waiters here.
func (m *machines) Block(ctx context.Context, timeout time.Duration, call *cluster.Call, waits func()) bool {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		attempt := *call
		m.Do(context.Background(), []*cluster.Call{&attempt})
		if !reply.IsNull(attempt.Reply) {
			call.Reply, call.Err = attempt.Reply, attempt.Err
			return true
		}
		if waits != nil {
			waits()
			waits = nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

func (w *world) ResetStats() {}
func (w *world) Info(sections []string) string {
	if len(sections) == 1 && sections[0] == "panic" {
		panic("asked for")
	}
	return "# Server\r\n"
}

// Hub and Publish implement client.Channels for a node that is alone.
func (w *world) Hub() *pubsub.Hub {
	if f := w.onHub.Load(); f != nil {
		(*f)()
	}
	return w.hub
}
func (w *world) Publish(kind pubsub.Kind, channel, payload []byte, later *pubsub.Later) func() int {
	n := w.hub.PublishLater(kind, string(channel), bytes.Clone(payload), later)
	return func() int { return n }
}

// AwaitChanges and AwaitEvents implement client.Feeds.
func (w *world) AwaitChanges() func()                            { return func() {} }
func (w *world) AwaitEvents()                                    {}
func (w *world) Role() string                                    { return "master" }
func (w *world) Mode() string                                    { return w.mode.Load().(string) }
func (w *world) Replicas() [][3]string                           { return nil }
func (w *world) Offset() int64                                   { return 0 }
func (w *world) MemoryFull() bool                                { return w.full.Load() }
func (w *world) Synced() int                                     { return 0 }
func (w *world) ClusterInfo() string                             { return "cluster_state:ok\r\n" }
func (w *world) ClusterNodes() []client.ClusterNode              { return w.nodes }
func (w *world) ClusterLinks() []client.ClusterLink              { return w.links }
func (w *world) ShardID() string                                 { return strings.Repeat("5", 40) }
func (w *world) SlotOwners() []client.SlotOwner                  { return w.owners }
func (w *world) KnowsCluster() bool                              { return !w.unaware.Load() }
func (w *world) MyID() string                                    { return "0000000000000000000000000000000000000001" }
func (w *world) StatusJSON(context.Context) ([]byte, error)      { return []byte("{}"), nil }
func (w *world) ExamineJSON(context.Context) ([]byte, error)     { return []byte("[]"), nil }
func (w *world) PlacementJSON(context.Context) ([]byte, error)   { return []byte("{}"), nil }
func (w *world) Order(context.Context, []string) (string, error) { return "done", nil }
func (w *world) LockSlots() []client.LockSlot                    { return nil }
func (w *world) SetActiveExpire(bool)                            {}
func (w *world) BeginSnapshot(bool) (func() error, error) {
	return func() error { return nil }, nil
}

// Reload implements client.Process.
func (w *world) Reload() error {
	if f := w.onReload.Load(); f != nil {
		(*f)()
	}
	return nil
}
func (w *world) LastSnapshotUnix() int64 { return 1 }
func (w *world) Shutdown()               { w.stopped.Store(true) }

// node is a server under test.
type node struct {
	*world
	exec      *machines
	starter   *starter
	stats     *client.Stats
	registry  *client.Registry
	server    *server.Server
	panics    *caught.Panics
	addr      string
	users     *acl.Memory
	clients   atomic.Int64
	protected atomic.Bool
}

// BackupBegin implements client.Backups: there are none here but for SYNC.
func (w *world) BackupBegin(context.Context) (*client.Backup, error) {
	if w.copied == nil {
		return nil, errNoBackups
	}
	return &client.Backup{}, nil
}

// BackupNext implements client.Backups.
func (w *world) BackupNext(context.Context, string, uint64) ([]byte, int64, error) {
	return nil, 0, errNoBackups
}

// BackupEnd implements client.Backups.
func (w *world) BackupEnd(context.Context, string, uint64) error { return errNoBackups }

// BackupDone implements client.Backups.
func (w *world) BackupDone(context.Context, int64) error { return errNoBackups }

// BackupStream implements client.Backups.
func (w *world) BackupStream(_ context.Context, _ *client.Backup, to io.Writer) error {
	_, err := to.Write(w.copied)
	return err
}

var errNoBackups = errors.New("no backups here")

// startNode serves on a free port until the test ends.
func startNode(t testing.TB, shards int) *node {
	t.Helper()
	n := &node{world: &world{config: map[string]string{}, hub: pubsub.New()}, exec: newMachines(t, shards), stats: client.NewStats(), registry: client.NewRegistry(), panics: caught.New(slog.New(slog.NewTextHandler(io.Discard, nil)))}
	n.starter = &starter{machines: n.exec}
	n.settings.Store(&client.Settings{
		SlowerThanUs: 10_000_000, SlowlogLen: 128, ACLLogLen: 128, DebugFor: "no",
		BulkBytesMax: 512 << 20, QueryBytesMax: 1 << 30, ServerVersion: "0", RedisVersion: "7.0.15",
	})
	n.users = &acl.Memory{RequirePass: func() string { return n.Settings().RequirePass }}
	n.clients.Store(100)
	n.mode.Store("standalone")
	n.server = server.New(server.Config{
		Backend: &client.Backend{Executor: n.starter, Source: n, ConfigStore: n, Facts: n, Replication: n, ClusterView: n, Identity: n, Operator: n, Backups: n, Process: n, Introspection: n, Channels: n, Feeds: n, Tracking: n.exec.tracking,
			Access: n.users},
		Stats: n.stats, Registry: n.registry, Panics: n.panics, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		MaxClients:    func() int { return int(n.clients.Load()) },
		ProtectedMode: n.protected.Load,
		KeepAlive:     func() time.Duration { return 0 },
	})
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.addr = l.Addr().String()
	n.server.Serve(l)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		n.server.Close(ctx)
	})
	return n
}

func dial(t testing.TB, addr string) *respconn.Conn {
	t.Helper()
	c, err := respconn.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// do runs a command and returns its reply in readable form.
func do(t testing.TB, c *respconn.Conn, args ...string) string {
	t.Helper()
	v, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return v.String()
}

// until waits for a condition; only what hangs takes so long, on a busy machine, too.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: did not happen", what)
		}
		<-tick.C
	}
}

type settings = client.Settings
