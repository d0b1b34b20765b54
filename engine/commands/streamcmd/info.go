package streamcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/stream"
)

func runXInfoHelp(c *command.Ctx, _ [][]byte) {
	help(c,
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
func xinfoStream(c *command.Ctx, key []byte) (*stream.Stream, bool) {
	s, ok := readStream(c, key)
	if ok && s == nil {
		c.Out.Error(command.ErrNoSuchKey)
		return nil, false
	}
	return s, ok
}

func runXInfoConsumers(c *command.Ctx, args [][]byte) {
	s, ok := xinfoStream(c, args[2])
	if !ok {
		return
	}
	g := s.Groups.Find(args[3])
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
		infoInt(c, "pending", int64(consumer.Pending()))
		infoInt(c, "idle", max(c.ClockMs()-consumer.SeenMs(), 0))
		infoInt(c, "inactive", inactiveMs)
	})
}

func infoInt(c *command.Ctx, name string, n int64) {
	c.Out.BulkString(name)
	c.Out.Int(n)
}

func infoID(c *command.Ctx, name string, id stream.ID) {
	c.Out.BulkString(name)
	bulkID(c, id)
}

// infoRead answers how far a group has read.
func infoRead(c *command.Ctx, s *stream.Stream, g *stream.Group) {
	if n := g.EntriesRead(); n != stream.EntriesReadUnknown {
		infoInt(c, "entries-read", n)
	} else {
		c.Out.BulkString("entries-read")
		c.Out.Null()
	}
	if n, ok := s.Lag(g); ok {
		infoInt(c, "lag", n)
	} else {
		c.Out.BulkString("lag")
		c.Out.Null()
	}
}

func runXInfoGroups(c *command.Ctx, args [][]byte) {
	s, ok := xinfoStream(c, args[2])
	if !ok {
		return
	}
	c.Out.Array(len(s.Groups.All()))
	for _, g := range s.Groups.All() {
		c.Item()
		c.Out.Map(6)
		c.Out.BulkString("name")
		c.Out.BulkString(g.Name())
		infoInt(c, "consumers", int64(g.Consumers()))
		infoInt(c, "pending", int64(g.Pending()))
		infoID(c, "last-delivered-id", g.Last())
		infoRead(c, s, g)
	}
}

func runXInfoStream(c *command.Ctx, args [][]byte) {
	s, ok := xinfoStream(c, args[2])
	if !ok {
		return
	}
	c.Worked(command.WorkUnpack)
	full, count := false, int64(10)
	switch options := args[3:]; {
	case len(options) == 0:
	case len(options) == 1 && command.EqualFold(options[0], "full"):
		full = true
	case len(options) == 3 && command.EqualFold(options[0], "full") && command.EqualFold(options[1], "count"):
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
	infoInt(c, "length", int64(s.Len()))
	infoInt(c, "radix-tree-keys", int64(s.Nodes()))
	infoInt(c, "radix-tree-nodes", int64(s.RadixNodes()))
	infoID(c, "last-generated-id", s.State.Last)
	infoID(c, "max-deleted-entry-id", s.State.MaxDeleted)
	infoInt(c, "entries-added", int64(s.State.Added))
	infoID(c, "recorded-first-entry-id", s.State.First)
	if full {
		infoFull(c, s, count)
		return
	}
	infoInt(c, "groups", int64(len(s.Groups.All())))
	infoEdge(c, "first-entry", func(yield func(e *stream.Entry) bool) { s.Range(stream.ID{}, stream.MaxID, yield) })
	infoEdge(c, "last-entry", func(yield func(e *stream.Entry) bool) { s.RangeBack(stream.ID{}, stream.MaxID, yield) })
}

// infoEdge answers the first entry of a walk.
func infoEdge(c *command.Ctx, name string, walk func(yield func(e *stream.Entry) bool)) {
	c.Out.BulkString(name)
	some := false
	walk(func(e *stream.Entry) bool { writeStreamEntry(c, e); some = true; return false })
	if !some {
		c.Out.Null()
	}
}

// infoFull answers up to count entries and pending entries, or all if count is 0.
func infoFull(c *command.Ctx, s *stream.Stream, count int64) {
	c.Out.BulkString("entries")
	writeStreamEntries(c, func(yield func(e *stream.Entry) bool) { s.Range(stream.ID{}, stream.MaxID, yield) }, count, nil)
	c.Out.BulkString("groups")
	c.Out.Array(len(s.Groups.All()))
	for _, g := range s.Groups.All() {
		c.Out.Map(7)
		c.Out.BulkString("name")
		c.Out.BulkString(g.Name())
		infoID(c, "last-delivered-id", g.Last())
		infoRead(c, s, g)
		infoInt(c, "pel-count", int64(g.Pending()))
		infoPending(c, count, func(yield func(p stream.Pending) bool) { g.PendingFrom(stream.ID{}, yield) }, func(p stream.Pending) {
			c.Out.Array(4)
			bulkID(c, p.ID)
			c.Out.BulkString(g.Consumer(p.Consumer).Name())
		})
		c.Out.BulkString("consumers")
		c.Out.Array(g.Consumers())
		g.EachConsumer(func(no int, consumer *stream.Consumer) { infoConsumer(c, g, no, count) })
	}
}

func infoConsumer(c *command.Ctx, g *stream.Group, no int, count int64) {
	consumer := g.Consumer(no)
	c.Out.Map(5)
	c.Out.BulkString("name")
	c.Out.BulkString(consumer.Name())
	infoInt(c, "seen-time", c.ToDay(consumer.SeenMs()))
	activeMs := consumer.ActiveMs()
	if activeMs != stream.NeverActive {
		activeMs = c.ToDay(activeMs)
	}
	infoInt(c, "active-time", activeMs)
	infoInt(c, "pel-count", int64(consumer.Pending()))
	infoPending(c, count, func(yield func(p stream.Pending) bool) { g.PendingOf(no, stream.ID{}, yield) }, func(p stream.Pending) {
		c.Out.Array(3)
		bulkID(c, p.ID)
	})
}

// infoPending answers pending entries. head writes the first part of each.
func infoPending(c *command.Ctx, count int64, walk func(yield func(p stream.Pending) bool), head func(p stream.Pending)) {
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
