package shard

import (
	"math"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// appendEntriesMax is how many entries one request carries; txns are put
// together into entries before, so that more would buy nothing.
const appendEntriesMax = 64

// raftConfig is the library's configuration.
func raftConfig(cfg *GroupConfig, notify chan<- bool, log hclog.Logger) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = cfg.LocalID
	c.HeartbeatTimeout = ms(cfg.HeartbeatMs)
	c.ElectionTimeout = ms(cfg.ElectionMs)
	// When a leader that hears nobody steps down. It proves nothing to anybody,
	// reads have their own lease, so it is as long as the library allows: on a
	// busy machine a shorter one only makes leaders resign.
	c.LeaderLeaseTimeout = c.HeartbeatTimeout
	c.MaxAppendEntries = appendEntriesMax
	c.BatchApplyCh = true
	// The library takes no snapshot by itself: boundLog has the rule.
	c.SnapshotThreshold = math.MaxUint64
	c.TrailingLogs = uint64(cfg.TrailingEntries)
	// A removed leader follows and hears of nothing; whether the node ends is not
	// the library's to decide.
	c.ShutdownOnRemove = false
	c.NotifyCh = notify
	c.Logger = log
	c.NoLegacyTelemetry = true
	return c
}

// probeDisk has a leader whose log rests look whether its disk goes on. One that
// hangs is noticed by calls that wait for it, and this leader would be replaced only
// when somebody waits already.
func (g *Group) probeDisk(p *groupParts) {
	tick := time.NewTicker(g.cfg.ProbeEvery)
	defer tick.Stop()
	written := p.stores.AppendedBytes()
	for {
		select {
		case <-tick.C:
		case <-p.stop:
			return
		}
		before := written
		written = p.stores.AppendedBytes()
		if written != before || p.raft.State() != raft.Leader {
			continue
		}
		if err := p.stores.Probe(); err != nil {
			return // the watchdog has told
		}
	}
}
