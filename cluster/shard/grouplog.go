package shard

import (
	"math"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// appendEntriesMax is how many entries one request carries. Txns are already batched into
// entries, so a greater number would bring nothing.
const appendEntriesMax = 64

// raftConfig is the library's configuration.
func raftConfig(cfg *GroupConfig, notify chan<- bool, log hclog.Logger) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = cfg.LocalID
	c.HeartbeatTimeout = ms(cfg.HeartbeatMs)
	c.ElectionTimeout = ms(cfg.ElectionMs)
	// This is when a leader that hears no follower steps down. It is no proof for
	// anything, because reads have their own lease. So it is as long as the library
	// allows: on a busy machine a shorter time only makes leaders resign.
	c.LeaderLeaseTimeout = c.HeartbeatTimeout
	c.MaxAppendEntries = appendEntriesMax
	c.BatchApplyCh = true
	// The library takes no snapshot by itself: logBound decides.
	c.SnapshotThreshold = math.MaxUint64
	c.TrailingLogs = uint64(cfg.TrailingEntries)
	// A removed leader follows and receives nothing. The library does not decide whether
	// the node ends.
	c.ShutdownOnRemove = false
	c.NotifyCh = notify
	c.Logger = log
	c.NoLegacyTelemetry = true
	return c
}

// tuning changes the part of a running library's configuration that can be changed.
type tuning struct {
	mu sync.Mutex // held while a configuration is replaced
}

func (t *tuning) change(r *raft.Raft, change func(*raft.ReloadableConfig)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := r.ReloadableConfig()
	change(&c)
	return r.ReloadConfig(c)
}

// probeDisk makes a leader that writes nothing check its disk from time to time. A disk
// that hangs is noticed by calls that wait for it. Without the check this leader would be
// replaced only when a caller already waits.
func (p *groupParts) probeDisk(every time.Duration) {
	tick := time.NewTicker(every)
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
			return // the watchdog has reported the error
		}
	}
}
