package command

import "lockstep/engine/stream"

func runXInfoHelp(c *Ctx, _ [][]byte) {
	c.help(
		"XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"CONSUMERS <key> <groupname>",
		"    The consumers of a group.",
		"GROUPS <key>",
		"    The groups of a stream.",
		"STREAM <key> [FULL [COUNT <count>]",
		"    What a stream holds and remembers.",
		"HELP",
		"    Prints this help.",
	)
}

// xinfoStream is the stream of an XINFO command. It answers the error itself.
func (c *Ctx) xinfoStream(key []byte) (*stream.Stream, bool) {
	s, ok := c.readStream(key)
	if ok && s == nil {
		c.Out.Error(ErrNoSuchKey)
		return nil, false
	}
	return s, ok
}

func runXInfoConsumers(c *Ctx, args [][]byte) {
	s, ok := c.xinfoStream(args[2])
	if !ok {
		return
	}
	g := s.FindGroup(args[3])
	if g == nil {
		c.Out.Error(errNoGroupOf(args[2], args[3]))
		return
	}
	c.Out.Array(g.Consumers())
	g.EachConsumer(func(_ int, consumer *stream.Consumer) {
		c.Item()
		inactiveMs := int64(stream.NeverActive)
		if consumer.ActiveMs() != stream.NeverActive {
			inactiveMs = max(c.ClockMs()-consumer.ActiveMs(), 0)
		}
		c.Out.Map(4)
		c.Out.BulkString("name")
		c.Out.BulkString(consumer.Name())
		c.infoInt("pending", int64(consumer.Pending()))
		c.infoInt("idle", max(c.ClockMs()-consumer.SeenMs(), 0))
		c.infoInt("inactive", inactiveMs)
	})
}

func (c *Ctx) infoInt(name string, n int64) {
	c.Out.BulkString(name)
	c.Out.Int(n)
}

func (c *Ctx) infoID(name string, id stream.ID) {
	c.Out.BulkString(name)
	c.bulkID(id)
}

// infoRead answers how far a group has read.
func (c *Ctx) infoRead(s *stream.Stream, g *stream.Group) {
	if n := g.EntriesRead(); n != stream.EntriesReadUnknown {
		c.infoInt("entries-read", n)
	} else {
		c.Out.BulkString("entries-read")
		c.Out.Null()
	}
	if n, ok := s.Lag(g); ok {
		c.infoInt("lag", n)
	} else {
		c.Out.BulkString("lag")
		c.Out.Null()
	}
}

func runXInfoGroups(c *Ctx, args [][]byte) {
	s, ok := c.xinfoStream(args[2])
	if !ok {
		return
	}
	c.Out.Array(len(s.Groups()))
	for _, g := range s.Groups() {
		c.Item()
		c.Out.Map(6)
		c.Out.BulkString("name")
		c.Out.BulkString(g.Name())
		c.infoInt("consumers", int64(g.Consumers()))
		c.infoInt("pending", int64(g.Pending()))
		c.infoID("last-delivered-id", g.Last())
		c.infoRead(s, g)
	}
}

func runXInfoStream(c *Ctx, args [][]byte) {
	s, ok := c.xinfoStream(args[2])
	if !ok {
		return
	}
	c.Worked(WorkUnpack)
	full, count := false, int64(10)
	switch options := args[3:]; {
	case len(options) == 0:
	case len(options) == 1 && EqualFold(options[0], "full"):
		full = true
	case len(options) == 3 && EqualFold(options[0], "full") && EqualFold(options[1], "count"):
		full = true
		n, ok := c.IntArg(options[2])
		if !ok {
			return
		}
		if n >= 0 {
			count = n
		}
	default:
		c.Out.Error(errSubcommandSyntax(args, "XINFO"))
		return
	}
	if full {
		c.Out.Map(9)
	} else {
		c.Out.Map(10)
	}
	c.infoInt("length", int64(s.Len()))
	c.infoInt("radix-tree-keys", int64(s.Nodes()))
	c.infoInt("radix-tree-nodes", int64(s.RadixNodes()))
	c.infoID("last-generated-id", s.State.Last)
	c.infoID("max-deleted-entry-id", s.State.MaxDeleted)
	c.infoInt("entries-added", int64(s.State.Added))
	c.infoID("recorded-first-entry-id", s.State.First)
	if full {
		c.infoFull(s, count)
		return
	}
	c.infoInt("groups", int64(len(s.Groups())))
	c.infoEdge("first-entry", func(yield func(e *stream.Entry) bool) { s.Range(stream.ID{}, stream.MaxID, yield) })
	c.infoEdge("last-entry", func(yield func(e *stream.Entry) bool) { s.RangeBack(stream.ID{}, stream.MaxID, yield) })
}

// infoEdge answers the first entry of a walk.
func (c *Ctx) infoEdge(name string, walk func(yield func(e *stream.Entry) bool)) {
	c.Out.BulkString(name)
	some := false
	walk(func(e *stream.Entry) bool { c.writeStreamEntry(e); some = true; return false })
	if !some {
		c.Out.Null()
	}
}

// infoFull answers up to count (0: all) entries and pending entries.
func (c *Ctx) infoFull(s *stream.Stream, count int64) {
	c.Out.BulkString("entries")
	c.writeStreamEntries(func(yield func(e *stream.Entry) bool) { s.Range(stream.ID{}, stream.MaxID, yield) }, count, nil)
	c.Out.BulkString("groups")
	c.Out.Array(len(s.Groups()))
	for _, g := range s.Groups() {
		c.Out.Map(7)
		c.Out.BulkString("name")
		c.Out.BulkString(g.Name())
		c.infoID("last-delivered-id", g.Last())
		c.infoRead(s, g)
		c.infoInt("pel-count", int64(g.Pending()))
		c.infoPending(count, func(yield func(p stream.Pending) bool) { g.PendingFrom(stream.ID{}, yield) }, func(p stream.Pending) {
			c.Out.Array(4)
			c.bulkID(p.ID)
			c.Out.BulkString(g.Consumer(p.Consumer).Name())
		})
		c.Out.BulkString("consumers")
		c.Out.Array(g.Consumers())
		g.EachConsumer(func(no int, consumer *stream.Consumer) { c.infoConsumer(g, no, count) })
	}
}

func (c *Ctx) infoConsumer(g *stream.Group, no int, count int64) {
	consumer := g.Consumer(no)
	c.Out.Map(5)
	c.Out.BulkString("name")
	c.Out.BulkString(consumer.Name())
	c.infoInt("seen-time", c.ToDay(consumer.SeenMs()))
	activeMs := consumer.ActiveMs()
	if activeMs != stream.NeverActive {
		activeMs = c.ToDay(activeMs)
	}
	c.infoInt("active-time", activeMs)
	c.infoInt("pel-count", int64(consumer.Pending()))
	c.infoPending(count, func(yield func(p stream.Pending) bool) { g.PendingOf(no, stream.ID{}, yield) }, func(p stream.Pending) {
		c.Out.Array(3)
		c.bulkID(p.ID)
	})
}

// infoPending answers pending entries; head begins each.
func (c *Ctx) infoPending(count int64, walk func(yield func(p stream.Pending) bool), head func(p stream.Pending)) {
	c.Out.BulkString("pending")
	at, n := c.Out.Len(), int64(0)
	walk(func(p stream.Pending) bool {
		c.Item()
		head(p)
		c.Out.Int(c.ToDay(p.DeliveredMs))
		c.Out.Int(int64(p.Deliveries))
		n++
		return n != count
	})
	c.Out.ArrayFrom(at, int(n))
}
