package bitmapcmd

import (
	"lockstep/engine/bitmap"
	"lockstep/engine/command"
)

// bitOffset reads the offset of a bit. If fields is set, "#3" is the offset of the fourth field of
// fieldBits bits. It answers the error itself.
func bitOffset(c *command.Ctx, arg []byte, fields bool, fieldBits int) (int64, bool) {
	unit := int64(1)
	if fields && len(arg) > 0 && arg[0] == '#' {
		arg, unit = arg[1:], int64(fieldBits)
	}
	at, ok := command.ParseInt(arg)
	// A product out of range wraps around, as it does in Redis.
	at *= unit
	if !ok || at < 0 || at>>3 >= c.Settings.ValueBytesMax {
		c.Out.Error(ErrBitOffset)
		return 0, false
	}
	return at, true
}

func runGetBit(c *command.Ctx, args [][]byte) {
	at, ok := bitOffset(c, args[2], false, 0)
	if !ok {
		return
	}
	if e, ok := c.ReadString(args[1]); ok {
		c.Out.Int(int64(bitmap.Bit(command.TextOf(e), at)))
	}
}

func runSetBit(c *command.Ctx, args [][]byte) {
	key := args[1]
	at, ok := bitOffset(c, args[2], false, 0)
	if !ok {
		return
	}
	bit, ok := command.ParseInt(args[3])
	if !ok || bit&^1 != 0 {
		c.Out.Error(ErrBitValue)
		return
	}
	e, ok := c.WriteString(key)
	if !ok {
		return
	}
	text := command.TextOf(e)
	old := bitmap.Bit(text, at)
	grows := at>>3 >= int64(len(text))
	if !c.CopySteps(at>>3 - int64(len(text))) {
		return
	}
	changes := grows || old != int(bit)
	if changes || !e.Raw() {
		c.ChangeText(key, e, int(at>>3)+1, func(text []byte) {
			text[at>>3] = bitmap.WithBit(text[at>>3], at, int(bit))
		})
	}
	if changes {
		c.Notify(command.EventString, "setbit", key)
	}
	c.Out.Int(int64(old))
}

// farBits reports whether SETBIT or BITFIELD may make a string long: whether an offset has more
// digits than the offset of a bit in the first hundred kilobytes.
func farBits(args [][]byte) bool {
	const nearDigits = 6
	for _, a := range args[2:] {
		if len(a) > nearDigits && (a[0] == '#' || '0' <= a[0] && a[0] <= '9') {
			return true
		}
	}
	return false
}
