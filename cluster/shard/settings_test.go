package shard

import (
	"bytes"
	"log/slog"
	"runtime"
	"testing"

	"lockstep/engine/command"
)

// A leader that does not know yet which settings the cluster wants leaves the settings in the log
// alone: its own might make it evict keys. Settings that it knew in another term may be old.
func TestALeaderThatKnowsNoSettingsBringsNone(t *testing.T) {
	n := newLoneNode(t, 1, command.DefaultSettings)
	s := n.shards[0]
	wanted := s.machine.Settings()
	n.unsettled.Store(true)
	other := wanted
	other.MemoryBytesMax = 1
	n.settings.Store(&other)
	term := s.group.Term()
	s.lost(term)
	raise(&s.readyTerm, term+1)
	s.SyncSettings(t.Context())
	if got := s.machine.Settings(); got != wanted {
		t.Errorf("the settings are %+v", got)
	}
	n.unsettled.Store(false)
	s.settings.sync(term + 1)
	n.until("the settings", func() bool { return s.machine.Settings() == other })
}

// A value is on its way into the log when the value before it is wanted again.
func TestTheLastSettingsThatWereWantedStay(t *testing.T) {
	n := newLoneNode(t, 1, command.DefaultSettings)
	s := n.shards[0]
	first := s.machine.Settings()
	other := first
	other.MemoryBytesMax = 1
	sync := func() <-chan struct{} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.SyncSettings(t.Context())
		}()
		return done
	}
	applying := &s.group.parts.fsm.mu
	applying.Lock()
	n.settings.Store(&other)
	one := sync()
	n.until("it is on its way", func() bool { return s.group.Waiting() > 0 })
	n.settings.Store(&first)
	two := sync()
	n.until("the next one has looked, or waits", func() bool {
		stacks := make([]byte, 1<<20)
		for one := range bytes.SplitSeq(stacks[:runtime.Stack(stacks, true)], []byte("\n\n")) {
			if bytes.Contains(one, []byte("(*Shard).SyncSettings")) && bytes.Contains(one, []byte("sync.(*Mutex).Lock")) {
				return true
			}
		}
		select {
		case <-two:
			return true
		default:
			return false
		}
	})
	s.SyncSettings(t.Context()) // only one call waits at a time
	applying.Unlock()
	<-one
	<-two
	if got := s.machine.Settings(); got != first {
		t.Errorf("the settings are %+v", got)
	}
}

// heard receives the first line of a log.
type heard chan string

func (h heard) Write(line []byte) (int, error) {
	select {
	case h <- string(line):
	default:
	}
	return len(line), nil
}

// A shard that has no room for work gets its settings as soon as it has room.
func TestABusyShardGetsItsSettings(t *testing.T) {
	n := newLoneNode(t, 1, command.DefaultSettings)
	s := n.shards[0]
	other := s.machine.Settings()
	other.MemoryBytesMax = 1 << 30
	n.settings.Store(&other)
	told := make(heard, 1)
	s.cfg.Log = slog.New(slog.NewTextHandler(told, nil))
	s.admit.force(int(s.cfg.OutstandingTxnsMax), 0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.SyncSettings(t.Context())
	}()
	<-told
	s.admit.leave(int(s.cfg.OutstandingTxnsMax), 0)
	<-done
	if got := s.machine.Settings(); got != other {
		t.Errorf("the settings are %+v", got)
	}
}
