package commands_test

import (
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/tests/kit/cmdtest"
)

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
		// What Redis takes for a number, and how it rounds.
		"blpop l 0x2": 2000, "blpop l 1e-10": 1, "blpop l 0.0001": 1, "blpop l 1.0005": 1001, "blpop l -0.0001": 0, "blpop l -0.002": never,
		// A timeout longer than anybody lives means for ever; one that no clock can hold is an
		// error.
		"blpop l 4398046511": 4398046511000, "blpop l 4398046512": 0, "blpop l 9223000000000000": 0, "blpop l 9223372036854776": never,
		"bzpopmin z inf": never, "blpop l -inf": never, "blpop l nan": never,
		"xread block 10000000000000 streams s $": 0, "xread block 9223372036854775807 streams s $": never, "xread block -1 streams s $": never,
		"xread block x streams s $": never, "xread streams s $": never, "xread block 5 block 7 streams s $": 7, "xread block 5": 5,
		// A group, a consumer and a stream may be called like an option.
		"xreadgroup group streams c block 7 streams s >": 7, "xreadgroup group g streams block 7 streams s >": 7,
		"xreadgroup group block 5 streams s >": never, "xreadgroup group g block streams block 5": never,
		"xreadgroup group block block noack count 1 block 7 streams s >": 7, "xread streams block 5": never,
	} {
		args := cmdtest.Words(line)
		spec, _ := commands.Lookup(args)
		ms, blocks := command.BlockMs(spec, args)
		if !blocks {
			ms = never
		}
		if ms != want {
			t.Errorf("%s: waits %d ms, want %d", line, ms, want)
		}
	}
}

func TestEveryBlockingRowSaysWhatItWaitsFor(t *testing.T) {
	for _, s := range commands.All() {
		if (s.Waits != nil) != s.Is(command.Blocking) {
			t.Errorf("%s: Waits is set: %v, Blocking: %v", s.Name, s.Waits != nil, s.Is(command.Blocking))
		}
	}
}

// A group may be called like an option; the last one counts.
func TestWhichGroupReads(t *testing.T) {
	for line, want := range map[string]string{
		"xreadgroup group g c streams s >": "g", "XREADGROUP BLOCK 0 NOACK GROUP g c STREAMS s >": "g",
		"xreadgroup group streams group count 1 block 5 streams group >": "streams", "xreadgroup count group group g c streams s >": "g",
		"xreadgroup group g c group h c streams group x": "h", "xread streams group x": "", "blpop group 0": "", "xreadgroup group": "",
	} {
		if got := string(commands.BlockGroup(cmdtest.Words(line))); got != want {
			t.Errorf("%s: group %q, want %q", line, got, want)
		}
	}
}
