package command

import "testing"

// TestSettingsOfALaterVersionWait: before the shard's log has reached their version the settings
// have their defaults, and a snapshot does not contain them.
func TestSettingsOfALaterVersionWait(t *testing.T) {
	was := cameWith
	cameWith = func(name string) int { return map[string]int{"txn-max-work-ms": 2}[name] }
	t.Cleanup(func() { cameWith = was })
	for at, want := range map[int]int64{1: DefaultSettings.TxnWorkMaxMs, 2: 7} {
		s := DefaultSettings
		s.TxnWorkMaxMs, s.ListPackSize = 7, -5
		s.At(at)
		told := map[string]int64{}
		s.Each(func(name string, value int64) { told[name] = value })
		if _, there := told["txn-max-work-ms"]; s.TxnWorkMaxMs != want || there != (at >= 2) {
			t.Errorf("at version %d it is %d, and snapshots tell %v", at, s.TxnWorkMaxMs, told)
		}
		if told["lockstep.version"] != int64(at) || told["list-max-listpack-size"] != -5 {
			t.Errorf("at version %d snapshots tell %v", at, told)
		}
	}
}
