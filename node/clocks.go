package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"lockstep/cluster/clock"
	"lockstep/cluster/meta"
	"lockstep/cluster/meta/courier"
	"lockstep/cluster/raftio"
	"lockstep/cluster/shard"
	"lockstep/node/config"
	"lockstep/proto/client"
)

// verbAdopt is the courier's verb for adoptDay, which is done where the shard is led.
const verbAdopt = "clock.adopt"

// openClocks makes what asks the other nodes what time it is.
func (n *Node) openClocks() {
	n.clocks = clock.NewExchange(clock.Config{
		Self: string(n.Self.ID()), Members: n.clockMembers, Peers: n.Transport, Mono: raftio.Now, Wall: n.wall,
		Led: n.logTimes, Heard: n.hearTime,
	})
	n.Courier.Handle(verbAdopt, n.adoptDay)
}

// clockMembers are the nodes that are asked. Those count that may vote.
func (n *Node) clockMembers() []clock.Member {
	view := n.Machine.View()
	members := make([]clock.Member, len(view.Nodes))
	for i := range view.Nodes {
		known := &view.Nodes[i]
		members[i] = clock.Member{ID: string(known.ID), Addr: known.PeerAddr, Counts: known.State == meta.Member && !known.Learner}
	}
	return members
}

// clockLimit is how far a clock may be off.
func (n *Node) clockLimit() time.Duration { return clockLimitOf(n.cfg.Current()) }

func clockLimitOf(s *config.Settings) time.Duration {
	return time.Duration(s.ClockOffsetMaxMs) * time.Millisecond
}

// logTimes are the log times of the shards that this node leads.
func (n *Node) logTimes() []clock.LogTime {
	if !n.Serving.Load() {
		return nil
	}
	var all []clock.LogTime
	for _, s := range n.Shards() {
		if t, leads := s.LogTime(); leads {
			all = append(all, t)
		}
	}
	return all
}

// hearTime hands on what a leader told of its shard's log time.
func (n *Node) hearTime(from string, t clock.LogTime, sentUs, gotUs int64) {
	if !n.Serving.Load() || uint64(t.Shard) >= uint64(n.ShardCount()) {
		return
	}
	if s := n.Replica(int(t.Shard)); s != nil {
		s.HearTime(from, t, sentUs, gotUs)
	}
}

// clockOffMs is how far this node's clock is ahead of what a majority of the nodes say.
func (n *Node) clockOffMs() float64 {
	return float64(n.clocks.OffUs(string(n.Self.ID()))) / 1000
}

// clockWrong says by how much a node's clock is further off than it may be; 0: it is not.
func (n *Node) clockWrong(id meta.NodeID) time.Duration {
	off := time.Duration(n.clocks.OffUs(string(id))) * time.Microsecond
	if off.Abs() <= n.clockLimit() {
		return 0
	}
	return off
}

// standsBack says why this node leads no shard as long as another one can, nil: it may.
func (n *Node) standsBack() error {
	if off := n.clockWrong(n.Self.ID()); off != 0 {
		return fmt.Errorf("this node's clock is %v off, and it leads only where no other node can", off.Round(time.Millisecond))
	}
	return nil
}

// watchClock says in the log when this node's clock is further off than it may be, and when it is not any more.
func (n *Node) watchClock() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for wrong := false; ; {
		select {
		case <-t.C:
		case <-n.ctx.Done():
			return
		}
		off := n.clockWrong(n.Self.ID())
		if (off != 0) == wrong {
			continue
		}
		if wrong = !wrong; wrong {
			n.log.Warn("this node's clock is not what a majority of the nodes say; the node leads no shard as long as another one can",
				"off", off.Round(time.Millisecond), "may be", n.clockLimit())
		} else {
			n.log.Info("this node's clock is what a majority of the nodes say")
		}
	}
}

var errNoMajority = &courier.Refusal{Code: "no-majority", Text: shard.ErrNoMajority.Error()}

// adoptDay sets the time of day of a shard that this node leads, and answers by how many milliseconds.
func (n *Node) adoptDay(ctx context.Context, group uint32, _ []byte) ([]byte, error) {
	s := n.Replica(int(group))
	if !n.Serving.Load() || s == nil || !s.Leads() {
		return nil, courier.ErrNotLeader
	}
	by, err := s.AdoptDay(ctx)
	if errors.Is(err, shard.ErrNoMajority) {
		return nil, errNoMajority
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(by.Milliseconds())
}

// clockOrder is LOCKSTEP CLOCK ADOPT: the time of day of each shard is set to what a majority of its voters say.
func (n *Node) clockOrder(ctx context.Context, args []string) (string, error) {
	if !strings.EqualFold(args[0], "ADOPT") {
		return "", errSyntax
	}
	var said []string
	for i := range n.ShardCount() {
		var byMs int64
		body, err := n.Courier.Do(ctx, uint32(i), verbAdopt, nil)
		if err == nil {
			err = json.Unmarshal(body, &byMs)
		}
		switch {
		case err != nil && len(said) > 0:
			return "", fmt.Errorf("%w: %s; then shard %d: %w", client.ErrHalfDone, strings.Join(said, "; "), i, err)
		case err != nil:
			return "", fmt.Errorf("shard %d: %w", i, err)
		case byMs == 0:
			said = append(said, fmt.Sprintf("the time of day of shard %d is right", i))
		default:
			said = append(said, fmt.Sprintf("the time of day of shard %d was set by %v", i, time.Duration(byMs)*time.Millisecond))
		}
	}
	return strings.Join(said, "; "), nil
}
