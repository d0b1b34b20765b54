// Package alone runs the engine without a cluster, in this process: one state machine with a log in
// memory, behind the same connections, parser and settings as in a node. There is no Raft, no disk
// and no other node, so a failure here is a failure of the engine.
package alone

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/sched"
	"lockstep/engine/version"
	"lockstep/fsm"
	"lockstep/node/config"
	"lockstep/proto/acl"
	"lockstep/proto/admin"
	"lockstep/proto/client"
	"lockstep/proto/pubsub"
	"lockstep/proto/server"
	"lockstep/proto/stats"
)

// Serve serves clients until the test ends, and returns the address.
func Serve(t testing.TB) string {
	t.Helper()
	cfg, _, err := config.Load([]string{"--enable-debug-command", "local"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	around := &surroundings{cfg: cfg, hub: pubsub.New()}
	a := &shard{wanted: around.engine}
	a.machine = fsm.New(fsm.Config{
		Group: group, Engine: engine.Config{LockSlots: 64}, Sched: sched.Config{Permits: 4, Workers: 2}, Sink: a, Observer: a,
		// Accesses are recorded, with a clock that stands still.
		UseTick: func() uint32 { return 1 << 31 },
	})
	node := admin.Node{
		Config: around, Facts: around, Replication: around, Cluster: around, Operator: around, Subscriptions: around,
		Stats: stats.New(), Registry: client.NewRegistry(),
	}
	s := server.New(server.Config{
		Backend: &client.Backend{
			Executor: a, Source: around, Redirector: around, Greeter: around, Memory: around, Channels: around, Feeds: around,
			Access:   &acl.Memory{RequirePass: func() string { return cfg.Current().RequirePass }},
			Handlers: client.NewTable(node.Handlers()...),
			Programs: func(int) *command.Programs { return a.machine.Programs() },
		},
		Stats: node.Stats, Registry: node.Registry, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		MaxClients:    func() int { return around.cfg.Current().MaxClients },
		ProtectedMode: func() bool { return false },
		KeepAlive:     func() time.Duration { return 0 },
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(l)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		s.Close(ctx)
		a.machine.Close()
	})
	return l.Addr().String()
}

// surroundings implements the parts of a node that an engine alone has. The other parts are nil: a
// command that needs one panics, and the server recovers and closes the connection, so the script
// fails.
type surroundings struct {
	admin.Facts
	admin.ClusterView
	client.Redirector
	admin.Operator
	cfg *config.Config
	hub *pubsub.Hub
}

// Settings implements client.Source.
func (s *surroundings) Settings() *client.Settings {
	c := s.cfg.Current()
	return &client.Settings{
		RequirePass: c.RequirePass, SlowerThanUs: c.SlowlogLogSlowerThan, SlowlogLen: int(c.SlowlogMaxLen),
		ACLLogLen: int(c.ACLLogMaxLen), PubSubAllChannels: c.ACLPubSubDefault == config.HearAll, DebugFor: string(c.EnableDebugCommand), BulkBytesMax: int(c.ProtoMaxBulkLen), QueryBytesMax: int(c.ClientQueryBufferLimit),
		ServerVersion: "0", RedisVersion: "7.0.15",
	}
}

// engine returns the settings of the engine.
func (s *surroundings) engine() command.Settings {
	c := s.cfg.Current()
	e := c.Engine
	e.ValueBytesMax = c.ProtoMaxBulkLen
	e.EvictionPolicy = int64(command.PolicyNamed(string(c.MaxMemoryPolicy)))
	e.At(version.Known())
	return e
}

// ConfigGet implements admin.ConfigStore.
func (s *surroundings) ConfigGet(patterns []string) [][2]string {
	var pairs [][2]string
	for _, p := range s.cfg.Get(patterns...) {
		pairs = append(pairs, [2]string{p.Name, p.Value})
	}
	return pairs
}

// ConfigSet implements admin.ConfigStore.
func (s *surroundings) ConfigSet(pairs [][2]string) error {
	list := make([]config.Pair, len(pairs))
	for i, p := range pairs {
		list[i] = config.Pair{Name: strings.ToLower(p[0]), Value: p[1]}
	}
	return s.cfg.Set(list)
}

// ResetStats implements admin.ConfigStore.
func (s *surroundings) ResetStats() {}

// ConfigRewrite implements admin.ConfigStore: there is no file.
func (s *surroundings) ConfigRewrite() error {
	return errors.New("The server is running without a config file")
}

// Mode implements client.Greeter, and MemoryFull implements client.Memory.
func (s *surroundings) Mode() string     { return "cluster" }
func (s *surroundings) MemoryFull() bool { return false }

// Role and the methods below implement admin.Replication for the only node.
func (s *surroundings) Role() string          { return "master" }
func (s *surroundings) Replicas() [][3]string { return nil }
func (s *surroundings) Offset() int64         { return 0 }
func (s *surroundings) Synced() int           { return 0 }

// Hub and Publish implement client.Channels for the only node.
func (s *surroundings) Hub() *pubsub.Hub { return s.hub }
func (s *surroundings) Publish(kind pubsub.Kind, channel, payload []byte, later *pubsub.Later) func() int {
	n := s.hub.PublishLater(kind, string(channel), append([]byte(nil), payload...), later)
	return func() int { return n }
}

// AwaitChanges and AwaitEvents implement client.Feeds for a node that has all replicas.
func (s *surroundings) AwaitChanges() func() { return func() {} }
func (s *surroundings) AwaitEvents()         {}
