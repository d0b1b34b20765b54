// Package node puts a Lockstep node together out of the packages below it, and takes it apart
// again.
//
// Start goes through these steps (Node.start): lock and read the data folder, which holds the
// node's identity; listen on the peer port; join the cluster; open the meta group; ask the peers
// whether this node still belongs to the cluster; open the shards; start to reconcile memberships;
// found the cluster if that is this node's task; wait for leaders; listen for clients. Stop is the
// reverse: accept no new clients, hand leaderships over, finish the requests under way, close.
//
// The package has no rules of its own beyond that order. INFO, CLUSTER, CONFIG and LOCKSTEP are
// answered from the parts.
package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"lockstep/cluster/leaders"
	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/placement"
	"lockstep/cluster/raftio"
	"lockstep/cluster/shard"
	"lockstep/ground/caught"
	"lockstep/ground/secure"
	"lockstep/node/adminport"
	"lockstep/node/backup"
	"lockstep/node/clusterview"
	"lockstep/node/config"
	"lockstep/node/health"
	"lockstep/node/logs"
	"lockstep/node/member"
	"lockstep/node/ops"
	"lockstep/node/report"
	"lockstep/node/secrets"
	"lockstep/node/survey"
	"lockstep/node/users"
	"lockstep/proto/client"
	"lockstep/proto/stats"
)

// Node is one running node.
type Node struct {
	*member.Member
	*lifetime
	// logTail holds the newest lines of the log.
	logTail *logs.Tail
	// report produces INFO and the metrics. It is set once clients are served.
	report *report.Report

	// secrets holds the secrets with which this node and its peers authenticate to each other.
	secrets *secrets.Secrets
	// rotation changes the secret of the whole cluster.
	rotation *secrets.Rotation
	// tls holds the certificates. It is nil if no port speaks TLS.
	tls *secure.Keeper
	// journal is the log that the shards share. It is nil if each shard has its own.
	journal *raftio.Journal
	// uses is the clock for the last-use times of keys.
	uses useClock
	// clocks compares this node's clock with those of the other nodes.
	clocks *clocks
	// exchange keeps this node's knowledge of leaders in step with that of the other nodes.
	exchange  *leaders.Exchange
	announcer announcer
	// process holds the operations on this process that clients may use.
	process *ops.Process
	backups *backup.Backups
	// settings are the settings of the whole cluster.
	settings  replicated
	replicas  *replicas
	placement *placement.Loop
	// memory counts the memory of all shards together.
	memory shard.Memory
	admin  *adminport.Server
	// panics counts the panics of code that served a connection, by port.
	panics report.Panics
	front  *front
	users  *users.Users
	// stats holds the counters of commands and the slow log.
	stats *stats.Stats
	// registry holds this node's clients.
	registry *client.Registry
	// survey reports on this node and collects the reports of all nodes.
	survey *survey.Survey
	// view is the cluster as clients see it.
	view       *clusterview.View
	supervisor supervisor
	// health answers the probes of the admin port.
	health *health.Health
	orders *ops.Orders
	relays
}

// startTimeout bounds how long a node that is not joining may take to open.
const startTimeout = 60 * time.Second

// Start starts a node. When it returns without an error, clients are served.
func Start(ctx context.Context, cfg *config.Config, log *logs.Log) (*Node, error) {
	n := &Node{
		Member:   &member.Member{Config: cfg, Log: log.Logger, Started: time.Now()},
		lifetime: newLifetime(), logTail: log.Tail, stats: stats.New(), registry: client.NewRegistry(),
	}
	n.panics.Peers, n.panics.Clients, n.panics.Admin = caught.New(n.Log), caught.New(n.Log), caught.New(n.Log)
	// This comes early because peers may ask for the number of clients before clients can connect.
	n.front = &front{n: n, stats: n.stats, registry: n.registry}
	n.witness = n.newWitness(n.Member, n.stats, n.registry)
	n.announcer = announcer{Member: n.Member, ctx: n.ctx, moved: make(chan struct{}, 1)}
	n.settings.Member, n.settings.lifetime, n.settings.awaitEvents = n.Member, n.lifetime, func() { n.feeds.AwaitEvents() }
	n.backups = backup.New(backup.Facts{Member: n.Member, Log: n.Log, Go: n.background.Go, Ctx: n.ctx})
	n.process = ops.NewProcess(n.Member, n.die)
	cfg.CheckWith(n.checkSet)
	ctx, n.giveUp = context.WithCancelCause(ctx)
	if err := n.start(ctx); err != nil {
		n.abort()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	return n, nil
}

func (n *Node) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		n.tryFront, n.setAside, n.openSecrets, n.openTLS, n.openRooms, n.openAdmin, n.openFolder, n.joinOrFound, n.listenPeers, n.join, n.openMeta, n.meetPeers, n.openJournal, n.openShards, n.reconcile, n.found, n.awaitVoters,
		n.foundUsers, n.awaitLeaders, n.openReport, n.openFront,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	n.Ready.Store(true)
	n.background.Go(n.health.Watch)
	n.background.Go(n.supervisor.tellWhenReady)
	n.background.Go(n.survey.Watch)
	return nil
}

