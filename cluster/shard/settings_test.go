package shard

import (
	"testing"

	"lockstep/engine/command"
)

// A leader that does not know yet what the cluster wants leaves the log's settings alone:
// with its own it might evict keys.
func TestALeaderThatKnowsNoSettingsBringsNone(t *testing.T) {
	n := newLoneNode(t, 1, command.DefaultSettings)
	s := n.shards[0]
	wanted := s.machine.Settings()
	n.unsettled.Store(true)
	other := wanted
	other.MemoryBytesMax = 1
	n.settings.Store(&other)
	s.SyncSettings(t.Context())
	if got := s.machine.Settings(); got != wanted {
		t.Errorf("the settings are %+v", got)
	}
	n.unsettled.Store(false)
	s.SyncSettings(t.Context())
	n.until("the settings", func() bool { return s.machine.Settings() == other })
}

// Two who bring settings at once may bring the older ones behind the newer: what is wanted
// has the last word.
func TestOlderSettingsAreNotTheLastWord(t *testing.T) {
	n := newLoneNode(t, 1, command.DefaultSettings)
	s := n.shards[0]
	n.until("the leader's own look", func() bool { return n.looks.Load() > 0 })
	older, newer := s.machine.Settings(), s.machine.Settings()
	older.MemoryBytesMax, newer.MemoryBytesMax = 1<<30, 2<<30
	n.settings.Store(&older)
	first := true
	looked := func() {
		if first {
			first = false
			n.settings.Store(&newer)
			s.SyncSettings(t.Context())
		}
	}
	n.looked.Store(&looked)
	s.SyncSettings(t.Context())
	if got := s.machine.Settings(); got != newer {
		t.Errorf("maxmemory is %d, and was set to %d at last", got.MemoryBytesMax, newer.MemoryBytesMax)
	}
}

// For settings there may be no room at the moment: they come all the same.
func TestSettingsComeWhenThereIsRoom(t *testing.T) {
	n := newLoneNode(t, 1, command.DefaultSettings)
	s := n.shards[0]
	n.until("the leader's own look", func() bool { return n.looks.Load() > 0 })
	wanted := s.machine.Settings()
	wanted.MemoryBytesMax = 1 << 30
	n.settings.Store(&wanted)
	s.admit.force(1<<20, 0)
	looks := 0
	looked := func() {
		if looks++; looks == 2 {
			s.admit.leave(1<<20, 0)
		}
	}
	n.looked.Store(&looked)
	s.SyncSettings(t.Context())
	if got := s.machine.Settings(); got != wanted {
		t.Errorf("maxmemory is %d after %d looks", got.MemoryBytesMax, looks)
	}
}
