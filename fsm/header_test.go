package fsm

import (
	"errors"
	"math"
	"testing"

	"lockstep/engine/command"
)

// TestAHeaderOfAnImpossibleKeyspaceIsRefused: a damaged number of lock slots ends
// in words.
func TestAHeaderOfAnImpossibleKeyspaceIsRefused(t *testing.T) {
	for _, lockSlots := range []int{0, -1, 1 << 20, math.MaxInt} {
		h := header{settings: command.DefaultSettings}
		h.engine.LockSlots = lockSlots
		if _, err := decodeHeader(h.append(nil)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d lock slots: %v", lockSlots, err)
		}
	}
}

// TestHeadersTellLateSettings: a setting that came with a cluster version is in a
// snapshot where it is not what it was before, and only there: a program that does
// not know it reads the others.
func TestHeadersTellLateSettings(t *testing.T) {
	const name = "lockstep.steps-counted"
	for _, value := range []int64{0, 1} {
		h := header{settings: command.DefaultSettings}
		h.engine.LockSlots = 64
		h.settings.StepsCounted = value
		data := h.append(nil)
		got, err := decodeHeader(data)
		if err != nil || got.settings != h.settings {
			t.Fatalf("%d: %v, %+v", value, err, got.settings)
		}
		told := map[string]bool{}
		h.settings.Each(func(name string, _ int64) { told[name] = true })
		if told[name] != (value == 1) || !told["txn-steps-max"] {
			t.Errorf("%d: it tells %v", value, told)
		}
	}
}
