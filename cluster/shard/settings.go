package shard

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/engine/command"
	"lockstep/fsm"
)

// settingsSync puts the settings that affect how entries are applied into the log, while
// this node leads and they differ from those in the log.
type settingsSync struct {
	shard *Shard
	// syncing is held while settings are put into the log. awaited is true if a goroutine
	// waits for syncing.
	syncing sync.Mutex
	awaited atomic.Bool
	// settledTerm is the newest term that this node leads and in which it knows the
	// settings.
	settledTerm atomic.Uint64
}

// sync puts the settings that the cluster wants into the log, once this node knows them.
func (y *settingsSync) sync(term uint64) {
	s := y.shard
	for s.cfg.Settle != nil && s.cfg.Settle(s.ctx) != nil {
		if pause(s.ctx, settingPause); s.readyTerm.Load() != term || s.ctx.Err() != nil {
			return
		}
	}
	raise(&y.settledTerm, term)
	y.syncNow(s.ctx)
}

// SyncSettings puts the settings that affect how entries are applied into the log, while
// this node leads and they differ from those in the log. If another call waits already,
// SyncSettings returns at once: the waiting call will use the settings of that later moment.
func (s *Shard) SyncSettings(ctx context.Context) { s.settings.syncNow(ctx) }

// syncNow is SyncSettings. Only one call at a time puts settings into the log, because a
// call could find its value in place while another value is on its way, and that other
// value would stay.
func (y *settingsSync) syncNow(ctx context.Context) {
	if !y.awaited.CompareAndSwap(false, true) {
		return
	}
	y.syncing.Lock()
	defer y.syncing.Unlock()
	y.awaited.Store(false)
	for _, name := range command.SettingNames() {
		for try := 0; ctx.Err() == nil; try++ {
			err := y.syncOne(ctx, name)
			if err == nil {
				break
			}
			if try == 0 {
				y.shard.cfg.Log.Warn("a setting has not reached the log yet", "setting", name, "reason", err)
			}
			pause(ctx, settingPause)
		}
	}
	y.shard.evictor.Kick()
}

// settingPause is the pause between two attempts to learn the settings, or to put one
// into the log: the shard may be busy.
const settingPause = 50 * time.Millisecond

func (y *settingsSync) syncOne(ctx context.Context, name string) error {
	s := y.shard
	want, have := s.cfg.Settings(), s.machine.Settings()
	value := *want.Ref(name)
	if !s.Leads() || y.settledTerm.Load() != s.readyTerm.Load() || value == *have.Ref(name) {
		return nil
	}
	args := [][]byte{[]byte("lockstep.set"), []byte(name), strconv.AppendInt(nil, value, 10)}
	return s.proposer.own(ctx, fsm.Txn{Kind: fsm.KindSetting, Ops: []fsm.Op{{Args: args}}})
}
