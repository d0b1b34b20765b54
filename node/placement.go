package node

import (
	"context"
	"encoding/json"
	"time"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/cluster/placement"
	"lockstep/node/config"
	"lockstep/node/member"
)

// kindLed asks a node which shards it leads. The answer is JSON of []placement.Led.
const kindLed uint8 = 40

// place starts to keep replicas and leaders where they should be.
func (n *Node) place() {
	m := n.Manager.Load()
	metaReplica := membership.NewReplica(n.MetaGroup)
	n.placement = placement.New(placement.Config{
		Self: n.Self.ID(), Meta: n.Meta, LeaderRPC: n.LeaderRPC, Leads: metaReplica.Leads,
		Acked:    func(id meta.NodeID) time.Time { return metaReplica.Progress(id).Acked },
		ClockOff: n.clocks.Wrong,
		Ask:      n.replicas.askLed,
		Transfer: func(ctx context.Context, shard uint32, to meta.NodeID) error {
			_, err := m.Transfer(ctx, shard, string(to))
			return err
		},
		Settings: func() placement.Settings { return placementSettings(n.Config.Current()) },
		Log:      n.Log,
	})
	n.Machine.OnChange(func(*meta.View) { n.placement.Kick() })
	n.background.Go(func() { n.placement.Run(n.ctx) })
}

func placementSettings(s *config.Settings) placement.Settings {
	return placement.Settings{
		Limits:      placement.Limits{CopiesMax: s.ReplicaCopiesMax, Still: !s.Rebalance},
		RepairAfter: time.Duration(s.ReplicaRepairAfterMs) * time.Millisecond,
	}
}

// repairAfter is how long a node must have been dead before it is given up.
func repairAfter(m *member.Member) time.Duration {
	return placementSettings(m.Config.Current()).RepairAfter
}

// askLed asks a node, which may be this one, for the shards that it leads.
func (r *replicas) askLed(ctx context.Context, node meta.Node) ([]placement.Led, error) {
	if node.ID == r.n.Self.ID() {
		return r.ledHere(), nil
	}
	answer, err := r.n.Transport.Call(ctx, node.PeerAddr, kindLed, nil)
	if err != nil {
		return nil, err
	}
	var led []placement.Led
	return led, json.Unmarshal(answer, &led)
}

func (r *replicas) serveLed(reply func([]byte)) {
	data, err := json.Marshal(r.ledHere())
	if err != nil {
		data = nil
	}
	reply(data)
}

// ledHere reports on the shards that this node leads.
func (r *replicas) ledHere() []placement.Led {
	var all []placement.Led
	m := r.n.Manager.Load()
	for _, s := range r.n.Shards() {
		if !s.Leads() {
			continue
		}
		g := membership.NewReplica(s.Group())
		servers, _ := g.Servers()
		led := placement.Led{
			Shard: s.ID(), Term: s.Group().Term(), LastIndex: g.LastIndex(),
			ForMs: time.Now().UnixMilli() - r.leads[s.ID()].Load(),
		}
		if m != nil {
			led.Waits = m.Waits(s.ID())
		}
		for _, server := range servers {
			p := g.Progress(server.ID)
			led.Members = append(led.Members, placement.Member{
				Node: server.ID, Voter: server.Voter, Match: p.Match, SentBytes: p.SentBytes, SnapshotBytes: p.SnapshotBytes,
			})
		}
		all = append(all, led)
	}
	return all
}
