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
