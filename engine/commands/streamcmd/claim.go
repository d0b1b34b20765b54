package streamcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/stream"
)

// claim is the options of XCLAIM and XAUTOCLAIM that apply to each entry.
type claim struct {
	minIdleMs   int64
	deliveredMs int64
	deliveries  int64 // -1: one more, unless justID
	justID      bool
	// force makes an entry pending that was not.
	force bool
}

// assign assigns an entry to a consumer and answers the entry. It does so only if the entry is
// pending and has been idle for long enough.
func (o *claim) assign(c *command.Ctx, s *stream.Stream, g *stream.Group, no int, e *stream.Entry) bool {
	c.Member()
	p, pending := g.FindPending(e.ID)
	switch {
	case !pending && !o.force:
		return false
	case !pending:
		p = stream.Pending{ID: e.ID, Deliveries: 1}
	case o.minIdleMs != 0 && c.NowMs-p.DeliveredMs < o.minIdleMs:
		return false
	}
	p.Consumer, p.DeliveredMs = no, o.deliveredMs
	switch {
	case o.deliveries >= 0:
		p.Deliveries = uint64(o.deliveries)
	case !o.justID:
		p.Deliveries++
	}
	s.Groups.SetPending(g, p)
	s.Groups.ActivateConsumer(g, no, c.NowMs)
	if o.justID {
		bulkID(c, e.ID)
	} else {
		writeStreamEntry(c, e)
	}
	return true
}

// claimOptions are the arguments of XCLAIM behind the consumer.
type claimOptions struct {
	claim
	ids  []stream.ID
	last stream.ID
}

// parse reads the arguments. It answers the error itself.
func (o *claimOptions) parse(c *command.Ctx, args [][]byte) (ok bool) {
	if o.minIdleMs, ok = intArgOr(c, args[4], ErrClaimMinIdle); !ok {
		return false
	}
	o.minIdleMs = max(o.minIdleMs, 0)
	i := 5
	for ; i < len(args); i++ {
		id, _, ok := parseStreamID(args[i], 0, false)
		if !ok {
			break
		}
		o.ids = append(o.ids, id)
	}
	const notGiven = -1
	o.deliveredMs, o.deliveries = notGiven, notGiven
	for ; i < len(args); i++ {
		if i, ok = o.option(c, args, i); !ok {
			return false
		}
	}
	// A negative or future time becomes now: it may come from another clock.
	if o.deliveredMs < 0 || o.deliveredMs > c.NowMs {
		o.deliveredMs = c.NowMs
	}
	return true
}

// option reads the option at i, and returns the place of its last argument. It answers the error
// itself.
func (o *claimOptions) option(c *command.Ctx, args [][]byte, i int) (int, bool) {
	more, ok := i+1 < len(args), true
	switch {
	case command.EqualFold(args[i], "force"):
		o.force = true
		return i, true
	case command.EqualFold(args[i], "justid"):
		o.justID = true
		return i, true
	case more && command.EqualFold(args[i], "idle"):
		if o.deliveredMs, ok = intArgOr(c, args[i+1], ErrClaimIdle); ok {
			o.deliveredMs = c.NowMs - o.deliveredMs
		}
	case more && command.EqualFold(args[i], "time"):
		if o.deliveredMs, ok = intArgOr(c, args[i+1], ErrClaimTime); ok {
			o.deliveredMs = c.FromDay(o.deliveredMs)
		}
	case more && command.EqualFold(args[i], "retrycount"):
		o.deliveries, ok = intArgOr(c, args[i+1], ErrClaimRetryCount)
	case more && command.EqualFold(args[i], "lastid"):
		o.last, ok = streamID(c, args[i+1])
	default:
		c.Out.Error("ERR Unrecognized XCLAIM option '" + string(clipC(args[i])) + "'")
		return i, false
	}
	return i + 1, ok
}

