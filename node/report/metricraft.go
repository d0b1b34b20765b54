package report

import (
	"lockstep/node/metrics"
)

// ofGroup are the labels of metrics of a replica, ofPeer those of metrics that a leader has for
// each other member.
var (
	ofGroup = []string{"shard"}
	ofPeer  = []string{"shard", "peer"}
)

// raftMetrics describe this node's replicas.
var raftMetrics = []metric{
	{metrics.Desc{Name: "lockstep_raft_state", Kind: metrics.Gauge, Labels: []string{"shard", "state"}, Help: "1 for the present state of this replica (leader, follower, candidate or learner), 0 for the others."}, "Raft", readState},
	{metrics.Desc{Name: "lockstep_raft_has_leader", Kind: metrics.Gauge, Labels: ofGroup, Help: "Whether this replica knows a leader."}, "Raft",
		perGroup(func(g *groupLook) int { return yes(g.stats.LeaderID != "") })},
	{metrics.Desc{Name: "lockstep_raft_applied_index", Kind: metrics.Counter, Labels: ofGroup, Help: "Index up to which the state machine has received the log."}, "Raft", perGroup(func(g *groupLook) uint64 { return g.stats.Applied })},
	{metrics.Desc{Name: "lockstep_raft_last_contact_seconds", Kind: metrics.Gauge, Labels: ofGroup, Help: "Time since the last message from the leader; 0 on the leader."}, "Raft", perGroup(func(g *groupLook) float64 { return g.stats.LastContact.Seconds() })},
	{metrics.Desc{Name: "lockstep_raft_voters_answering", Kind: metrics.Gauge, Labels: ofGroup, Help: "Only on the leader: voters that acknowledged it recently, itself included. If only a quorum answers, the next failure stops the shard."}, "acknowledgements", readAnswering},
	{metrics.Desc{Name: "lockstep_raft_peer_lag_entries", Kind: metrics.Gauge, Labels: ofPeer, Help: "Only on the leader: entries of its log that a member has not acknowledged."}, "acknowledgements", readPeerLag},
	{metrics.Desc{Name: "lockstep_raft_peer_last_ack_seconds", Kind: metrics.Gauge, Labels: ofPeer, Help: "Only on the leader: age of the newest request that a member has acknowledged in this term."}, "acknowledgements", readPeerAck},
	{metrics.Desc{Name: "lockstep_raft_elections_total", Kind: metrics.Counter, Labels: ofGroup, Help: "Elections in which this replica stood."}, "Raft's observer", perGroup(func(g *groupLook) uint64 { return g.counts.Elections.Load() })},
	{metrics.Desc{Name: "lockstep_raft_elections_won_total", Kind: metrics.Counter, Labels: ofGroup, Help: "Elections that this replica won."}, "Raft's observer", perGroup(func(g *groupLook) uint64 { return g.counts.Won.Load() })},
	{metrics.Desc{Name: "lockstep_raft_leader_changes_total", Kind: metrics.Counter, Labels: ofGroup, Help: "How often this replica learned of a new leader, itself included."}, "Raft's observer", perGroup(func(g *groupLook) uint64 { return g.counts.Changes.Load() })},
	{metrics.Desc{Name: "lockstep_raft_heartbeat_failures_total", Kind: metrics.Counter, Labels: ofGroup, Help: "Heartbeats of this leader that a follower did not answer."}, "Raft's observer", perGroup(func(g *groupLook) uint64 { return g.counts.FailedHeartbeats.Load() })},
	{metrics.Desc{Name: "lockstep_raft_proposals_total", Kind: metrics.Counter, Labels: []string{"shard", "outcome"}, Help: "Entries proposed here, by outcome: committed, not_proposed or unknown."}, "proposals", readProposals},
	{metrics.Desc{Name: "lockstep_raft_proposals_waiting", Kind: metrics.Gauge, Labels: ofGroup, Help: "Entries proposed here that are neither committed nor given up."}, "proposals", perGroup(func(g *groupLook) int { return g.group.Waiting() })},
	{metrics.Desc{Name: "lockstep_raft_commit_seconds", Kind: metrics.Distribution, Help: "Time from the proposal of an entry to its commit or failure, over all replicas of this node."}, "proposals", func(l *look, p *metrics.Page) { p.AddHistogram(l.Survey.Timings.Commit.Look()) }},
	{metrics.Desc{Name: "lockstep_raft_log_fsync_seconds", Kind: metrics.Distribution, Help: "Time to append to the log and sync it, over all replicas of this node. A healthy disk needs less than 10 ms."}, "the log store", func(l *look, p *metrics.Page) { p.AddHistogram(l.Survey.Timings.Sync.Look()) }},
	{metrics.Desc{Name: "lockstep_raft_snapshot_seconds", Kind: metrics.Distribution, Help: "Time to write a snapshot, successful or not, over all replicas of this node."}, "the state machine", func(l *look, p *metrics.Page) { p.AddHistogram(l.Survey.Timings.Snapshot.Look()) }},
	{metrics.Desc{Name: "lockstep_raft_snapshots_total", Kind: metrics.Counter, Labels: ofGroup, Help: "Snapshots written."}, "the state machine", perGroup(func(g *groupLook) uint64 { return g.counts.Snapshots.Load() })},
	{metrics.Desc{Name: "lockstep_raft_snapshot_failures_total", Kind: metrics.Counter, Labels: ofGroup, Help: "Snapshots that could not be written."}, "the state machine", perGroup(func(g *groupLook) uint64 { return g.counts.SnapshotsFailed.Load() })},
	{metrics.Desc{Name: "lockstep_raft_snapshot_size_bytes", Kind: metrics.Gauge, Labels: ofGroup, Help: "Size of the last snapshot written since the start; 0 if there was none."}, "the state machine", perGroup(func(g *groupLook) int64 { return g.counts.SnapshotBytes.Load() })},
	{metrics.Desc{Name: "lockstep_raft_snapshot_timestamp_seconds", Kind: metrics.Gauge, Labels: ofGroup, Help: "When the last snapshot since the start was written, in Unix time; 0 if there was none."}, "the state machine", perGroup(func(g *groupLook) int64 { return g.counts.SnapshotUnix.Load() })},
}

