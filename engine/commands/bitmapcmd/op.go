package bitmapcmd

import (
	"lockstep/engine"
	"lockstep/engine/bitmap"
	"lockstep/engine/command"
)

var bitOps = []struct {
	name string
	op   bitmap.Op
}{{"and", bitmap.And}, {"or", bitmap.Or}, {"xor", bitmap.Xor}, {"not", bitmap.Not}}

func bitOpOf(name []byte) (bitmap.Op, bool) {
	for _, o := range bitOps {
		if command.EqualFold(name, o.name) {
			return o.op, true
		}
	}
	return 0, false
}

func runBitOp(c *command.Ctx, args [][]byte) {
	op, ok := bitOpOf(args[1])
	if !ok {
		c.Out.Error(command.ErrSyntax)
		return
	}
	if op == bitmap.Not && len(args) != 4 {
		c.Out.Error(ErrBitNot)
		return
	}
	entries := make([]*engine.Entry, 0, len(args)-3)
	for _, key := range args[3:] {
		e, ok := c.ReadString(key)
		if !ok {
			return
		}
		entries = append(entries, e)
	}
	if op == bitmap.Xor {
		entries = command.InPairs(entries)
	} else {
		entries = command.Distinct(entries)
	}
	texts, sum := make([][]byte, 0, len(entries)), 0
	for _, e := range entries {
		texts = append(texts, command.TextOf(e))
		sum += len(command.TextOf(e))
	}
	if !c.CopySteps(int64(sum)) {
		return
	}
	text := bitmap.Combine(op, texts, c.Pause)
	c.Out.Int(int64(len(text)))
	to := args[2]
	if len(text) > 0 {
		c.Put(c.DB, engine.NewRawString(to, text, 0))
		c.Notify(command.EventString, "set", to)
	} else if c.Delete(to) {
		c.Notify(command.EventGeneric, "del", to)
	}
}
