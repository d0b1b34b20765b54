package raftio

import (
	"sync"

	"github.com/hashicorp/raft"
)

// Configuration is a group's configuration and the index of its entry; 0 and
// none while there is none.
type Configuration struct {
	Index   uint64
	Servers []raft.Server
}

// Voters are the ids of those who vote.
func (c *Configuration) Voters() []raft.ServerID {
	var voters []raft.ServerID
	for _, s := range c.Servers {
		if s.Suffrage == raft.Voter {
			voters = append(voters, s.ID)
		}
	}
	return voters
}

// Configurations follows the latest configuration of a group, committed or not,
// from what passes through its log and its snapshots. The library tells the
// latest configuration but not its index, without which no change can be bound
// to the state it was decided on.
type Configurations struct {
	// changed is told of each new latest configuration, in order.
	changed func(Configuration)

	mu sync.Mutex // guards what follows; held while changed is called
	// before is the one before latest: Raft has at most one uncommitted
	// configuration in its log, so at most one is ever taken back.
	before, latest Configuration
	// covered is the index of the newest snapshot: what it covers is committed,
	// and goes from the log only because it is in the snapshot.
	covered uint64
	// begun is true if the log has been changed since it was opened. What is read from
	// then on is known, or was true before.
	begun bool
}

// NewConfigurations returns an empty memory; changed may be nil.
func NewConfigurations(changed func(Configuration)) *Configurations {
	return &Configurations{changed: changed}
}

// Latest is the newest configuration.
func (c *Configurations) Latest() Configuration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest
}

// wrote takes note of an entry that was written.
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

// read takes note of an entry that was read, as Raft reads the log when it starts: its
// end first, and then from the snapshot on. Later, what sends entries to others may
// read one that is being cut off.
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

// cut takes note that entries from one index to another were deleted, with which the
// log ended.
func (c *Configurations) cut(from, to uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = true
	if from <= c.latest.Index && c.latest.Index <= to && c.latest.Index > c.covered {
		c.setLocked(c.before)
	}
}

// snapshot takes note of a snapshot up to covered and the configuration in it.
// replaces: it takes the place of the log.
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
