// Package prototest is for the tests of package proto: it has a node whose clients are served by
// the real server, on state machines with a log in memory (Node), and a comparison with
// redis-server (Compare).
package prototest

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
	"lockstep/engine"
	"lockstep/engine/reply"
	"lockstep/engine/sched"
	"lockstep/fsm"
	"lockstep/ground/caught"
	"lockstep/proto/acl"
	"lockstep/proto/admin"
	"lockstep/proto/client"
	"lockstep/proto/pubsub"
	"lockstep/proto/resp"
	"lockstep/proto/server"
	"lockstep/proto/stats"
	"lockstep/proto/tracking"
	"lockstep/tests/kit/respconn"
)

const testGroup = 7

// The server gives up clients that do not read. On a busy machine that could happen before the
// event that a test waits for, so these tests turn it off.
func init() { resp.DefaultLimits.StallTimeout = time.Hour }

// Machines is an Executor that runs calls on real state machines, with a log in memory. Key slots
// are distributed to the machines in turn.
type Machines struct {
	All []*machine
	// Fail, when set, is the error of every call that would be logged.
	Fail atomic.Pointer[error]
	// Lost, when set, decides the error of each call for a shard. The call runs if it returns nil.
	Lost atomic.Pointer[func(shard int, c *cluster.Call) error]
	// Batches counts calls of Do.
	Batches atomic.Int64
	// RepliesMax, when set, is the total length of replies after which later reads are left
	// unanswered, as a shard does.
	RepliesMax atomic.Int64
	// OnShard, when set, is called when a caller asks which shard owns a slot.
	OnShard atomic.Pointer[func()]
	// Tracking receives the changes of the machines.
	Tracking *tracking.Table
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

func newMachines(t testing.TB, n int) *Machines {
	e := &Machines{Tracking: tracking.New(1, 1000)}
	for i := range n {
		m := &machine{got: map[fsm.EntryID]*receiver{}}
		m.m = fsm.New(fsm.Config{Group: testGroup, Tracker: e.Tracking.Shard(i), Engine: engine.Config{LockSlots: 64}, Sink: m, Sched: sched.Config{Permits: 4, Workers: 2}})
		t.Cleanup(m.m.Close)
		e.All = append(e.All, m)
	}
	return e
}

// Machine is the machine of a shard.
func (e *Machines) Machine(shard int) *fsm.Machine { return e.All[shard].m }

func (e *Machines) Shards() int { return len(e.All) }

// Indexes and Await are trivial: without replicas nothing is ever behind.
func (e *Machines) Indexes(_ context.Context, shards []int) ([]uint64, error) {
	indexes := make([]uint64, len(shards))
	for i, shard := range shards {
		indexes[i] = e.All[shard].m.Taken()
	}
	return indexes, nil
}

func (e *Machines) Await(ctx context.Context, floors map[int]uint64) bool {
	for shard, index := range floors {
		if e.All[shard].m.WaitTaken(ctx, index) != nil {
			return false
		}
	}
	return true
}

func (e *Machines) ShardOfSlot(slot uint16) int {
	if f := e.OnShard.Load(); f != nil {
		(*f)()
	}
	return int(slot) % len(e.All)
}

func (e *Machines) Do(ctx context.Context, calls []*cluster.Call) {
	e.Batches.Add(1)
	size := int64(0)
	for _, c := range calls {
		if most := e.RepliesMax.Load(); most > 0 && size > most && c.ReadOnly {
			continue
		}
		shard := c.Shard
		for i, slot := range c.Slots {
			if s := int(slot) % len(e.All); i > 0 && s != shard {
				shard = -1
				break
			} else {
				shard = s
			}
		}
		if shard < 0 || shard >= len(e.All) {
			c.Err = cluster.ErrCrossSlot
			continue
		}
		e.one(ctx, shard, c)
		size += int64(len(c.Reply))
	}
}

func (e *Machines) one(ctx context.Context, shard int, c *cluster.Call) {
	m := e.All[shard]
	if lost := e.Lost.Load(); lost != nil {
		if c.Err = (*lost)(shard, c); c.Err != nil {
			return
		}
	}
	if c.ReadOnly {
		c.Reply, c.Err = m.m.Read(ctx, &c.Txn, fsm.ReadOptions{Uncached: true})
		return
	}
	if fail := e.Fail.Load(); fail != nil {
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
		e.Tracking.Sent(shard, fsm.TxnID{Origin: origin, Seq: m.index}, c.Client)
	}
	b.Add(fsm.AppendBundle(nil, &fsm.Bundle{Origin: origin, FirstSeq: m.index, AckedBelow: m.index, Txns: []fsm.Txn{c.Txn}}))
	if c.Err = m.m.Apply(m.index, b.Finish()); c.Err != nil {
		return
	}
	r.left.Wait()
	delete(m.got, id)
	c.Reply = r.replies[0]
}

// World is the node that the commands of these tests see.
type World struct {
	Messages   *pubsub.Hub
	Configured atomic.Pointer[client.Settings]
	mu         sync.Mutex
	Config     map[string]string
	Stopped    atomic.Bool
	ShownMode  atomic.Value
	Full       atomic.Bool
	Links      []admin.ClusterLink
	// Elsewhere holds the addresses of the shards that another node leads.
	Elsewhere sync.Map
	// Nodes and Owners are shown by the CLUSTER commands, unless the node is Unaware of its
	// cluster.
	Nodes   []admin.ClusterNode
	Owners  []admin.SlotOwner
	Unaware atomic.Bool
	// Copied is what SYNC sends. With nil, SYNC fails.
	Copied []byte
	// OnHub and OnSettings, when set, are called when a caller asks for these, OnReload when the
	// data is to be loaded again.
	OnHub, OnSettings, OnReload atomic.Pointer[func()]
}

// Moved implements client.Redirector.
func (w *World) Moved(shard int, stale, _ bool) string {
	addr, _ := w.Elsewhere.Load(shard)
	if text, ok := addr.(string); ok && !stale {
		return text
	}
	return ""
}

func (w *World) Settings() *client.Settings {
	if f := w.OnSettings.Load(); f != nil {
		(*f)()
	}
	return w.Configured.Load()
}

// Set changes a setting.
func (w *World) Set(change func(*client.Settings)) {
	s := *w.Configured.Load()
	change(&s)
	w.Configured.Store(&s)
}

func (w *World) ConfigGet(patterns []string) [][2]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var pairs [][2]string
	for _, p := range patterns {
		if v, ok := w.Config[p]; ok {
			pairs = append(pairs, [2]string{p, v})
		}
	}
	return pairs
}

