package fsm

import (
	"errors"
	"math"
	"testing"

	"lockstep/engine/command"
)

// TestAHeaderOfAnImpossibleKeyspaceIsRefused: a damaged number of lock slots gives an error.
func TestAHeaderOfAnImpossibleKeyspaceIsRefused(t *testing.T) {
	for _, lockSlots := range []int{0, -1, 1 << 20, math.MaxInt} {
		h := header{settings: command.DefaultSettings}
		h.engine.LockSlots = lockSlots
		if _, err := decodeHeader(h.append(nil)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d lock slots: %v", lockSlots, err)
		}
	}
}

// TestHeadersTellSettings: a header has the value of every setting, whether or not it is the
// default.
func TestHeadersTellSettings(t *testing.T) {
	h := header{settings: command.DefaultSettings}
	h.engine.LockSlots = 64
	h.settings.TxnWorkMaxMs, h.settings.ScriptCallDepthMax, h.settings.ListPackSize = 7, 100, -5
	got, err := decodeHeader(h.append(nil))
	if err != nil || got.settings != h.settings {
		t.Errorf("%v, %+v", err, got.settings)
	}
	told := 0
	h.settings.Each(func(string, int64) { told++ })
	if want := len(command.SettingNames()); told != want {
		t.Errorf("%d settings of %d", told, want)
	}
}

// TestAHeaderOfAnotherVersionIsRefused with an error.
func TestAHeaderOfAnotherVersionIsRefused(t *testing.T) {
	for _, version := range []byte{0, headerVersion + 1} {
		h := header{settings: command.DefaultSettings}
		h.engine.LockSlots = 64
		data := h.append(nil)
		data[0] = version
		if _, err := decodeHeader(data); !errors.Is(err, ErrVersion) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}
