package bitmapcmd_test

import (
	"testing"

	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

func TestBitmapsAnswerAsRedisDoes(t *testing.T) {
	n := 40_000
	if testing.Short() {
		n = 4000
	}
	t.Run("RESP2", func(t *testing.T) { cmdtest.Differ(t, reply.RESP2, 5, n, cmdtest.BitCommands) })
	t.Run("RESP3", func(t *testing.T) { cmdtest.Differ(t, reply.RESP3, 6, n, cmdtest.BitCommands) })
}

// TestBitsBeyondTheLimitAreRefused uses a limit other than Redis's.
func TestBitsBeyondTheLimitAreRefused(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Settings.ValueBytesMax = 100
	r.Script(`
		setbit k 800 1 => -ERR bit offset is not an integer or out of range
		getbit k 800 => -ERR bit offset is not an integer or out of range
		bitfield k set u8 800 1 => -ERR bit offset is not an integer or out of range
		bitfield k get u8 #100 => -ERR bit offset is not an integer or out of range
		exists k => :0
		setbit k 799 1 => :0
		strlen k => :100
		bitfield k get u8 #99 incrby u8 #99 255 => *2 :1 :0
	`)
}
