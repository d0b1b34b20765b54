package bitmapcmd

import (
	"bytes"

	"lockstep/engine/command"
)

func setBitGrowth(args [][]byte, sizes *command.Sizes) int64 {
	at, ok := command.ParseInt(args[2])
	if !ok || at < 0 {
		return 0
	}
	return command.TextGrowth(args[1], at>>3+1, sizes)
}

// bitFieldGrowth takes every number in the arguments of a SET or INCRBY for an offset. The greatest
// of them bounds the end of the string.
func bitFieldGrowth(args [][]byte, sizes *command.Sizes) int64 {
	const widestBits = 64
	end := int64(0)
	for i := 2; i+3 < len(args); i++ {
		if !command.EqualFold(args[i], "set") && !command.EqualFold(args[i], "incrby") {
			continue
		}
		place, numbered := bytes.CutPrefix(args[i+2], []byte("#"))
		at, ok := command.ParseInt(place)
		if !ok || at < 0 {
			continue
		}
		if numbered {
			width := int64(widestBits)
			if len(args[i+1]) > 1 {
				if n, ok := command.ParseInt(args[i+1][1:]); ok && 0 < n && n < widestBits {
					width = n
				}
			}
			at *= width // an offset that wraps around is refused or near, as in the handler
		}
		if at >= 0 && at>>3 < sizes.ValueBytesMax {
			end = max(end, (at+widestBits)>>3+1)
		}
	}
	return command.TextGrowth(args[1], min(end, sizes.ValueBytesMax), sizes)
}
