package hashcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/hash"
)

func runHGet(c *command.Ctx, args [][]byte) {
	h, ok := readHash(c, args[1])
	if ok {
		writeField(c, h, args[2])
	}
}

func runHMGet(c *command.Ctx, args [][]byte) {
	h, ok := readHash(c, args[1])
	if !ok {
		return
	}
	c.Out.Array(len(args) - 2)
	for _, name := range args[2:] {
		writeField(c, h, name)
	}
}

// writeField answers a field's value, or null.
func writeField(c *command.Ctx, h *hash.Hash, name []byte) {
	if f, ok := LiveField(c, h, name); ok {
		c.Out.Bulk(f.Value)
		return
	}
	c.Out.Null()
}

func runHStrLen(c *command.Ctx, args [][]byte) {
	if h, ok := readHash(c, args[1]); ok {
		f, _ := LiveField(c, h, args[2])
		c.Out.Int(int64(len(f.Value)))
	}
}

func runHExists(c *command.Ctx, args [][]byte) {
	h, ok := readHash(c, args[1])
	if !ok {
		return
	}
	n := int64(0)
	if _, there := LiveField(c, h, args[2]); there {
		n = 1
	}
	c.Out.Int(n)
}

func runHLen(c *command.Ctx, args [][]byte) {
	if h, ok := readHash(c, args[1]); ok {
		c.Out.Int(int64(lenOf(c, h)))
	}
}

// lenOf is the number of fields of a hash, which may be nil.
func lenOf(c *command.Ctx, h *hash.Hash) int {
	if h == nil {
		return 0
	}
	return h.LenAt(c.NowMs)
}

func runHGetAll(c *command.Ctx, args [][]byte) {
	h, ok := readHash(c, args[1])
	if !ok || !goneSteps(c, h) {
		return
	}
	c.Out.Map(lenOf(c, h))
	eachField(c, h, func(f hash.Field) {
		c.Out.Bulk(f.Name)
		c.Out.Bulk(f.Value)
	})
}

func runHKeys(c *command.Ctx, args [][]byte) {
	if h, ok := readHash(c, args[1]); ok && goneSteps(c, h) {
		c.Out.Array(lenOf(c, h))
		eachField(c, h, func(f hash.Field) { c.Out.Bulk(f.Name) })
	}
}

func runHVals(c *command.Ctx, args [][]byte) {
	if h, ok := readHash(c, args[1]); ok && goneSteps(c, h) {
		c.Out.Array(lenOf(c, h))
		eachField(c, h, func(f hash.Field) { c.Out.Bulk(f.Value) })
	}
}

// eachField visits the fields of a hash, which may be nil.
func eachField(c *command.Ctx, h *hash.Hash, visit func(hash.Field)) {
	if h == nil {
		return
	}
	for f := range h.Live(c.NowMs) {
		c.Item()
		visit(f)
	}
}
