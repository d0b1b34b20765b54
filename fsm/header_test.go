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
	for _, late := range []struct {
		name          string
		before, since int64
	}{{"lockstep.steps-counted", 0, 1}, {"lockstep.as-redis", 0, 4}, {"lockstep.watch-lapsed", 0, 1}, {"script-max-call-depth", 4000, 100}} {
		headerTells(t, late.name, late.before, false)
		headerTells(t, late.name, late.since, true)
	}
}

// headerTells encodes a setting's value, and looks whether it is told of.
func headerTells(t *testing.T, name string, value int64, tells bool) {
	t.Helper()
	h := header{settings: command.DefaultSettings}
	h.engine.LockSlots = 64
	*h.settings.Ref(name) = value
	data := h.append(nil)
	got, err := decodeHeader(data)
	if err != nil || got.settings != h.settings {
		t.Fatalf("%s %d: %v, %+v", name, value, err, got.settings)
	}
	told := map[string]bool{}
	h.settings.Each(func(name string, _ int64) { told[name] = true })
	if told[name] != tells || !told["txn-steps-max"] {
		t.Errorf("%s %d: it tells %v", name, value, told)
	}
}
