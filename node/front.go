package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"lockstep/cluster/meta"
	"lockstep/engine/command"
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
	f := n.front
	f.refresh(n.cfg.Current())
	for _, name := range []string{
		"requirepass", "client-output-buffer-limit", "active-expire", "slowlog-log-slower-than", "slowlog-max-len", "client-query-buffer-limit", "timeout", "routing", "cluster-preferred-endpoint-type",
		"latency-tracking", "latency-monitor-threshold", "acl-pubsub-default", "acllog-max-len", "maxmemory-clients",
	} {
		n.cfg.OnChange(name, f.refresh)
	}
	for _, name := range command.SettingNames() {
		if command.IsDirective(name) {
			n.cfg.OnChange(name, f.refresh)
		}
	}
	for _, name := range announcedSettings {
		n.cfg.OnChange(name, func(*config.Settings) { n.announceSoon() })
	}
	backend := &client.Backend{Executor: n.router, Source: f, ConfigStore: configStore{n}, Facts: n, Replication: n, ClusterView: n, Identity: n, Operator: n, Backups: n, Process: n, Introspection: n, Channels: n.messages, Feeds: n.feeds, Access: n.users, Tracking: n.tracking, TargetTLS: n.targetTLS,
		Incarnation: n.self.Incarnation, Programs: n.programs}
	f.server = server.New(server.Config{
		Backend: backend, Stats: f.stats, Registry: f.registry, Panics: n.panics.clients, Log: n.log,
		Secure:        func() *tls.Config { return n.tls.Front() },
		PeerPort:      n.cfg.Current().PeerPort,
		MaxClients:    func() int { return n.cfg.Current().MaxClients },
		ProtectedMode: func() bool { return n.cfg.Current().ProtectedMode && n.secrets.noPassword() },
		KeepAlive:     func() time.Duration { return time.Duration(n.cfg.Current().TCPKeepaliveSeconds) * time.Second },
	})
	s := n.cfg.Current()
	if err := f.listen(s.Bind, "port", s.Port, f.server.Serve); err != nil {
		return err
	}
	if err := f.listen(s.Bind, "tls-port", s.TLSPort, f.server.ServeSecure); err != nil {
		return err
	}
	n.background.run(func() { f.rates.run(n.ctx, f.stats) })
	n.background.run(n.watchPeak)
	n.log.Info("ready for clients", "port", s.Port, "tls_port", s.TLSPort)
	return nil
}

// tryFront tells before anything is made whether the ports for clients are to be had,
// for they are opened last: who has founded a cluster, or joined one, and then ends for
// want of a port leaves a member that is dead.
func (n *Node) tryFront(context.Context) error {
	s := n.cfg.Current()
	if err := forAll(s.Bind, "port", s.Port, server.Try); err != nil {
		return err
	}
	return forAll(s.Bind, "tls-port", s.TLSPort, server.Try)
}

// listen opens a port for clients, unless it is 0.
func (f *front) listen(bind []string, what string, port int, serve func(net.Listener)) error {
	return forAll(bind, what, port, func(addr string) error {
		l, err := server.Listen(addr)
		if err == nil {
			serve(l)
		}
		return err
	})
}

// forAll opens a port at all addresses, unless it is 0.
func forAll(bind []string, what string, port int, open func(addr string) error) error {
	if port == 0 {
		return nil
	}
	for _, addr := range listenAddresses(bind, port) {
		if err := open(addr); err != nil {
			return inWords(err, what, port)
		}
	}
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
	for _, sh := range f.n.shards() {
		f.n.background.run(func() { sh.SyncSettings(f.n.ctx) })
	}
	f.stats.Measuring.Store(s.LatencyTracking)
	f.stats.Latency.SetThreshold(s.LatencyThresholdMs)
	output := func(class config.ClientClass) client.OutputLimit {
		l := s.ClientOutputBufferLimits[class]
		return client.OutputLimit{HardBytes: l.HardBytes, SoftBytes: l.SoftBytes, SoftSec: l.SoftSeconds}
	}
	f.settings.Store(&client.Settings{
		RequirePass: s.RequirePass, SlowerThanUs: s.SlowlogLogSlowerThan, SlowlogLen: int(s.SlowlogMaxLen),
		PubSubAllChannels: s.ACLPubSubDefault == config.HearAll, ACLLogLen: int(s.ACLLogMaxLen), ACLFile: s.ACLFile,
		DebugFor: string(s.EnableDebugCommand), BulkBytesMax: int(s.ProtoMaxBulkLen), QueryBytesMax: int(s.ClientQueryBufferLimit),
		NormalOutput: output(config.NormalClient), PubSubOutput: output(config.PubSubClient),
		ClientsBytesMax: s.MaxMemoryClients.Of(s.Engine.MemoryBytesMax, processMemory()),
		IdleTimeoutSec:  s.TimeoutSeconds, Redirect: s.Routing == config.RouteRedirect, Endpoint: endpointKind(s),
		ServerVersion: Version, RedisVersion: RedisVersion,
	})
}

// fill adds what clients do to a node's status.
func (f *front) fill(s *status.Node) {
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
		list[i] = config.Pair{Name: p[0], Value: p[1]}
	}
	// The password goes its own way, which nothing takes back: the rest must be
	// good before.
	if err := c.n.cfg.CheckSet(list); err != nil {
		return err
	}
	if err := c.n.users.setPassword(list); err != nil {
		return err
	}
	err := c.n.cfg.Set(list)
	if err == nil {
		c.n.afterSet(list)
	}
	c.n.awaitSettings()
	return err
}

// ConfigRewrite implements client.ConfigStore.
func (c configStore) ConfigRewrite() error { return c.n.cfg.Rewrite() }

// ResetStats implements client.ConfigStore.
func (c configStore) ResetStats() {
	for _, s := range c.n.shards() {
		st := &s.Machine().Keyspace().Stats
		st.Hits.Store(0)
		st.Misses.Store(0)
		st.Expired.Store(0)
		st.Evicted.Store(0)
	}
	c.n.peakBytes.Store(0)
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
	n.machine.OnChange(n.applyVersion)
	n.applySettings(n.machine.View())
	n.applyVersion(n.machine.View())
	n.cfg.OnWarning(func(w config.Warning) { n.log.Warn(w.String()) })
}

// textOf is the reply for settings that were refused, or of which nobody could
// say whether they are in force.
func textOf(err error) error {
	var refusal *meta.Refusal
	if errors.As(err, &refusal) {
		return fmt.Errorf("ERR CONFIG SET failed - %w", err)
	}
	return fmt.Errorf("INDETERMINATE the settings may have been changed: %w", err)
}
