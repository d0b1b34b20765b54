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
	"lockstep/cluster/meta/leaderrpc"
	"lockstep/cluster/raftio"
	"lockstep/cluster/shard"
	"lockstep/node/config"
	"lockstep/node/member"
	"lockstep/proto/admin"
)

// clocks compares the clocks of the nodes, and sets the time of day of shards on demand.
type clocks struct {
	*member.Member
	ctx context.Context
	// Exchange asks the other nodes for their time.
	Exchange *clock.Exchange
}

// verbAdopt is the leaderrpc verb for adopt, which the leader of the shard executes.
const verbAdopt = "clock.adopt"

// open makes the exchange that asks the other nodes for their time.
func (c *clocks) open() {
	c.Exchange = clock.NewExchange(clock.Config{
		Self: string(c.Self.ID()), Members: c.members, Peers: c.Transport, Mono: raftio.Now, Wall: c.Wall,
		Led: c.logTimes, Heard: c.noteLogTime,
	})
	c.LeaderRPC.Handle(verbAdopt, c.adopt)
}

// members are the nodes that are asked. Only those that may vote count.
func (c *clocks) members() []clock.Member {
	view := c.Machine.View()
	members := make([]clock.Member, len(view.Nodes))
	for i := range view.Nodes {
		known := &view.Nodes[i]
		members[i] = clock.Member{ID: string(known.ID), Addr: known.PeerAddr, Counts: known.State == meta.Member && !known.Learner}
	}
	return members
}

// Limit is how far a clock may be off.
func (c *clocks) Limit() time.Duration { return clockLimitOf(c.Config.Current()) }

func clockLimitOf(s *config.Settings) time.Duration {
	return time.Duration(s.ClockOffsetMaxMs) * time.Millisecond
}

// logTimes are the log times of the shards that this node leads.
func (c *clocks) logTimes() []clock.LogTime {
	if !c.Serving.Load() {
		return nil
	}
	var all []clock.LogTime
	for _, s := range c.Shards() {
		if t, leads := s.Clock().LogTime(); leads {
			all = append(all, t)
		}
	}
	return all
}

// noteLogTime passes on the log time that the leader of a shard has reported.
func (c *clocks) noteLogTime(from string, t clock.LogTime, sentUs, gotUs int64) {
	if !c.Serving.Load() || uint64(t.Shard) >= uint64(c.ShardCount()) {
		return
	}
	if s := c.Replica(int(t.Shard)); s != nil {
		s.Clock().HearTime(from, t, sentUs, gotUs)
	}
}

// OffMs is by how many milliseconds this node's clock is ahead of a majority of the nodes.
func (c *clocks) OffMs() float64 {
	return float64(c.Exchange.OffUs(string(c.Self.ID()))) / 1000
}

// Wrong returns by how much a node's clock is off, or 0 if that is within the limit.
func (c *clocks) Wrong(id meta.NodeID) time.Duration {
	off := time.Duration(c.Exchange.OffUs(string(id))) * time.Microsecond
	if off.Abs() <= c.Limit() {
		return 0
	}
	return off
}

// standsBack returns why this node leads a shard only if no other node can, or nil if it may lead.
func (c *clocks) standsBack() error {
	if off := c.Wrong(c.Self.ID()); off != 0 {
		return fmt.Errorf("this node's clock is %v off, and it leads only where no other node can", off.Round(time.Millisecond))
	}
	return nil
}

// watch logs when this node's clock goes beyond the limit, and when it is back within it.
func (c *clocks) watch() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for wrong := false; ; {
		select {
		case <-t.C:
		case <-c.ctx.Done():
			return
		}
		off := c.Wrong(c.Self.ID())
		if (off != 0) == wrong {
			continue
		}
		if wrong = !wrong; wrong {
			c.Log.Warn("this node's clock is not what a majority of the nodes say; the node leads no shard as long as another one can",
				"off", off.Round(time.Millisecond), "may be", c.Limit())
		} else {
			c.Log.Info("this node's clock is what a majority of the nodes say")
		}
	}
}

var errNoMajority = &leaderrpc.Refusal{Code: "no-majority", Text: shard.ErrNoMajority.Error()}

// adopt sets the time of day of a shard that this node leads, and answers by how many milliseconds
// it changed.
func (c *clocks) adopt(ctx context.Context, group uint32, _ []byte) ([]byte, error) {
	s := c.Replica(int(group))
	if !c.Serving.Load() || s == nil || !s.Leads() {
		return nil, leaderrpc.ErrNotLeader
	}
	by, err := s.Clock().AdoptDay(ctx)
	if errors.Is(err, shard.ErrNoMajority) {
		return nil, errNoMajority
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(by.Milliseconds())
}

// Adopt implements LOCKSTEP CLOCK ADOPT: it sets the time of day of each shard to that of a
// majority of its voters.
func (c *clocks) Adopt(ctx context.Context) (string, error) {
	var said []string
	for i := range c.ShardCount() {
		var byMs int64
		body, err := c.LeaderRPC.Do(ctx, uint32(i), verbAdopt, nil)
		if err == nil {
			err = json.Unmarshal(body, &byMs)
		}
		switch {
		case err != nil && len(said) > 0:
			return "", fmt.Errorf("%w: %s; then shard %d: %w", admin.ErrHalfDone, strings.Join(said, "; "), i, err)
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