func runXClaim(c *command.Ctx, args [][]byte) {
	key, name := args[1], args[2]
	e, ok := withGroup(c, key, name)
	if !ok {
		return
	}
	var o claimOptions
	if !o.parse(c, args) {
		return
	}
	at, n := c.Out.Len(), 0
	changeStream(c, key, e, func(s *stream.Stream) bool {
		g := s.Groups.Change(name)
		changed := o.last.Compare(g.Last()) > 0
		if changed {
			s.Groups.SetRead(g, o.last, g.EntriesRead())
		}
		no, created := consumer(c, s, g, key, args[3])
		changed = changed || created
		for _, id := range o.ids {
			c.Member()
			if e := s.Find(id); e == nil {
				changed = s.Groups.RemovePending(g, id) || changed
			} else if o.assign(c, s, g, no, e) {
				n++
			}
		}
		return changed || n > 0
	})
	c.Out.ArrayFrom(at, n)
}

// autoClaimOptions are the arguments of XAUTOCLAIM behind the consumer.
type autoClaimOptions struct {
	claim
	from  stream.ID
	count int64
}

// autoClaimLooks is how many pending entries the command may look at for each entry that it may
// claim.
const autoClaimLooks = 10

// parse reads the arguments. It answers the error itself.
func (o *autoClaimOptions) parse(c *command.Ctx, args [][]byte) (ok bool) {
	const countPreset, countMax = 100, 1<<63/16 - 1
	o.count, o.deliveries, o.deliveredMs = countPreset, -1, c.NowMs
	if o.minIdleMs, ok = intArgOr(c, args[4], ErrAutoClaimMinIdle); !ok {
		return false
	}
	o.minIdleMs = max(o.minIdleMs, 0)
	if o.from, ok = streamStart(c, args[5]); !ok {
		return false
	}
	for i := 6; i < len(args); i++ {
		switch {
		case i+1 < len(args) && command.EqualFold(args[i], "count"):
			i++
			o.count, ok = command.ParseInt(args[i])
			if !ok || o.count < 1 || o.count > countMax {
				c.Out.Error(command.ErrCountZero)
				return false
			}
		case command.EqualFold(args[i], "justid"):
			o.justID = true
		default:
			c.Out.Error(command.ErrSyntax)
			return false
		}
	}
	return true
}

func runXAutoClaim(c *command.Ctx, args [][]byte) {
	key, name := args[1], args[2]
	var o autoClaimOptions
	if !o.parse(c, args) {
		return
	}
	e, ok := withGroup(c, key, name)
	if !ok {
		return
	}
	pending := int64(e.Object().(*stream.Stream).Groups.Find(name).Pending())
	if !c.Steps(min(o.count*autoClaimLooks, pending)) {
		return
	}
	changeStream(c, key, e, func(s *stream.Stream) bool {
		g := s.Groups.Change(name)
		no, created := consumer(c, s, g, key, args[3])
		return o.run(c, s, g, no) || created
	})
}

// run claims entries. It answers the ID to continue at, the claimed entries, and the pending
// entries that were removed because the stream no longer has them. It reports whether anything
// changed.
func (o *autoClaimOptions) run(c *command.Ctx, s *stream.Stream, g *stream.Group, no int) bool {
	c.Out.Array(3)
	at, n := c.Out.Len(), 0
	var gone []stream.ID
	looks := o.count * autoClaimLooks
	next, more := g.NextPending(o.from)
	for ; more && looks > 0 && o.count > 0; looks-- {
		c.Member()
		id := next.ID
		if e := s.Find(id); e == nil {
			s.Groups.RemovePending(g, id)
			gone = append(gone, id)
			o.count--
		} else if o.assign(c, s, g, no, e) {
			n++
			o.count--
		}
		if id, more = id.Next(); more {
			next, more = g.NextPending(id)
		}
	}
	c.Out.ArrayFrom(at, n)
	cursor := stream.ID{}
	if more {
		cursor = next.ID
	}
	c.Out.BulkFrom(at, cursor.AppendText(nil))
	c.Out.Array(len(gone))
	for _, id := range gone {
		bulkID(c, id)
	}
	return n > 0 || len(gone) > 0
}
