package placement

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
	"lockstep/cluster/stepper"
)

// verbReport is the leaderrpc verb for Loop.Report. The leader of the meta group carries it out.
const verbReport = "placement.report"

const (
	// idlePause is the time between two looks at a cluster where nothing needs to be done. A Kick
	// ends it.
	idlePause = time.Second
	// busyPause is the time between two looks while a change is under way.
	busyPause = 100 * time.Millisecond
	// aliveWithin is how long ago a node's newest acknowledgement may have been sent.
	aliveWithin = 3 * time.Second
	// missingAfter is how long a node that should get a replica may be silent before another gets
	// it.
	missingAfter = 30 * time.Second
	// steadyNode is how long a node must have been alive, and steadyLeader how long a leader must
	// have led, before leadership moves only for balance.
	steadyNode   = 5 * time.Second
	steadyLeader = 2 * time.Second
	// leaderPause is between two moves of leadership: each is a pause for clients.
	leaderPause = time.Second
	// askTimeout bounds the question to one node, stepTimeout one step.
	askTimeout  = time.Second
	stepTimeout = 10 * time.Second
)

// Meta is the part of the meta group's client that this package uses.
type Meta interface {
	View() *meta.View
	// Do has the leader of the meta group carry out a command.
	Do(ctx context.Context, c meta.Command) (meta.Result, error)
}

// Settings are the settings of operators; they may change at any time.
type Settings struct {
	Limits
	// RepairAfter is how long a node must have been dead before other nodes get its replicas; 0
	// means never.
	RepairAfter time.Duration
}

// Config is the configuration of a Loop.
type Config struct {
	Self      meta.NodeID
	Meta      Meta
	LeaderRPC *leaderrpc.Client
	// Leads reports whether this node leads the meta group.
	Leads func() bool
	// Acked returns the time at which this node, as the meta group's leader, sent the newest
	// request that a node has acknowledged. It is zero if there is none.
	Acked func(id meta.NodeID) time.Time
	// ClockOff is NodeFacts.ClockOff by node. If it is nil, all clocks are right.
	ClockOff func(id meta.NodeID) time.Duration
	// Ask asks a node which shards it leads, and about their state.
	Ask func(ctx context.Context, n meta.Node) ([]Led, error)
	// Transfer moves the leadership of a shard to a node.
	Transfer func(ctx context.Context, shard uint32, to meta.NodeID) error
	Settings func() Settings
	Log      *slog.Logger
}

// Led is what a node reports about a shard that it leads.
type Led struct {
	Shard uint32 `json:"shard"`
	Term  uint64 `json:"term"`
	// ForMs is how long the node has led the shard.
	ForMs     int64    `json:"for_ms"`
	Members   []Member `json:"members"`
	LastIndex uint64   `json:"last_index"`
	Waits     string   `json:"waits,omitempty"`
}

// Loop carries out the steps of Plan on the node that leads the meta group. On the other nodes it
// does nothing.
type Loop struct {
	*stepper.Stepper
	cfg Config

	// movedLeader is when a leadership was last moved. Only the goroutine of the loop uses it.
	movedLeader time.Time

	mu sync.Mutex // guards since, heard
	// since is when each node was first seen alive without a break, and heard when it was last seen
	// alive. Both count from when this node became the meta group's leader.
	since, heard map[meta.NodeID]time.Time
}

// New returns a loop and registers its verb with the leaderrpc.Client. Run runs the loop.
func New(cfg Config) *Loop {
	l := &Loop{cfg: cfg, Stepper: stepper.New(), since: map[meta.NodeID]time.Time{}, heard: map[meta.NodeID]time.Time{}}
	cfg.LeaderRPC.Handle(verbReport, l.serveReport)
	return l
}

// Run runs the loop until ctx ends. A Kick makes it look at once; the node kicks it when the view
// has changed.
func (l *Loop) Run(ctx context.Context) { l.Stepper.Run(ctx, l.step) }

// step looks once, carries out the steps that are possible, and returns the time until the next
// look.
func (l *Loop) step(ctx context.Context) time.Duration {
	view := l.cfg.Meta.View()
	if !l.cfg.Leads() {
		l.forget()
		return idlePause
	}
	if !view.Placed() {
		return idlePause
	}
	facts := l.collect(ctx, view)
	// Asking takes a moment, so take the view again.
	view = l.cfg.Meta.View()
	r := Plan(view, facts, l.cfg.Settings().Limits)
	acted := false
	for _, s := range r.Steps {
		acted = l.carryOut(ctx, s) || acted
	}
	if acted || len(r.Moving) > 0 {
		return busyPause
	}
	return idlePause
}

