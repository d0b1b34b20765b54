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

// VigilConfig is the configuration of a Vigil.
type VigilConfig struct {
	Self meta.NodeID
	// PeerAddr is the address at which other nodes reach this node now.
	PeerAddr string
	// ClusterID is the cluster that this node belongs to.
	ClusterID string
	View      func() *meta.View
	// HearsLeader reports whether this node leads the meta group or knows its leader.
	HearsLeader func() bool
	Caller      Caller
	// Peers returns the other nodes' addresses; see PeerAddrs.
	Peers func() []string
	// Met is called with the address at which another node answered; it may be nil.
	Met func(id meta.NodeID, addr string)
	// OnRemoved is called once, with the reason in words: the node must stop and never start again
	// from its folder.
	OnRemoved func(why string)
	Log       *slog.Logger
}

const (
	vigilPause = time.Second
	// deafLooks is after how many looks in a row without a leader the node asks.
	deafLooks = 2
	// standingTimeout bounds the question to one node.
	standingTimeout = 2 * time.Second
	// askTimeout bounds the wait at the start.
	askTimeout = 500 * time.Millisecond
)

// Vigil asks the other nodes about this node's membership: at the start, while the node has no
// leader, and while it is leaving. So the node finds out that it has been removed: Raft does not
// tell a removed server, its leader only stops calling it. The questions also let nodes whose
// addresses changed while they were down find each other, as long as one of each two knows the
// other's address.
type Vigil struct {
	cfg VigilConfig
	// deaf counts the looks in a row without a leader.
	deaf  int
	asked bool
	// refused are the addresses whose refusal has been logged.
	refused map[string]bool
}

// NewVigil returns a Vigil. Run runs it.
func NewVigil(cfg VigilConfig) *Vigil { return &Vigil{cfg: cfg, refused: map[string]bool{}} }

// Run looks once a second until ctx ends or the node has been removed.
func (v *Vigil) Run(ctx context.Context) {
	for sleep(ctx, vigilPause) {
		if why := v.look(ctx); why != "" {
			v.cfg.OnRemoved(why)
			return
		}
	}
}

// Ask asks all other nodes in parallel about this node's membership, and waits for askTimeout at
// most. It returns the reason why this node must not start, or "".
func (v *Vigil) Ask(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	peers := v.cfg.Peers()
	answers := make(chan Standing, len(peers))
	for _, addr := range peers {
		go func() {
			var s Standing
			_ = ask(ctx, v.cfg.Caller, addr, knockStanding, standingQuestion{Node: v.cfg.Self}, &s)
			answers <- s
		}()
	}
	for range peers {
		select {
		case s := <-answers:
			if s.ClusterID == v.cfg.ClusterID && s.State == meta.Removed {
				return v.words(s.ReplacedBy)
			}
		case <-ctx.Done():
			return ""
		}
	}
	return ""
}

// look returns the reason why this node must stop, or "".
func (v *Vigil) look(ctx context.Context) string {
	view := v.cfg.View()
	self, known := view.Node(v.cfg.Self)
	if known && self.State == meta.Removed {
		return v.words(self.ReplacedBy)
	}
	if v.cfg.HearsLeader() {
		v.deaf = 0
	} else {
		v.deaf++
	}
	// A leaving node is removed from the meta group before the log of that group shows it.
	if v.asked && v.deaf < deafLooks && self.State != meta.Leaving {
		return ""
	}
	v.asked = true
	for _, addr := range v.cfg.Peers() {
		s, err := v.ask(ctx, addr)
		if err != nil || s.ClusterID != v.cfg.ClusterID {
			continue // a node that has just started has no view yet
		}
		// A node that does not know this one may have forgotten it, or may not know it
		// yet. Only a view that is newer than one with this node decides.
		if s.State == meta.Removed || s.State == "" && known && s.Epoch > view.Epoch {
			return v.words(s.ReplacedBy)
		}
	}
	return ""
}

func (v *Vigil) ask(ctx context.Context, addr string) (Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, standingTimeout)
	defer cancel()
	var s Standing
	err := ask(ctx, v.cfg.Caller, addr, knockStanding, standingQuestion{Node: v.cfg.Self, PeerAddr: v.cfg.PeerAddr}, &s)
	switch {
	case errors.Is(err, transport.ErrRefused):
		v.sayRefused(addr, err)
	case err == nil && s.By != "" && s.By != v.cfg.Self && v.cfg.Met != nil:
		v.cfg.Met(s.By, addr)
	}
	return s, err
}

// sayRefused logs, once per address, that the node at that address does not know this one; as a
// rule it belongs to another cluster.
func (v *Vigil) sayRefused(addr string, err error) {
	if !v.refused[addr] {
		v.refused[addr] = true
		v.cfg.Log.Error("a peer's address belongs to somebody else; this node stays with its own cluster and its data",
			"address", addr, "own_cluster", v.cfg.ClusterID, "error", err)
	}
}

func (v *Vigil) words(replacedBy meta.NodeID) string {
	if replacedBy != "" {
		return fmt.Sprintf("it was replaced by node %s", replacedBy)
	}
	return "it was removed by an operator"
}