// Linger announces that the node is stopping, and keeps serving for shutdown-delay-ms. Stop comes
// next.
func (n *Node) Linger() {
	n.Draining.Store(true)
	n.supervisor.tell("STOPPING=1\nSTATUS=stopping")
	delay := time.Duration(n.Config.Current().ShutdownDelayMs) * time.Millisecond
	if delay <= 0 {
		return
	}
	n.Log.Info("stopping soon", "in", delay)
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-t.C:
	case err := <-n.fatal:
		n.Log.Error("stopping now", "reason", err)
	}
}

// Stop drains the node and closes it: it accepts no new clients, hands its leaderships over, lets
// requests under way finish, and closes all parts.
func (n *Node) Stop(ctx context.Context) {
	n.Log.Info("stopping", "reason", "asked to")
	n.Draining.Store(true)
	n.front.stopAccepting()
	if m := n.Manager.Load(); m != nil {
		if err := m.Drain(ctx); err != nil && len(n.Machine.View().Nodes) > 1 {
			n.Log.Warn("not every leadership was handed over", "reason", err)
		}
	}
	n.front.close(ctx)
	n.abort()
}

// Leave ends a node that was removed from its cluster. Requests under way are finished first, for
// example the order that removed it.
func (n *Node) Leave(ctx context.Context) {
	n.Draining.Store(true)
	n.supervisor.tell("STOPPING=1\nSTATUS=removed from its cluster")
	n.front.stopAccepting()
	n.front.close(ctx)
	n.abort()
}

// abort closes whatever is open, without draining.
func (n *Node) abort() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	n.stop()
	n.front.close(ctx)
	if n.admin != nil {
		n.admin.Close(ctx)
	}
	if m := n.Manager.Load(); m != nil {
		m.Close()
	}
	if n.LeaderRPC != nil {
		n.LeaderRPC.Close()
	}
	quiet := n.background.EndWithin(closeTimeout) // a replica may still be closing
	for _, s := range n.Shards() {
		_ = s.Close(ctx)
	}
	if n.MetaGroup != nil {
		_ = n.MetaGroup.Shutdown(ctx)
	}
	if n.journal != nil {
		_ = n.journal.Close()
	}
	if n.Transport != nil {
		_ = n.Transport.Close()
	}
	switch {
	case n.Folder == nil:
	case quiet:
		_ = n.Folder.Close()
	default:
		// A goroutine may still write to the folder, so it stays locked until the process ends.
		n.Log.Warn("something goes on in the background; the data folder stays locked until the process ends")
	}
}

// openFolder reads this node's identity from the data folder, or gives it one.
func (n *Node) openFolder(context.Context) error {
	s := n.Config.Current()
	folder, err := identity.Open(s.Dir)
	if err != nil {
		return err
	}
	n.Folder = folder
	n.Machine = meta.NewMachine()
	sayWhatIsLeft(n.Member, s.Dir)
	switch {
	case folder.Identity() != nil:
		sayWhatIsSettled(n.Member, s)
		if err = errors.Join(folder.CheckName(s.NodeName), folder.CheckRecovered()); err == nil {
			err = n.secrets.Ensure(folder.Identity().Phase)
		}
	case len(s.Join) > 0 && !s.Bootstrap:
		err = folder.BeginJoin(s.NodeName)
	case len(s.Join) > 0:
		err = errors.New("both --bootstrap and --join are given; a node begins a new cluster or joins one")
	default:
		if err = n.secrets.Ensure(identity.Founding); err == nil {
			err = folder.Found(s.NodeName, creation(s))
		}
		if err == nil {
			err = sawKnownVersion(n.Member)
		}
	}
	if err == nil {
		// The log store is chosen before a group exists.
		err = folder.KeepLogStore(string(s.LogStore))
	}
	if err != nil {
		return err
	}
	n.Self = folder.Identity()
	return nil
}

// sawKnownVersion records that a cluster that this node founds starts with the newest version that
// this node knows.
func sawKnownVersion(m *member.Member) error { return m.Folder.SawVersion(meta.KnownVersion()) }

// sayWhatIsSettled tells the operator that settings about founding and joining have no effect if
// the data folder already has a node of a cluster.
func sayWhatIsSettled(m *member.Member, s *config.Settings) {
	id := m.Folder.Identity()
	if id.Phase == identity.Settled && (s.Bootstrap || s.Replace || len(s.Join) > 0) {
		m.Log.Info("the data folder has a node of a cluster already; bootstrap and replace have no effect, and addresses to join are only where its peers may be",
			"id", string(id.ID()), "cluster", id.ClusterID)
	}
}

