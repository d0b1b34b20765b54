package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/transport"
)

// RemovalWatchConfig is the configuration of a RemovalWatch.
type RemovalWatchConfig struct {
	Self meta.NodeID
	// PeerAddr is the address at which other nodes reach this node now.
	PeerAddr string
	// ClusterID is the cluster that this node belongs to.
	ClusterID string
	View      func() *meta.View
	// KnowsLeader reports whether this node leads the meta group or knows its leader.
	KnowsLeader func() bool
	Caller      Caller
	// Peers returns the other nodes' addresses; see PeerAddrs.
	Peers func() []string
	// LearnAddress is called with the address at which another node answered; it may be nil.
	LearnAddress func(id meta.NodeID, addr string)
	// OnRemoved is called once, with the reason in words: the node must stop and never start again
	// from its folder.
	OnRemoved func(why string)
	Log       *slog.Logger
}

const (
	removalCheckEvery = time.Second
	// leaderlessChecks is after how many checks in a row without a leader the node asks.
	leaderlessChecks = 2
	// standingTimeout bounds the question to one node.
	standingTimeout = 2 * time.Second
	// askTimeout bounds the wait at the start.
	askTimeout = 500 * time.Millisecond
)

// RemovalWatch asks the other nodes about this node's membership: at the start, while the node has no
// leader, and while it is leaving. So the node finds out that it has been removed: Raft does not
// tell a removed server, its leader only stops calling it. The questions also let nodes whose
// addresses changed while they were down find each other, as long as one of each two knows the
// other's address.
type RemovalWatch struct {
	cfg RemovalWatchConfig
	// leaderless counts the checks in a row without a leader.
	leaderless int
	asked      bool
	// refused are the addresses whose refusal has been logged.
	refused map[string]bool
}

// NewRemovalWatch returns a RemovalWatch. Run runs it.
func NewRemovalWatch(cfg RemovalWatchConfig) *RemovalWatch {
	return &RemovalWatch{cfg: cfg, refused: map[string]bool{}}
}

// Run checks once a second until ctx ends or the node has been removed.
func (w *RemovalWatch) Run(ctx context.Context) {
	for sleep(ctx, removalCheckEvery) {
		if why := w.check(ctx); why != "" {
			w.cfg.OnRemoved(why)
			return
		}
	}
}

// Ask asks all other nodes in parallel about this node's membership, and waits for askTimeout at
// most. It returns the reason why this node must not start, or "".
func (w *RemovalWatch) Ask(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	peers := w.cfg.Peers()
	answers := make(chan Standing, len(peers))
	for _, addr := range peers {
		go func() {
			var s Standing
			_ = ask(ctx, w.cfg.Caller, addr, knockStanding, standingQuestion{Node: w.cfg.Self}, &s)
			answers <- s
		}()
	}
	for range peers {
		select {
		case s := <-answers:
			if s.ClusterID == w.cfg.ClusterID && s.State == meta.Removed {
				return w.reason(s.ReplacedBy)
			}
		case <-ctx.Done():
			return ""
		}
	}
	return ""
}

// check returns the reason why this node must stop, or "".
func (w *RemovalWatch) check(ctx context.Context) string {
	view := w.cfg.View()
	self, known := view.Node(w.cfg.Self)
	if known && self.State == meta.Removed {
		return w.reason(self.ReplacedBy)
	}
	if w.cfg.KnowsLeader() {
		w.leaderless = 0
	} else {
		w.leaderless++
	}
	// A leaving node is removed from the meta group before the log of that group shows it.
	if w.asked && w.leaderless < leaderlessChecks && self.State != meta.Leaving {
		return ""
	}
	w.asked = true
	for _, addr := range w.cfg.Peers() {
		s, err := w.ask(ctx, addr)
		if err != nil || s.ClusterID != w.cfg.ClusterID {
			continue // a node that has just started has no view yet
		}
		// A node that does not know this one may have forgotten it, or may not know it
		// yet. Only a view that is newer than one with this node decides.
		if s.State == meta.Removed || s.State == "" && known && s.Epoch > view.Epoch {
			return w.reason(s.ReplacedBy)
		}
	}
	return ""
}

func (w *RemovalWatch) ask(ctx context.Context, addr string) (Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, standingTimeout)
	defer cancel()
	var s Standing
	err := ask(ctx, w.cfg.Caller, addr, knockStanding, standingQuestion{Node: w.cfg.Self, PeerAddr: w.cfg.PeerAddr}, &s)
	switch {
	case errors.Is(err, transport.ErrRefused):
		w.logRefused(addr, err)
	case err == nil && s.By != "" && s.By != w.cfg.Self && w.cfg.LearnAddress != nil:
		w.cfg.LearnAddress(s.By, addr)
	}
	return s, err
}

// logRefused logs, once per address, that the node at that address does not know this one; as a
// rule it belongs to another cluster.
func (w *RemovalWatch) logRefused(addr string, err error) {
	if !w.refused[addr] {
		w.refused[addr] = true
		w.cfg.Log.Error("a peer's address belongs to somebody else; this node stays with its own cluster and its data",
			"address", addr, "own_cluster", w.cfg.ClusterID, "error", err)
	}
}

func (w *RemovalWatch) reason(replacedBy meta.NodeID) string {
	if replacedBy != "" {
		return fmt.Sprintf("it was replaced by node %s", replacedBy)
	}
	return "it was removed by an operator"
}