func (l *Loop) forget() {
	l.mu.Lock()
	clear(l.since)
	clear(l.heard)
	l.mu.Unlock()
}

// carryOut carries out one step. It returns false if the step is not possible now.
func (l *Loop) carryOut(ctx context.Context, s Step) bool {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	var err error
	switch s.Kind {
	case AddReplica:
		_, err = l.cfg.Meta.Do(ctx, &meta.PlaceReplica{Shard: s.Shard, Was: s.Was, Add: s.Node})
	case DropReplica:
		_, err = l.cfg.Meta.Do(ctx, &meta.PlaceReplica{Shard: s.Shard, Was: s.Was, Drop: s.Node})
	case MoveLeader:
		if time.Since(l.movedLeader) < leaderPause {
			return false
		}
		l.movedLeader = time.Now()
		err = l.cfg.Transfer(ctx, s.Shard, s.Node)
	}
	switch {
	case err == nil:
		l.cfg.Log.Info("placing", "step", string(s.Kind), "shard", s.Shard, "node", s.Node, "reason", s.Why)
		return true
	case errors.Is(err, meta.ErrStale):
		return true // look again
	}
	l.cfg.Log.Warn("a step of the placement failed", "step", string(s.Kind), "shard", s.Shard, "node", s.Node, "error", err)
	return false
}

// collect asks all nodes in parallel which shards they lead.
func (l *Loop) collect(ctx context.Context, view *meta.View) *Facts {
	f := &Facts{Nodes: l.nodes(view, time.Now()), Shards: make([]ShardFacts, len(view.Shards))}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	said := make([][]Led, len(view.Nodes))
	var all sync.WaitGroup
	for i, n := range view.Nodes {
		if f.Nodes[n.ID].Alive {
			all.Go(func() {
				// A node that does not answer counts as leading nothing.
				said[i], _ = l.cfg.Ask(ctx, n)
			})
		}
	}
	all.Wait()
	terms := make([]uint64, len(view.Shards))
	for i, n := range view.Nodes {
		for _, led := range said[i] {
			if uint64(led.Shard) < uint64(len(f.Shards)) && led.Term > terms[led.Shard] {
				terms[led.Shard] = led.Term
				f.Shards[led.Shard] = ShardFacts{
					Leader: n.ID, Steady: led.ForMs >= steadyLeader.Milliseconds(),
					Members: led.Members, LastIndex: led.LastIndex, Waits: led.Waits,
				}
			}
		}
	}
	return f
}

// nodes returns which nodes are alive, and for how long.
func (l *Loop) nodes(view *meta.View, now time.Time) map[meta.NodeID]NodeFacts {
	l.mu.Lock()
	defer l.mu.Unlock()
	repairAfter := l.cfg.Settings().RepairAfter
	facts := map[meta.NodeID]NodeFacts{}
	for _, n := range view.Nodes {
		if n.ID == l.cfg.Self || now.Sub(l.cfg.Acked(n.ID)) < aliveWithin {
			l.heard[n.ID] = now
			if _, known := l.since[n.ID]; !known {
				l.since[n.ID] = now
			}
			f := NodeFacts{Alive: true, Steady: now.Sub(l.since[n.ID]) >= steadyNode}
			if l.cfg.ClockOff != nil {
				f.ClockOff = l.cfg.ClockOff(n.ID)
			}
			facts[n.ID] = f
			continue
		}
		delete(l.since, n.ID)
		last, known := l.heard[n.ID]
		if !known {
			last = now
			l.heard[n.ID] = now
		}
		away := now.Sub(last)
		facts[n.ID] = NodeFacts{Missing: away >= missingAfter, Lost: repairAfter > 0 && away >= repairAfter}
	}
	return facts
}

// Ask asks the meta group's leader where replicas are and what it plans to do.
func Ask(ctx context.Context, c *leaderrpc.Client) (*Report, error) {
	body, err := c.Do(ctx, meta.GroupID, verbReport, nil)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	return r, json.Unmarshal(body, r)
}

func (l *Loop) serveReport(ctx context.Context, _ uint32, _ []byte) ([]byte, error) {
	if !l.cfg.Leads() {
		return nil, leaderrpc.ErrNotLeader
	}
	view := l.cfg.Meta.View()
	return json.Marshal(reportOf(view, l.collect(ctx, view), l.cfg.Settings().Limits))
}
