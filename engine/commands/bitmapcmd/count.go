package bitmapcmd

import (
	"lockstep/engine/bitmap"
	"lockstep/engine/command"
)

// bitRange is the part of a string that BITCOUNT and BITPOS look at.
type bitRange struct {
	first, last int64
	inBits      bool
}

// unit reads the unit of the range. It returns false if there is no unit of that name.
func (r *bitRange) unit(arg []byte) bool {
	r.inBits = command.EqualFold(arg, "bit")
	return r.inBits || command.EqualFold(arg, "byte")
}

// over is the range, in bits, within a text of length bytes. Negative indexes count from the end.
func (r *bitRange) over(length int) bitmap.Range {
	n := int64(length)
	if r.inBits {
		n *= 8
	}
	first, last := r.first, r.last
	if first < 0 {
		first = max(n+first, 0)
	}
	if last < 0 {
		last = max(n+last, 0)
	}
	last = min(last, n-1)
	switch {
	case first > last:
		return bitmap.Range{First: 0, Last: -1}
	case r.inBits:
		return bitmap.Range{First: first, Last: last}
	}
	return bitmap.Range{First: first * 8, Last: last*8 + 7}
}

// runBitCount looks at its key before it looks at its arguments, as Redis does: wrong arguments are
// not an error if the key does not exist.
func runBitCount(c *command.Ctx, args [][]byte) {
	e, ok := c.ReadString(args[1])
	if !ok {
		return
	}
	if e == nil {
		c.Out.Int(0)
		return
	}
	text := e.Text()
	if !c.TextSteps(int64(len(text))) {
		return
	}
	part := bitmap.Whole(len(text))
	switch len(args) {
	case 2:
	case 4, 5:
		var r bitRange
		if r.first, ok = c.IntArg(args[2]); !ok {
			return
		}
		if r.last, ok = c.IntArg(args[3]); !ok {
			return
		}
		if r.first < 0 && r.last < 0 && r.first > r.last {
			c.Out.Int(0) // whatever the unit
			return
		}
		if len(args) == 5 && !r.unit(args[4]) {
			c.Out.Error(command.ErrSyntax)
			return
		}
		part = r.over(len(text))
	default:
		c.Out.Error(command.ErrSyntax)
		return
	}
	c.Out.Int(bitmap.Count(text, part, c.Pause))
}

// runBitPos looks at its key before its range, like BITCOUNT.
func runBitPos(c *command.Ctx, args [][]byte) {
	bit, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	if bit != 0 && bit != 1 {
		c.Out.Error(ErrBitArgument)
		return
	}
	e, ok := c.ReadString(args[1])
	if !ok {
		return
	}
	if e == nil {
		// A missing key is a string of zeros without end.
		c.Out.Int(-bit)
		return
	}
	if len(args) > 6 {
		c.Out.Error(command.ErrSyntax)
		return
	}
	if !c.TextSteps(int64(len(e.Text()))) {
		return
	}
	r := bitRange{last: -1}
	if len(args) > 3 && !r.parsePos(c, args[3:]) {
		return
	}
	text := e.Text()
	part := r.over(len(text))
	at := bitmap.First(text, part, int(bit), c.Pause)
	if at < 0 && bit == 0 && len(args) < 5 && part.First <= part.Last {
		// Behind the text there are only zeros, if the range has no end.
		at = part.Last + 1
	}
	c.Out.Int(at)
}

// parsePos reads BITPOS's range. It answers the error itself.
func (r *bitRange) parsePos(c *command.Ctx, args [][]byte) (ok bool) {
	if r.first, ok = c.IntArg(args[0]); !ok {
		return false
	}
	if len(args) == 3 && !r.unit(args[2]) {
		c.Out.Error(command.ErrSyntax)
		return false
	}
	if len(args) > 1 {
		r.last, ok = c.IntArg(args[1])
	}
	return ok
}
