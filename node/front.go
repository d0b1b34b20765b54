package node

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"lockstep/engine/command"
	"lockstep/node/clusterview"
	"lockstep/node/config"
	"lockstep/node/process"
	"lockstep/node/report"
	"lockstep/proto/admin"
	"lockstep/proto/client"
	"lockstep/proto/server"
	"lockstep/proto/stats"
)

// front is the client port and what stands behind it.
type front struct {
	n        *Node
	server   *server.Server
	stats    *stats.Stats
	registry *client.Registry
	settings atomic.Pointer[client.Settings]
}

// openFront listens for clients.
func (n *Node) openFront(context.Context) error {
	f := n.front
	f.refresh(n.Config.Current())
	for _, name := range []string{
		"requirepass", "client-output-buffer-limit", "active-expire", "slowlog-log-slower-than", "slowlog-max-len", "client-query-buffer-limit", "timeout", "routing", "cluster-preferred-endpoint-type",
		"latency-tracking", "latency-monitor-threshold", "acl-pubsub-default", "acllog-max-len", "maxmemory-clients",
	} {
		n.Config.OnChange(name, f.refresh)
	}
	for _, name := range command.SettingNames() {
		if command.IsDirective(name) {
			n.Config.OnChange(name, f.refresh)
		}
	}
	for _, name := range announcedSettings {
		n.Config.OnChange(name, func(*config.Settings) { n.announcer.soon() })
	}
	f.server = server.New(server.Config{
		Backend: f.backend(), Stats: f.stats, Registry: f.registry, Panics: n.panics.Clients, Log: n.Log,
		Secure:        func() *tls.Config { return n.tls.Front() },
		PeerPort:      n.Config.Current().PeerPort,
		MaxClients:    func() int { return n.Config.Current().MaxClients },
		ProtectedMode: func() bool { return n.Config.Current().ProtectedMode && n.secrets.NoPassword() },
		KeepAlive:     func() time.Duration { return time.Duration(n.Config.Current().TCPKeepaliveSeconds) * time.Second },
	})
	s := n.Config.Current()
	if err := f.listen(s.Bind, "port", s.Port, f.server.Serve); err != nil {
		return err
	}
	if err := f.listen(s.Bind, "tls-port", s.TLSPort, f.server.ServeSecure); err != nil {
		return err
	}
	n.background.Go(func() { n.survey.Rates.Run(n.ctx, f.stats) })
	n.background.Go(n.report.WatchPeak)
	n.Log.Info("ready for clients", "port", s.Port, "tls_port", s.TLSPort)
	return nil
}

// greeter gives HELLO what it says about this node.
type greeter struct {
	*report.Report
	view *clusterview.View
}

// Role implements client.Greeter.
func (g greeter) Role() string { return g.view.Role() }

// backend is the part of the node that clients can reach.
func (f *front) backend() *client.Backend {
	n := f.n
	handlers := admin.Node{
		Config: configStore{n}, Facts: n.report, Replication: n.view, Cluster: n.view, Identity: n.view, Operator: n.orders,
		Backups: n.backups, Process: n.process, Memory: n.report, Subscriptions: n.messages, Stats: f.stats, Registry: f.registry,
	}
	return &client.Backend{
		Executor: n.Router, Source: f, Access: n.users, Redirector: n.view, Greeter: greeter{n.report, n.view},
		Memory: n.report, Channels: n.messages, Feeds: n.feeds, Handlers: client.NewTable(handlers.Handlers()...), Tracking: n.tracking,
		Incarnation: n.Self.Incarnation, Programs: n.Programs,
		TargetTLS: func(host string) *tls.Config { return targetTLS(n.tls, n.Config.Current(), host) },
	}
}

// tryFront checks that the client ports are free before the node creates anything. They are opened
// last, and a node that founded or joined a cluster and then stopped because a port was taken would
// leave a dead member.
func (n *Node) tryFront(context.Context) error {
	s := n.Config.Current()
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

// refresh takes over the settings that concern clients.
func (f *front) refresh(s *config.Settings) {
	f.n.process.SetActiveExpire(s.ActiveExpire)
	for _, sh := range f.n.Shards() {
		f.n.background.Go(func() { sh.SyncSettings(f.n.ctx) })
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
		ClientsBytesMax: s.MaxMemoryClients.Of(s.Engine.MemoryBytesMax, process.MemoryMost()),
		IdleTimeoutSec:  s.TimeoutSeconds, Redirect: s.Routing == config.RouteRedirect, Endpoint: clusterview.EndpointKind(s),
		ServerVersion: process.Version, RedisVersion: process.RedisVersion,
	})
}

// configStore is the admin.ConfigStore in front of the settings.
type configStore struct{ n *Node }

// ConfigGet implements admin.ConfigStore.
func (c configStore) ConfigGet(patterns []string) [][2]string {
	var pairs [][2]string
	for _, p := range c.n.Config.Get(patterns...) {
		pairs = append(pairs, [2]string{p.Name, p.Value})
	}
	return pairs
}

// ConfigSet implements admin.ConfigStore.
func (c configStore) ConfigSet(pairs [][2]string) error {
	list := make([]config.Pair, len(pairs))
	for i, p := range pairs {
		list[i] = config.Pair{Name: p[0], Value: p[1]}
	}
	// The password is set separately and cannot be taken back, so all other settings are checked
	// first.
	if err := c.n.Config.CheckSet(list); err != nil {
		return err
	}
	if err := c.n.users.SetPassword(list); err != nil {
		return err
	}
	err := c.n.Config.Set(list)
	if err == nil {
		afterSet(c.n.tls, list)
	}
	c.n.settings.awaitSettings()
	return err
}

// ConfigRewrite implements admin.ConfigStore.
func (c configStore) ConfigRewrite() error { return c.n.Config.Rewrite() }

// ResetStats implements admin.ConfigStore.
func (c configStore) ResetStats() { c.n.report.ResetStats() }