func (w *World) ConfigSet(pairs [][2]string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range pairs {
		w.Config[p[0]] = p[1]
		if p[0] == "requirepass" {
			w.Set(func(s *client.Settings) { s.RequirePass = p[1] })
		}
	}
	return nil
}

// Block retries until the call succeeds, because there are no waiters here.
func (m *Machines) Block(ctx context.Context, timeout time.Duration, call *cluster.Call, waits func()) bool {
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

func (w *World) ResetStats() {}
func (w *World) Info(sections []string) string {
	if len(sections) == 1 && sections[0] == "panic" {
		panic("asked for")
	}
	return "# Server\r\n"
}

// Hub and Publish implement client.Channels for a node that is alone.
func (w *World) Hub() *pubsub.Hub {
	if f := w.OnHub.Load(); f != nil {
		(*f)()
	}
	return w.Messages
}
func (w *World) Publish(kind pubsub.Kind, channel, payload []byte, later *pubsub.Later) func() int {
	n := w.Messages.PublishLater(kind, string(channel), bytes.Clone(payload), later)
	return func() int { return n }
}

// AwaitChanges and AwaitEvents implement client.Feeds.
func (w *World) AwaitChanges() func()                            { return func() {} }
func (w *World) AwaitEvents()                                    {}
func (w *World) Role() string                                    { return "master" }
func (w *World) Mode() string                                    { return w.ShownMode.Load().(string) }
func (w *World) Replicas() [][3]string                           { return nil }
func (w *World) Offset() int64                                   { return 0 }
func (w *World) MemoryFull() bool                                { return w.Full.Load() }
func (w *World) Synced() int                                     { return 0 }
func (w *World) ClusterInfo() string                             { return "cluster_state:ok\r\n" }
func (w *World) ClusterNodes() []admin.ClusterNode               { return w.Nodes }
func (w *World) ClusterLinks() []admin.ClusterLink               { return w.Links }
func (w *World) ShardID() string                                 { return strings.Repeat("5", 40) }
func (w *World) SlotOwners() []admin.SlotOwner                   { return w.Owners }
func (w *World) KnowsCluster() bool                              { return !w.Unaware.Load() }
func (w *World) MyID() string                                    { return "0000000000000000000000000000000000000001" }
func (w *World) StatusJSON(context.Context) ([]byte, error)      { return []byte("{}"), nil }
func (w *World) ExamineJSON(context.Context) ([]byte, error)     { return []byte("[]"), nil }
func (w *World) PlacementJSON(context.Context) ([]byte, error)   { return []byte("{}"), nil }
func (w *World) Order(context.Context, []string) (string, error) { return "done", nil }
func (w *World) LockSlots() []admin.LockSlot                     { return nil }
func (w *World) SetActiveExpire(bool)                            {}
func (w *World) BeginSnapshot(bool) (func() error, error) {
	return func() error { return nil }, nil
}

// Reload implements admin.Process.
func (w *World) Reload() error {
	if f := w.OnReload.Load(); f != nil {
		(*f)()
	}
	return nil
}
func (w *World) LastSnapshotUnix() int64 { return 1 }
func (w *World) Shutdown()               { w.Stopped.Store(true) }

// Node is a server under test.
type Node struct {
	*World
	Exec      *Machines
	Starter   *Starter
	Stats     *stats.Stats
	Registry  *client.Registry
	Server    *server.Server
	Panics    *caught.Panics
	Addr      string
	Users     *acl.Memory
	Clients   atomic.Int64
	Protected atomic.Bool
}

// BackupBegin implements admin.Backups. It works only for SYNC.
func (w *World) BackupBegin(context.Context) (*admin.Backup, error) {
	if w.Copied == nil {
		return nil, errNoBackups
	}
	return &admin.Backup{}, nil
}

// BackupNext implements admin.Backups.
func (w *World) BackupNext(context.Context, string, uint64) ([]byte, int64, error) {
	return nil, 0, errNoBackups
}

// BackupEnd implements admin.Backups.
func (w *World) BackupEnd(context.Context, string, uint64) error { return errNoBackups }

// BackupDone implements admin.Backups.
func (w *World) BackupDone(context.Context, int64) error { return errNoBackups }

// BackupStream implements admin.Backups.
func (w *World) BackupStream(_ context.Context, _ *admin.Backup, to io.Writer) error {
	_, err := to.Write(w.Copied)
	return err
}

var errNoBackups = errors.New("no backups here")

// StartNode serves on a free port until the test ends.
func StartNode(t testing.TB, shards int) *Node {
	t.Helper()
	n := &Node{
		World: &World{Config: map[string]string{}, Messages: pubsub.New()}, Exec: newMachines(t, shards),
		Stats: stats.New(), Registry: client.NewRegistry(), Panics: caught.New(slog.New(slog.NewTextHandler(io.Discard, nil))),
	}
	n.Starter = &Starter{Machines: n.Exec}
	n.Configured.Store(&client.Settings{
		SlowerThanUs: 10_000_000, SlowlogLen: 128, ACLLogLen: 128, DebugFor: "no",
		BulkBytesMax: 512 << 20, QueryBytesMax: 1 << 30, ServerVersion: "0", RedisVersion: "7.0.15",
	})
	n.Users = &acl.Memory{RequirePass: func() string { return n.Settings().RequirePass }}
	n.Clients.Store(100)
	n.ShownMode.Store("standalone")
	look := admin.Node{
		Config: n, Facts: n, Replication: n, Cluster: n, Identity: n, Operator: n, Backups: n, Process: n, Memory: n,
		Subscriptions: n, Stats: n.Stats, Registry: n.Registry,
	}
	n.Server = server.New(server.Config{
		Backend: &client.Backend{
			Executor: n.Starter, Source: n, Access: n.Users, Redirector: n, Greeter: n, Memory: n, Channels: n,
			Feeds: n, Handlers: client.NewTable(look.Handlers()...), Tracking: n.Exec.Tracking,
		},
		Stats: n.Stats, Registry: n.Registry, Panics: n.Panics, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		MaxClients:    func() int { return int(n.Clients.Load()) },
		ProtectedMode: n.Protected.Load,
		KeepAlive:     func() time.Duration { return 0 },
	})
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.Addr = l.Addr().String()
	n.Server.Serve(l)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		n.Server.Close(ctx)
	})
	return n
}

