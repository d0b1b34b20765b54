package survey

import (
	"time"

	"lockstep/cluster/shard"
)

// Peer is what a leader knows of another member.
type Peer struct {
	Name   string
	Voter  bool
	Lag    uint64
	Age    time.Duration
	Heard  bool
	Within bool
}

// PeersOf are the other members of a group, if this node leads it.
func (v *Survey) PeersOf(g *shard.Group, stats *shard.GroupStats) []Peer {
	if stats.Role != "leader" {
		return nil
	}
	members, _ := g.Members()
	var peers []Peer
	for _, m := range members {
		if string(m.ID) == string(v.Self.ID()) {
			continue
		}
		peer := Peer{Name: v.NameOf(string(m.ID)), Voter: m.Voter, Lag: stats.LastIndex - min(stats.LastIndex, g.Progress(m.ID))}
		peer.Age, peer.Heard = g.LastAck(m.ID)
		peer.Within = peer.Heard && peer.Age < answeringHeartbeats*time.Duration(v.Self.Creation.HeartbeatMs)*time.Millisecond
		peers = append(peers, peer)
	}
	return peers
}

// Answering is how many voters of a group that this node leads have recently acknowledged it,
// including itself.
func (v *Survey) Answering(g *shard.Group, stats *shard.GroupStats) int {
	count := yes(g.Votes())
	for _, peer := range v.PeersOf(g, stats) {
		count += yes(peer.Voter && peer.Within)
	}
	return count
}

// answeringHeartbeats is for how many heartbeat intervals a silent member counts as answering.
const answeringHeartbeats = 2

// HottestShown is how many of the most contended lock slots INFO shows.
const HottestShown = 8

// yes is 1 for true.
func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}
