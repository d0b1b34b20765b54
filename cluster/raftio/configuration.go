package raftio

import (
	"sync"

	"github.com/hashicorp/raft"
)

// Configuration is a group's configuration and the index of its entry. Before the first
// one, the index is 0 and it has no servers.
type Configuration struct {
	Index   uint64
	Servers []raft.Server
}

// Voters are the ids of the servers that vote.
func (c *Configuration) Voters() []raft.ServerID {
	var voters []raft.ServerID
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			voters = append(voters, s.ID)
		}
	}
	return voters
}

// Configurations follows the latest configuration of a group, committed or not, by the
// entries and snapshots that are read and written. The library gives the latest
// configuration but not its index. Without the index, no change can be bound to the state
// on which it was decided.
type Configurations struct {
	// changed is called with each new latest configuration, in order.
	changed func(Configuration)

	mu sync.Mutex // guards what follows; held while changed is called
	// before is the one before latest: Raft has at most one uncommitted
	// configuration in its log, so at most one is ever taken back.
	before, latest Configuration
	// covered is the index of the newest snapshot. Entries up to it are committed, and
	// are deleted from the log only because they are in the snapshot.
	covered uint64
	// begun is true if the log has been changed since it was opened. A configuration that
	// is read from then on is known already, or is out of date.
	begun bool
}

// NewConfigurations returns an empty Configurations. changed may be nil.
func NewConfigurations(changed func(Configuration)) *Configurations {
	return &Configurations{changed: changed}
}

// Latest is the newest configuration.
func (c *Configurations) Latest() Configuration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest
}

// wrote records an entry that was written.
func (c *Configurations) wrote(l *raft.Log) {
	if l.Type != raft.LogConfiguration {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = true
	if l.Index > c.latest.Index {
		c.before = c.latest
		c.setLocked(configurationOf(l))
	}
}

// read records an entry that was read. When Raft starts it reads the log: first its end,
// and then from the snapshot on. Later, a goroutine that sends entries to other nodes may
// read an entry that is being cut off.
func (c *Configurations) read(l *raft.Log) {
	if l.Type != raft.LogConfiguration {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.begun:
	case l.Index > c.latest.Index:
		c.before = c.latest
		c.setLocked(configurationOf(l))
	case l.Index > c.before.Index && l.Index < c.latest.Index:
		c.before = configurationOf(l)
	}
}

func configurationOf(l *raft.Log) Configuration {
	return Configuration{l.Index, raft.DecodeConfiguration(l.Data).Servers}
}

// cut records that entries from one index to another were deleted from the end of the
// log.
func (c *Configurations) cut(from, to uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = true
	if from <= c.latest.Index && c.latest.Index <= to && c.latest.Index > c.covered {
		c.setLocked(c.before)
	}
}

// snapshot records a snapshot up to covered, and its configuration in. replaces is true
// if the snapshot replaces the log.
func (c *Configurations) snapshot(covered uint64, in Configuration, replaces bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.covered = covered
	if replaces || in.Index > c.latest.Index {
		c.before = in
		c.setLocked(in)
	}
}

func (c *Configurations) setLocked(latest Configuration) {
	c.latest = latest
	if c.changed != nil {
		c.changed(latest)
	}
}
