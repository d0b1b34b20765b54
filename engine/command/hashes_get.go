package command

import "lockstep/engine/hash"

func runHGet(c *Ctx, args [][]byte) {
	h, ok := c.readHash(args[1])
	if ok {
		c.writeField(h, args[2])
	}
}

func runHMGet(c *Ctx, args [][]byte) {
	h, ok := c.readHash(args[1])
	if !ok {
		return
	}
	c.Out.Array(len(args) - 2)
	for _, name := range args[2:] {
		c.writeField(h, name)
	}
}

// writeField answers a field's value, or null.
func (c *Ctx) writeField(h *hash.Hash, name []byte) {
	if f, ok := c.LiveField(h, name); ok {
		c.Out.Bulk(f.Value)
		return
	}
	c.Out.Null()
}

func runHStrLen(c *Ctx, args [][]byte) {
	if h, ok := c.readHash(args[1]); ok {
		f, _ := c.LiveField(h, args[2])
		c.Out.Int(int64(len(f.Value)))
	}
}

func runHExists(c *Ctx, args [][]byte) {
	h, ok := c.readHash(args[1])
	if !ok {
		return
	}
	n := int64(0)
	if _, there := c.LiveField(h, args[2]); there {
		n = 1
	}
	c.Out.Int(n)
}

func runHLen(c *Ctx, args [][]byte) {
	if h, ok := c.readHash(args[1]); ok {
		c.Out.Int(int64(c.lenOf(h)))
	}
}

// lenOf is the number of fields of a hash, which may be nil.
func (c *Ctx) lenOf(h *hash.Hash) int {
	if h == nil {
		return 0
	}
	return h.LenAt(c.NowMs)
}

func runHGetAll(c *Ctx, args [][]byte) {
	h, ok := c.readHash(args[1])
	if !ok || !c.goneSteps(h) {
		return
	}
	c.Out.Map(c.lenOf(h))
	c.eachField(h, func(f hash.Field) {
		c.Out.Bulk(f.Name)
		c.Out.Bulk(f.Value)
	})
}

func runHKeys(c *Ctx, args [][]byte) {
	if h, ok := c.readHash(args[1]); ok && c.goneSteps(h) {
		c.Out.Array(c.lenOf(h))
		c.eachField(h, func(f hash.Field) { c.Out.Bulk(f.Name) })
	}
}

func runHVals(c *Ctx, args [][]byte) {
	if h, ok := c.readHash(args[1]); ok && c.goneSteps(h) {
		c.Out.Array(c.lenOf(h))
		c.eachField(h, func(f hash.Field) { c.Out.Bulk(f.Value) })
	}
}

// eachField visits the fields of a hash, which may be nil.
func (c *Ctx) eachField(h *hash.Hash, visit func(hash.Field)) {
	if h == nil {
		return
	}
	for f := range h.Live(c.NowMs) {
		c.Item()
		visit(f)
	}
}
