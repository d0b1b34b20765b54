package node

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"lockstep/node/config"
	"lockstep/node/status"
	"lockstep/proto/client"
	"lockstep/proto/server"
)

// front is the client port and what stands behind it.
type front struct {
	n        *Node
	server   *server.Server
	stats    *client.Stats
	registry *client.Registry
	settings atomic.Pointer[client.Settings]
	rates    rates
}

// openFront listens for clients.
func (n *Node) openFront(context.Context) error {
	f := &front{n: n, stats: client.NewStats(), registry: client.NewRegistry()}
	n.front = f
	f.refresh(n.cfg.Current())
	for _, name := range []string{
		"requirepass", "client-output-buffer-limit", "active-expire", "slowlog-log-slower-than", "slowlog-max-len", "proto-max-bulk-len", "client-query-buffer-limit", "timeout", "routing",
	} {
		n.cfg.OnChange(name, f.refresh)
	}
	backend := &client.Backend{Executor: n.router, Source: f, ConfigStore: configStore{n}, Facts: n, ClusterView: n, Operator: n}
	f.server = server.New(server.Config{
		Backend: backend, Stats: f.stats, Registry: f.registry, Log: n.log,
		MaxClients: func() int { return n.cfg.Current().MaxClients },
		ProtectedMode: func() bool {
			s := n.cfg.Current()
			return s.ProtectedMode && s.RequirePass == ""
		},
		KeepAlive: func() time.Duration { return time.Duration(n.cfg.Current().TCPKeepaliveSeconds) * time.Second },
	})
	s := n.cfg.Current()
	for _, addr := range listenAddresses(s.Bind, s.Port) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return inWords(err, "port", s.Port)
		}
		f.server.Serve(l)
	}
	go f.rates.run(n.ctx, f.stats)
	n.log.Info("ready for clients", "port", s.Port)
	return nil
}

func (f *front) stopAccepting() {
	if f.server != nil {
		f.server.StopAccepting()
	}
}

func (f *front) close(ctx context.Context) {
	if f.server != nil {
		f.server.Close(ctx)
	}
}

// Settings implements client.Source.
func (f *front) Settings() *client.Settings { return f.settings.Load() }

// refresh takes the settings over that clients look at.
func (f *front) refresh(s *config.Settings) {
	f.n.SetActiveExpire(s.ActiveExpire)
	for _, sh := range f.n.shards {
		go sh.SyncSettings(f.n.ctx)
	}
	normal := s.ClientOutputBufferLimits[config.NormalClient]
	f.settings.Store(&client.Settings{
		RequirePass: s.RequirePass, SlowerThanUs: s.SlowlogLogSlowerThan, SlowlogLen: int(s.SlowlogMaxLen),
		DebugFor: string(s.EnableDebugCommand), BulkBytesMax: int(s.ProtoMaxBulkLen), QueryBytesMax: int(s.ClientQueryBufferLimit),
		OutputBytesMax: int(normal.HardBytes), OutputSoftBytesMax: int(normal.SoftBytes), OutputSoftSec: normal.SoftSeconds,
		IdleTimeoutSec: s.TimeoutSeconds, Redirect: s.Routing == config.RouteRedirect,
		ServerVersion: Version, RedisVersion: RedisVersion,
	})
}

// fill adds what clients do to a node's status.
func (f *front) fill(s *status.Node) {
	if f == nil {
		return
	}
	s.Clients, s.CommandsTotal, s.OpsPerSec = f.registry.Len(), int64(f.stats.Commands()), f.rates.ops.Load()
}

// rates are the counters' growth per second, measured once a second.
type rates struct {
	ops, in, out atomic.Int64
}

func (r *rates) run(ctx context.Context, s *client.Stats) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	var ops, in, out uint64
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		o, i, w := s.Commands(), s.In.Load(), s.Out.Load()
		// CONFIG RESETSTAT sets the counters back.
		r.ops.Store(max(int64(o-ops), 0))
		r.in.Store(max(int64(i-in), 0))
		r.out.Store(max(int64(w-out), 0))
		ops, in, out = o, i, w
	}
}

// configStore is the client.ConfigStore in front of the settings.
type configStore struct{ n *Node }

// ConfigGet implements client.ConfigStore.
func (c configStore) ConfigGet(patterns []string) [][2]string {
	var pairs [][2]string
	for _, p := range c.n.cfg.Get(patterns...) {
		pairs = append(pairs, [2]string{p.Name, p.Value})
	}
	return pairs
}

// ConfigSet implements client.ConfigStore.
func (c configStore) ConfigSet(pairs [][2]string) error {
	list := make([]config.Pair, len(pairs))
	for i, p := range pairs {
		list[i] = config.Pair{Name: strings.ToLower(p[0]), Value: p[1]}
	}
	return c.n.cfg.Set(list)
}

// ResetStats implements client.ConfigStore.
func (c configStore) ResetStats() {
	for _, s := range c.n.shards {
		st := &s.Machine().Keyspace().Stats
		st.Hits.Store(0)
		st.Misses.Store(0)
		st.Expired.Store(0)
		st.Evicted.Store(0)
	}
}

// replicatedSettings brings cluster-wide settings into the meta group, and the
// meta group's into this node.
func (n *Node) replicatedSettings() {
	n.cfg.ReplicateWith(func(pairs []config.Pair) error {
		ctx, cancel := context.WithTimeout(n.ctx, 10*time.Second)
		defer cancel()
		return n.setEverywhere(ctx, pairs)
	})
	n.machine.OnChange(n.applySettings)
	n.applySettings(n.machine.View())
	n.cfg.OnWarning(func(w config.Warning) { n.log.Warn(w.String()) })
}

func textOf(err error) error { return fmt.Errorf("ERR CONFIG SET failed - %w", err) }
