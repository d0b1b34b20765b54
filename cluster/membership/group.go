package membership

import (
	"context"
	"slices"
	"time"

	"lockstep/cluster/meta"
)

// Server is a member of a group's Raft configuration.
type Server struct {
	ID    meta.NodeID
	Addr  string
	Voter bool
}

// Progress is how far another server has come with the log, as far as the leader knows.
type Progress struct {
	// Match is the last log index that the server is known to have.
	Match uint64
	// Acked is the time at which the leader sent the newest request that the server has
	// acknowledged. It is zero if there is none.
	Acked time.Time
	// SentBytes of SnapshotBytes have been sent to the server; both are 0 if no snapshot is being
	// sent.
	SentBytes, SnapshotBytes int64
}

// Group is the part of a Raft group's replica that this package uses.
type Group interface {
	// Leads reports whether this node leads the group.
	Leads() bool
	// Term is the newest term that this node knows of.
	Term() uint64
	// Servers returns the newest configuration and its log index.
	Servers() (servers []Server, index uint64)
	// Progress returns the progress of a server; only the leader knows it.
	Progress(id meta.NodeID) Progress
	LastIndex() uint64
	// Confirm returns nil if this node still leads, proved by answers to requests sent after the
	// call, and the newest configuration is committed.
	Confirm(ctx context.Context) error
	// Change carries out one action and returns when it is committed. It fails if index is no
	// longer the index of the configuration.
	Change(ctx context.Context, a Action, index uint64) error
}

// PeerAddrs lists addresses of other nodes: those in the view, those in the meta group's
// configuration (after a restart it is known before the view is), and those in also. It includes
// the address that the cluster has for this node if this node is at another address now, addr:
// another node may be there.
func PeerAddrs(self meta.NodeID, addr string, view *meta.View, metaGroup Group, also []string) []string {
	var addrs []string
	for _, n := range view.Nodes {
		if n.ID != self || n.PeerAddr != addr {
			addrs = append(addrs, n.PeerAddr)
		}
	}
	servers, _ := metaGroup.Servers()
	for _, s := range servers {
		if s.ID != self || s.Addr != addr {
			addrs = append(addrs, s.Addr)
		}
	}
	addrs = append(addrs, also...)
	slices.Sort(addrs)
	return slices.Compact(addrs)
}

const (
	// aliveWithin is how old the last acknowledgement of a live server may be.
	aliveWithin = 3 * time.Second
	// closeEntries is how many entries behind the end of the log a server may be and still count as
	// close.
	closeEntries = 128
)

// observe returns the servers of the group as the leader sees them. CaughtUp only means that the
// server is close at this moment.
func observe(g Group, self meta.NodeID, now time.Time) (peers []Peer, index uint64) {
	servers, index := g.Servers()
	last := g.LastIndex()
	for _, s := range servers {
		p := Peer{ID: s.ID, Addr: s.Addr, Voter: s.Voter, Self: s.ID == self}
		if p.Self {
			p.Alive, p.CaughtUp = true, true
		} else {
			seen := g.Progress(s.ID)
			p.Alive = !seen.Acked.IsZero() && now.Sub(seen.Acked) < aliveWithin
			p.Filled = seen.SnapshotBytes > 0
			p.CaughtUp = p.Alive && seen.Match+closeEntries >= last
		}
		peers = append(peers, p)
	}
	return peers, index
}

// askAnew leaves alive only the servers that acknowledge a request sent after the call. A node that
// has just died still looks alive for a moment, and a change that relies on its vote may cost the
// group its quorum.
func askAnew(ctx context.Context, g Group, peers []Peer) error {
	for asked := time.Now(); ; {
		silent := func(p Peer) bool { return p.Alive && !p.Self && !g.Progress(p.ID).Acked.After(asked) }
		if !slices.ContainsFunc(peers, silent) {
			return nil
		}
		if time.Since(asked) >= aliveWithin {
			for i := range peers {
				if silent(peers[i]) {
					peers[i].Alive, peers[i].CaughtUp = false, false
				}
			}
			return nil
		}
		if !sleep(ctx, busyPause) {
			return ctx.Err()
		}
	}
}