func readState(l *look, p *metrics.Page) {
	l.eachGroup(func(g *groupLook, _ ...string) {
		for _, state := range []string{"leader", "follower", "candidate", "learner"} {
			p.Add(float64(yes(g.stats.Role == state)), g.label, state)
		}
	})
}

func readProposals(l *look, p *metrics.Page) {
	l.eachGroup(func(g *groupLook, _ ...string) {
		p.Add(float64(g.counts.Committed.Load()), g.label, "committed")
		p.Add(float64(g.counts.NotProposed.Load()), g.label, "not_proposed")
		p.Add(float64(g.counts.Unknown.Load()), g.label, "unknown")
	})
}

func readAnswering(l *look, p *metrics.Page) {
	l.eachGroup(func(g *groupLook, _ ...string) {
		if g.stats.Role == "leader" {
			p.Add(float64(l.Survey.Answering(g.group, &g.stats)), g.label)
		}
	})
}

func readPeerLag(l *look, p *metrics.Page) {
	l.eachGroup(func(g *groupLook, _ ...string) {
		for _, peer := range l.Survey.PeersOf(g.group, &g.stats) {
			p.Add(float64(peer.Lag), g.label, peer.Name)
		}
	})
}

func readPeerAck(l *look, p *metrics.Page) {
	l.eachGroup(func(g *groupLook, _ ...string) {
		for _, peer := range l.Survey.PeersOf(g.group, &g.stats) {
			if peer.Heard {
				p.Add(peer.Age.Seconds(), g.label, peer.Name)
			}
		}
	})
}
