package membership

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"lockstep/cluster/meta"
)

// VigilConfig is what a vigil is made with.
type VigilConfig struct {
	Self meta.NodeID
	// ClusterID is the cluster that this node belongs to.
	ClusterID string
	View      func() *meta.View
	// HearsLeader tells whether this node leads the meta group or knows who does.
	HearsLeader func() bool
	Caller      Caller
	// Peers are the other nodes' addresses; see PeerAddrs.
	Peers func() []string
	// OnRemoved is called once, with the reason in words: the node must stop
	// serving and never start again from its folder.
	OnRemoved func(why string)
	Log       *slog.Logger
}

const (
	vigilPause = time.Second
	// deafLooks is how many looks in a row without a leader make a node ask.
	deafLooks = 2
	// standingTimeout bounds one question.
	standingTimeout = 2 * time.Second
)

// Vigil finds out whether this node has been removed. Raft does not tell a
// removed server; it only stops calling.
type Vigil struct {
	cfg VigilConfig
	// deaf counts the looks in a row without a leader.
	deaf    int
	foreign map[string]bool
}

// NewVigil returns a vigil; Run keeps it.
func NewVigil(cfg VigilConfig) *Vigil { return &Vigil{cfg: cfg, foreign: map[string]bool{}} }

// Run looks once a second until ctx ends or the node has been removed.
func (v *Vigil) Run(ctx context.Context) {
	for sleep(ctx, vigilPause) {
		if why := v.look(ctx); why != "" {
			v.cfg.OnRemoved(why)
			return
		}
	}
}

// look returns why this node must stop, or nothing.
func (v *Vigil) look(ctx context.Context) string {
	view := v.cfg.View()
	self, known := view.Node(v.cfg.Self)
	if known && self.State == meta.Removed {
		return v.words(self.ReplacedBy)
	}
	if v.cfg.HearsLeader() {
		v.deaf = 0
		return ""
	}
	if v.deaf++; v.deaf < deafLooks {
		return ""
	}
	for _, addr := range v.cfg.Peers() {
		s, err := v.ask(ctx, addr)
		if err != nil || !v.sameCluster(addr, s) {
			continue
		}
		// Who does not know this node may have forgotten it, or may not have
		// heard of it yet; only a view that is newer than one with it tells.
		if s.State == meta.Removed || s.State == "" && known && s.Epoch > view.Epoch {
			return v.words(s.ReplacedBy)
		}
	}
	return ""
}

func (v *Vigil) ask(ctx context.Context, addr string) (Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, standingTimeout)
	defer cancel()
	return AskStanding(ctx, v.cfg.Caller, addr, v.cfg.Self)
}

// sameCluster says once per address when somebody else's node answers there.
func (v *Vigil) sameCluster(addr string, s Standing) bool {
	if s.ClusterID == "" || s.ClusterID == v.cfg.ClusterID {
		return s.ClusterID != ""
	}
	if !v.foreign[addr] {
		v.foreign[addr] = true
		v.cfg.Log.Error("a node of another cluster answers at a peer's address; this node's data belongs to its own cluster and stays apart",
			"address", addr, "its_cluster", s.ClusterID, "own_cluster", v.cfg.ClusterID)
	}
	return false
}

func (v *Vigil) words(replacedBy meta.NodeID) string {
	if replacedBy != "" {
		return fmt.Sprintf("it was replaced by node %s", replacedBy)
	}
	return "it was removed by an operator"
}
