package streamcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/stream"
)

func runXAck(c *command.Ctx, args [][]byte) {
	key, name := args[1], args[2]
	s, e, ok := takeStream(c, key)
	if !ok {
		return
	}
	if s == nil || s.Groups.Find(name) == nil {
		c.Out.Int(0)
		return
	}
	ids, ok := streamIDs(c, args[3:])
	if !ok {
		return
	}
	n := 0
	changeStream(c, key, e, func(s *stream.Stream) bool {
		g := s.Groups.Change(name)
		for _, id := range ids {
			c.Member()
			if s.Groups.RemovePending(g, id) {
				n++
			}
		}
		return n > 0
	})
	c.Out.Int(int64(n))
}

// pendingOptions are the arguments of XPENDING with an interval.
type pendingOptions struct {
	minIdleMs, count int64
	from, to         stream.ID
	consumer         []byte // nil: all consumers
}

// parse reads the arguments. It answers the error itself.
func (o *pendingOptions) parse(c *command.Ctx, args [][]byte) (ok bool) {
	const argsMin, argsMax = 6, 9
	if len(args) < argsMin || len(args) > argsMax {
		c.Out.Error(command.ErrSyntax)
		return false
	}
	at := 3
	if command.EqualFold(args[at], "idle") {
		if o.minIdleMs, ok = c.IntArg(args[4]); !ok {
			return false
		}
		if at += 2; len(args) < at+3 {
			c.Out.Error(command.ErrSyntax)
			return false
		}
	}
	if o.count, ok = c.IntArg(args[at+2]); !ok {
		return false
	}
	if o.from, ok = streamStart(c, args[at]); !ok {
		return false
	}
	if o.to, ok = streamEnd(c, args[at+1]); !ok {
		return false
	}
	if at += 3; at < len(args) {
		o.consumer = args[at]
	}
	return true
}

func runXPending(c *command.Ctx, args [][]byte) {
	var o pendingOptions
	brief := len(args) == 3
	if !brief && !o.parse(c, args) {
		return
	}
	s, ok := readStream(c, args[1])
	if !ok {
		return
	}
	var g *stream.Group
	if s != nil {
		g = s.Groups.Find(args[2])
	}
	switch {
	case g == nil:
		c.Out.Error(errNoGroup(args[1], args[2]))
	case brief:
		pendingBrief(c, g)
	default:
		o.write(c, g)
	}
}

// looks counts the entries that a command looks at, whether it answers them or not.
type looks struct {
	c    *command.Ctx
	n    int64
	over bool
}

// more counts one more entry. It returns false if there are no steps left.
func (l *looks) more() bool {
	l.c.Item()
	if l.n++; l.n%command.StepPending == 0 {
		l.over = l.over || !l.c.TakeSteps(1)
	}
	return !l.over
}

// ended replaces the reply from begin on by an error if there were no steps left. It reports
// whether it did so.
func (l *looks) ended(begin int) bool {
	if l.over {
		l.c.Out.Truncate(begin)
		l.c.Out.Error(command.ErrWork)
	}
	return l.over
}

// pendingBrief answers the number of pending entries, the first and the last of their IDs, and the
// number for each consumer.
func pendingBrief(c *command.Ctx, g *stream.Group) {
	if !c.Steps(int64(g.Consumers()) / command.StepPending) {
		return
	}
	c.Out.Array(4)
	c.Out.Int(int64(g.Pending()))
	first, ok := g.NextPending(stream.ID{})
	if !ok {
		c.Out.Null()
		c.Out.Null()
		c.Out.NullArray()
		return
	}
	last, _ := g.LastPending()
	bulkID(c, first.ID)
	bulkID(c, last.ID)
	at, n := c.Out.Len(), 0
	g.EachConsumer(func(_ int, consumer *stream.Consumer) {
		c.Item()
		if consumer.Pending() > 0 {
			c.Out.Array(2)
			c.Out.BulkString(consumer.Name())
			c.Out.BulkInt(int64(consumer.Pending()))
			n++
		}
	})
	c.Out.ArrayFrom(at, n)
}

// write answers the pending entries of an interval.
func (o *pendingOptions) write(c *command.Ctx, g *stream.Group) {
	at, n := c.Out.Len(), int64(0)
	looks := looks{c: c}
	visit := func(p stream.Pending) bool {
		if n >= o.count || p.ID.Compare(o.to) > 0 || !looks.more() {
			return false
		}
		idleMs := c.ClockMs() - p.DeliveredMs
		if o.minIdleMs != 0 && idleMs < o.minIdleMs {
			return true
		}
		c.Out.Array(4)
		bulkID(c, p.ID)
		c.Out.BulkString(g.Consumer(p.Consumer).Name())
		c.Out.Int(max(idleMs, 0))
		c.Out.Int(int64(p.Deliveries))
		n++
		return true
	}
	if o.consumer == nil {
		g.PendingFrom(o.from, visit)
	} else if no, ok := g.FindConsumer(o.consumer); ok {
		g.PendingOf(no, o.from, visit)
	}
	if !looks.ended(at) {
		c.Out.ArrayFrom(at, int(n))
	}
}
