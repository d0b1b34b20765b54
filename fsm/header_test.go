package fsm

import (
	"testing"

	"lockstep/engine/command"
)

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
