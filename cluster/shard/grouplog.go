package shard

import (
	"math"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

const (
	// appendEntriesMax is how many entries one request carries; txns are put
	// together into entries before, so that more would buy nothing.
	appendEntriesMax = 64
	// snapshotBytesUsual is GroupConfig.SnapshotBytes where none is given.
	snapshotBytesUsual = 256 << 20
	// snapshotLookEvery is how often Raft looks whether a snapshot is due, and
	// logLookEvery how often this package does.
	snapshotLookEvery = 5 * time.Second
	logLookEvery      = time.Second
	// heldMax is how many times as long as usual the log may become while a snapshot
	// is sent, and heldAfter how long the one it was sent to may take to catch up.
	heldMax   = 4
	heldAfter = time.Minute
	// heldClose is how many entries behind the end of the log has caught up.
	heldClose = 64
)

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
	c.SnapshotThreshold = uint64(cfg.SnapshotEntries)
	c.TrailingLogs = uint64(cfg.TrailingEntries)
	c.SnapshotInterval = snapshotLookEvery
	// A removed leader follows and hears of nothing; whether the node ends is not
	// the library's to decide.
	c.ShutdownOnRemove = false
	c.NotifyCh = notify
	c.Logger = log
	c.NoLegacyTelemetry = true
	return c
}

// boundLog takes snapshots by bytes. Raft counts entries, and one entry may
// have half a megabyte or a hundred bytes: what is many of the ones is little
// of the others.
func (g *Group) boundLog(p *groupParts) {
	tick := time.NewTicker(logLookEvery)
	defer tick.Stop()
	begin, beginIndex := uint64(0), p.raft.LastIndex()
	held := false
	for {
		select {
		case <-tick.C:
		case <-p.stop:
			return
		}
		if now := g.isAwaited(p); now != held {
			held = now
			g.hold(p.raft, held)
		}
		most := g.cfg.SnapshotBytes
		if held {
			most *= heldMax
		}
		bytes := p.stores.AppendedBytes() - begin
		if bytes < most {
			continue
		}
		last := p.raft.LastIndex()
		g.boundTrailing(p.raft, bytes, last-min(last, beginIndex))
		begin, beginIndex = begin+bytes, last
		if err := g.TakeSnapshot(); err != nil {
			g.cfg.Log.Warn("no snapshot could be taken", "group", g.cfg.ID, "err", err)
		}
	}
}

// isAwaited tells whether the log is needed by one that a snapshot is being sent to,
// or was lately: behind it come the entries since. Would they be cut meanwhile, it
// would need another snapshot, and under load that would never end.
func (g *Group) isAwaited(p *groupParts) bool {
	if p.raft.State() != raft.Leader {
		return false
	}
	last := p.raft.LastIndex()
	return slices.ContainsFunc(p.trans.Installing(heldAfter), func(id raft.ServerID) bool { return g.Progress(id)+heldClose < last })
}

// hold keeps Raft from taking snapshots, which cut the log, or lets it again.
func (g *Group) hold(r *raft.Raft, on bool) {
	err := g.configure(r, func(c *raft.ReloadableConfig) {
		if c.SnapshotThreshold = uint64(g.cfg.SnapshotEntries); on {
			c.SnapshotThreshold = math.MaxUint64
		}
	})
	if err != nil {
		g.cfg.Log.Warn("whether snapshots are taken could not be set", "group", g.cfg.ID, "err", err)
	}
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

// boundTrailing lets as many entries stay behind a snapshot as have
// SnapshotBytes, at the size of the latest.
func (g *Group) boundTrailing(r *raft.Raft, bytes, entries uint64) {
	err := g.configure(r, func(c *raft.ReloadableConfig) {
		c.TrailingLogs = trailing(uint64(g.cfg.TrailingEntries), g.cfg.SnapshotBytes, bytes, entries)
	})
	if err != nil {
		g.cfg.Log.Warn("the length of the log behind snapshots could not be set", "group", g.cfg.ID, "err", err)
	}
}

// trailing is how many entries may stay: at most entriesMax, and at most so
// many as have bytesMax where the latest entries had so many bytes.
func trailing(entriesMax, bytesMax, bytes, entries uint64) uint64 {
	if bytes == 0 || entries == 0 {
		return entriesMax
	}
	return min(entriesMax, max(1, bytesMax*entries/bytes))
}
