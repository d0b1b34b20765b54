package stringcmd

import (
	"lockstep/engine/command"
)

func setRangeGrowth(args [][]byte, sizes *command.Sizes) int64 {
	at, ok := command.ParseInt(args[2])
	if !ok || at < 0 || at > sizes.ValueBytesMax || len(args[3]) == 0 {
		return 0
	}
	return command.TextGrowth(args[1], at+int64(len(args[3])), sizes)
}

// appendGrowth is the spare room that APPEND makes: as many bytes as there are already, up to a
// bound.
func appendGrowth(args [][]byte, sizes *command.Sizes) int64 {
	const roomBytesMax = 1 << 20
	return min(sizes.Most(args[1])+int64(len(args[2])), roomBytesMax)
}
