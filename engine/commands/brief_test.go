package commands_test

import (
	"testing"

	"lockstep/engine/commands"
	"lockstep/tests/kit/cmdtest"
)

// A brief command looks at few elements, whatever its key holds.
func TestWhatIsBrief(t *testing.T) {
	for line, want := range map[string]bool{
		"get k": true, "lindex l 5": true, "hgetall h": false, "keys *": false, "eval_ro x 0": false,
		"lrange l 0 127": true, "lrange l 0 128": false, "lrange l 5 4": false, "lrange l -3 -1": true,
		"lrange l 0 -1": false, "lrange l -1 0": false, "lrange l x 1": false,
		"lrange l -9223372036854775808 -1": false, "lrange l 0 9223372036854775807": false,
		"zrange z 0 9": true, "zrange z 0 9 withscores": true, "zrange z 0 9 REV WITHSCORES": true,
		"zrange z 0 9 byscore": false, "zrange z 0 9 limit 0 1": false, "zrevrange z 0 9": true, "zrevrange z 0 -1": false,
	} {
		args := cmdtest.Words(line)
		spec, _ := commands.Lookup(args)
		if got := spec.Brief(args); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
