package command

import "testing"

// TestWhatIsWrongDoesNotWait expects commands to wait for as long as they say,
// and those with wrong arguments not at all: the handler answers the error.
func TestWhatIsWrongDoesNotWait(t *testing.T) {
	const never = -1
	for line, want := range map[string]int64{
		"bzpopmin z 0": 0, "bzpopmax y z 1.5": 1500, "bzpopmin z x": never, "bzpopmin z -1": never, "blpop l 2": 2000,
		"bzmpop 1 1 z min": 1000, "bzmpop 0 2 y z MAX count 3": 0, "bzmpop 1 0 z min": never, "bzmpop 1 2 z min": never,
		"bzmpop 1 1 z left": never, "bzmpop 1 1 z min count": never, "bzmpop 1 1 z min count 0": never, "bzmpop 1 1 z min count 1 x": never,
		"bzmpop x 1 z min": never, "blmpop 1 1 l left": 1000, "blmpop 1 1 l min": never, "blmpop 1 x l left": never,
		"blmpop 0.001 9223372036854775807 l left": never, "zmpop 1 z min": never, "get z": never,
	} {
		args := words(line)
		spec, _ := Lookup(args)
		ms, blocks := BlockMs(spec, args)
		if !blocks {
			ms = never
		}
		if ms != want {
			t.Errorf("%s: waits %d ms, want %d", line, ms, want)
		}
	}
}

func TestEveryBlockingRowSaysWhatItWaitsFor(t *testing.T) {
	for _, s := range All() {
		if (s.Waits != nil) != s.Is(Blocking) {
			t.Errorf("%s: Waits is set: %v, Blocking: %v", s.Name, s.Waits != nil, s.Is(Blocking))
		}
	}
}