func Dial(t testing.TB, addr string) *respconn.Conn {
	t.Helper()
	c, err := respconn.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Do runs a command and returns its reply in readable form.
func Do(t testing.TB, c *respconn.Conn, args ...string) string {
	t.Helper()
	v, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return v.String()
}

// Until waits for a condition. Its limit is long enough for a busy machine.
func Until(t testing.TB, what string, ok func() bool) {
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

func (w *World) MemoryFacts() admin.MemoryFacts {
	return admin.MemoryFacts{
		UsedBytes: 8 << 20, PeakBytes: 9 << 20, OverheadBytes: 1 << 20, AllocatedBytes: 10 << 20, ActiveBytes: 11 << 20,
		ResidentBytes: 12 << 20, RSSBytes: 13 << 20, ClientBytes: 1000, Keys: 10,
		Databases: []admin.DatabaseMemory{{DB: 0, Keys: 10, Volatile: 2, MainBytes: 480, ExpiryBytes: 64}},
	}
}
func (w *World) ConfigRewrite() error {
	return errors.New("ERR The server is running without a config file")
}
func (w *World) FreeMemory()         {}
func (w *World) MallocStats() string { return "bytes\n" }

// Once makes a hook that runs f only the first time.
func Once(f func()) *func() {
	ran := false
	hook := func() {
		if !ran {
			ran = true
			f()
		}
	}
	return &hook
}
