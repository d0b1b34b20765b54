package bitmapcmd

import (
	"bytes"

	"lockstep/engine/bitmap"
	"lockstep/engine/command"
	"lockstep/engine/sched"
)

// fieldOp is one operation of BITFIELD.
type fieldOp struct {
	kind     fieldOpKind
	field    bitmap.Field
	overflow bitmap.Overflow
	// n is what SET stores or INCRBY adds.
	n int64
}

type fieldOpKind uint8

const (
	fieldGet fieldOpKind = iota
	fieldSet
	fieldIncrBy
)

// fieldOpKindOf returns the operation of a name. It returns false if fewer than the needed
// arguments follow.
func fieldOpKindOf(name []byte, more int) (fieldOpKind, bool) {
	switch {
	case command.EqualFold(name, "get"):
		return fieldGet, more >= 2
	case command.EqualFold(name, "set"):
		return fieldSet, more >= 3
	case command.EqualFold(name, "incrby"):
		return fieldIncrBy, more >= 3
	}
	return 0, false
}

// overflowOf is what OVERFLOW's argument chooses.
func overflowOf(name []byte) (bitmap.Overflow, bool) {
	switch {
	case command.EqualFold(name, "wrap"):
		return bitmap.Wrap, true
	case command.EqualFold(name, "sat"):
		return bitmap.Saturate, true
	case command.EqualFold(name, "fail"):
		return bitmap.Fail, true
	}
	return 0, false
}

// bitFieldMode lets a BITFIELD that only reads run as a read. If the arguments are wrong, either
// mode will do: the handler changes nothing.
func bitFieldMode(args [][]byte) sched.Mode {
	for i := 2; i < len(args); i += 3 {
		switch {
		case command.EqualFold(args[i], "overflow"):
			i-- // two arguments, not three
		case !command.EqualFold(args[i], "get"):
			return sched.Exclusive
		}
	}
	return sched.Shared
}

// fieldOps reads BITFIELD's operations. It answers the error itself.
func fieldOps(c *command.Ctx, args [][]byte) ([]fieldOp, bool) {
	var ops []fieldOp
	overflow := bitmap.Wrap
	for i := 0; i < len(args); {
		more := len(args) - i - 1
		if command.EqualFold(args[i], "overflow") && more >= 1 {
			var ok bool
			if overflow, ok = overflowOf(args[i+1]); !ok {
				c.Out.Error(ErrFieldOverflow)
				return nil, false
			}
			i += 2
			continue
		}
		kind, ok := fieldOpKindOf(args[i], more)
		if !ok {
			c.Out.Error(command.ErrSyntax)
			return nil, false
		}
		op := fieldOp{kind: kind, overflow: overflow}
		if op.field, ok = fieldArg(c, args[i+1], args[i+2]); !ok {
			return nil, false
		}
		i += 3
		if kind != fieldGet {
			if op.n, ok = c.IntArg(args[i]); !ok {
				return nil, false
			}
			i++
		}
		ops = append(ops, op)
	}
	return ops, true
}

// fieldArg reads a field's type and place. It answers the error itself.
func fieldArg(c *command.Ctx, typ, offset []byte) (f bitmap.Field, ok bool) {
	if i := bytes.IndexByte(typ, 0); i >= 0 {
		typ = typ[:i] // in C the text ends at a zero byte
	}
	if len(typ) > 0 {
		var n int64
		n, ok = command.ParseInt(typ[1:])
		f.Signed = typ[0] == 'i'
		ok = ok && (f.Signed && n <= 64 || typ[0] == 'u' && n <= 63) && n >= 1
		f.Bits = int(n)
	}
	if !ok {
		c.Out.Error(ErrFieldType)
		return f, false
	}
	f.At, ok = bitOffset(c, offset, true, f.Bits)
	return f, ok
}

func runBitField(c *command.Ctx, args [][]byte) {
	ops, ok := fieldOps(c, args[2:])
	if !ok {
		return
	}
	end := int64(0)
	for i := range ops {
		if ops[i].kind != fieldGet {
			end = max(end, ops[i].field.End())
		}
	}
	if end == 0 {
		readFields(c, args[1], ops)
		return
	}
	writeFields(c, args[1], ops, int(end))
}

func runBitFieldRO(c *command.Ctx, args [][]byte) {
	ops, ok := fieldOps(c, args[2:])
	if !ok {
		return
	}
	for i := range ops {
		if ops[i].kind != fieldGet {
			c.Out.Error(ErrFieldReadOnly)
			return
		}
	}
	readFields(c, args[1], ops)
}

func readFields(c *command.Ctx, key []byte, ops []fieldOp) {
	e, ok := c.ReadString(key)
	if !ok {
		return
	}
	text := command.TextOf(e)
	c.Out.Array(len(ops))
	for i := range ops {
		c.Out.Int(ops[i].field.Get(text))
	}
}

// writeFields runs operations on a string and makes the string at least length bytes long, as Redis
// does even if every operation fails.
func writeFields(c *command.Ctx, key []byte, ops []fieldOp, length int) {
	e, ok := c.WriteString(key)
	if !ok {
		return
	}
	grows := length > len(command.TextOf(e))
	if !c.CopySteps(int64(length - len(command.TextOf(e)))) {
		return
	}
	changed := false
	c.Out.Array(len(ops))
	c.ChangeText(key, e, length, func(text []byte) {
		for i := range ops {
			done, differs := ops[i].run(c, text)
			changed = changed || done && (grows || differs)
		}
	})
	if changed {
		c.Notify(command.EventString, "setbit", key)
	}
}

// run runs one operation and answers it. done reports whether it wrote, and differs whether that
// changed the field.
func (o *fieldOp) run(c *command.Ctx, text []byte) (done, differs bool) {
	old := o.field.Get(text)
	if o.kind == fieldGet {
		c.Out.Int(old)
		return false, false
	}
	base, delta := old, o.n
	if o.kind == fieldSet {
		base, delta = o.n, 0
	}
	n, ok := o.field.Add(base, delta, o.overflow)
	if !ok {
		c.Out.Null()
		return false, false
	}
	if o.kind == fieldSet {
		c.Out.Int(old)
	} else {
		c.Out.Int(n)
	}
	o.field.Set(text, n)
	return true, n != old
}

func flagsOfBitField(args [][]byte) command.KeyFlag {
	if bitFieldMode(args) == sched.Shared {
		return command.KeyRO | command.KeyAccess
	}
	return command.KeyRW | command.KeyAccess | command.KeyUpdate
}