// sayWhatHolds tells the operator which settings have no effect because the cluster or the data
// folder was made with other values.
func sayWhatHolds(m *member.Member, s *config.Settings) {
	c := m.Self.Creation
	for _, made := range []struct{ setting, holds, by string }{
		{"shards", strconv.Itoa(c.Shards()), "the cluster"}, {"lock-slots", strconv.Itoa(c.LockSlots), "the cluster"},
		{"raft-heartbeat-ms", strconv.Itoa(c.HeartbeatMs), "the cluster"}, {"raft-election-ms", strconv.Itoa(c.ElectionMs), "the cluster"},
		{"raft-log-store", m.Self.LogStore, "the data folder"},
	} {
		d, _ := config.Lookup(made.setting)
		value, from := s.Value(d)
		if from.Source != config.FromDefault && value != made.holds {
			m.Log.Warn("a setting has no effect: "+made.by+" was made with another value, and keeps it", "setting", made.setting, "given", value, "holds", made.holds)
		}
	}
}

// openSecrets reads the secrets. It runs before the node creates anything.
func (n *Node) openSecrets(context.Context) (err error) {
	n.secrets, err = secrets.Open(secrets.Facts{
		Config: n.Config, Log: n.Log, Identity: func() *identity.Identity { return n.Folder.Identity() }, Go: n.background.Go, Ctx: n.ctx,
	})
	n.rotation = &secrets.Rotation{Secrets: n.secrets, Member: n.Member}
	return err
}

// foundUsers starts to use the cluster's users, and creates those of the settings in a cluster that
// has none. Clients are not served before that.
func (n *Node) foundUsers(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	n.users, err = users.Open(ctx, users.Facts{
		Config: n.Config, Log: n.Log, Member: n.Member, Clients: n.registry, Go: n.background.Go, Ctx: n.ctx,
	})
	if err != nil {
		return err
	}
	n.secrets.UseUsers(n.users.Users)
	return n.users.Found(ctx)
}

// openRooms makes the parts that report on this node. Each part waits until the state that it reads
// exists.
func (n *Node) openRooms(context.Context) error {
	n.clocks = &clocks{Member: n.Member, ctx: n.ctx}
	n.survey = survey.New(survey.Facts{
		Member: n.Member, Stats: n.stats, Registry: n.registry, Clock: n.clocks, TLS: n.tls, Secret: n.secrets.Tell, Ctx: n.ctx,
	})
	n.view = &clusterview.View{Member: n.Member}
	n.health = health.New(health.Facts{Member: n.Member, Survey: n.survey, Dying: n.dyingOf, Ctx: n.ctx})
	n.supervisor.Member, n.supervisor.health, n.supervisor.ctx = n.Member, n.health, n.ctx
	n.orders = &ops.Orders{Facts: ops.Facts{
		Member: n.Member, Survey: n.survey, Rotation: n.rotation, Clocks: n.clocks, Process: n.process, Support: func() (string, error) { return n.report.Support() },
		Settled: n.settings.settled.Load, Die: n.die, Gone: n.gone, Ctx: n.ctx,
	}}
	return nil
}

// openReport makes the part that produces INFO and the metrics. All that it reads exists by now.
func (n *Node) openReport(context.Context) error {
	n.report = report.New(report.Facts{
		Member: n.Member, Survey: n.survey, View: n.view, Stats: n.stats, Registry: n.registry, Tracking: n.tracking,
		Messages: n.messages, Feeds: n.feeds, Users: n.users, Memory: &n.memory, Saves: n.process, Clock: n.clocks, TLS: n.tls,
		Panics: n.panics, IsReady: n.health.Verdict, SupervisedBy: n.supervisor.supervisedBy, LogTail: n.logTail, Ctx: n.ctx,
	})
	return nil
}

// sayWhatIsLeft warns of files of a redis-server in the data folder: an operator might expect a new
// node to load them, and it does not.
func sayWhatIsLeft(m *member.Member, dir string) {
	if m.Folder.Identity() != nil {
		return
	}
	for _, name := range []string{"dump.rdb", "appendonlydir", "appendonly.aof"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			m.Log.Warn("the data folder has files of a redis-server; they are not read, and the node begins without their keys", "file", name)
		}
	}
}

func creation(s *config.Settings) meta.Creation {
	return meta.Creation{
		CreatedMs: time.Now().UnixMilli(), LockSlots: s.LockSlots,
		HeartbeatMs: s.RaftHeartbeatMs, ElectionMs: s.RaftElectionMs,
		Replicas: s.Replicas, Seeds: identity.NewSeeds(s.Shards),
	}
}
