package command

import (
	"math"

	"lockstep/engine"
	"lockstep/engine/reply"
	"lockstep/engine/stream"
)

// readOptions are the arguments of XREAD and XREADGROUP.
type readOptions struct {
	grouped, noAck  bool
	group, consumer []byte
	count           int64
	// streamsAt is where the first key stands, 0: there is none; half as many
	// keys follow as there are arguments, and then an ID for each.
	streamsAt int
}

// keys and ids are the keys, and what stands for the ID of each.
func (o *readOptions) keys(args [][]byte) [][]byte {
	return args[o.streamsAt : o.streamsAt+(len(args)-o.streamsAt)/2]
}

func (o *readOptions) ids(args [][]byte) [][]byte {
	return args[o.streamsAt+(len(args)-o.streamsAt)/2:]
}

// readStreamsAt appends the positions of the keys of XREAD and XREADGROUP.
func readStreamsAt(dst []int, args [][]byte) []int {
	for i := 1; i < len(args); i++ {
		switch {
		case equalFold(args[i], "block"), equalFold(args[i], "count"):
			i++
		case equalFold(args[i], "group"):
			i += 2
		case equalFold(args[i], "noack"):
		case equalFold(args[i], "streams"):
			for k := range (len(args) - i - 1) / 2 {
				dst = append(dst, i+1+k)
			}
			return dst
		default:
			return dst
		}
	}
	return dst
}

// parse reads the arguments up to the keys. It answers the error itself.
func (o *readOptions) parse(c *Ctx, args [][]byte) (ok bool) {
	name, newest := "xread", "$"
	if o.grouped {
		name, newest = "xreadgroup", ">"
	}
	for i := 1; i < len(args) && o.streamsAt == 0; i++ {
		more := len(args) - i - 1
		switch {
		case more > 0 && equalFold(args[i], "block"):
			if c.InScript {
				c.Out.Error(errScriptBlock(args[0]))
				return false
			}
			i++
			if !c.blockTimeout(args[i]) {
				return false
			}
		case more > 0 && equalFold(args[i], "count"):
			i++
			if o.count, ok = c.intArg(args[i]); !ok {
				return false
			}
			o.count = max(o.count, 0)
		case more > 0 && equalFold(args[i], "streams"):
			o.streamsAt = i + 1
			if more%2 != 0 {
				c.Out.Error(errUnbalanced(name, newest))
				return false
			}
		case more > 1 && equalFold(args[i], "group"):
			if !o.grouped {
				c.Out.Error(ErrReadGroupOption)
				return false
			}
			o.group, o.consumer = args[i+1], args[i+2]
			i += 2
		case equalFold(args[i], "noack"):
			if !o.grouped {
				c.Out.Error(ErrReadNoAckOption)
				return false
			}
			o.noAck = true
		default:
			c.Out.Error(ErrSyntax)
			return false
		}
	}
	return o.check(c)
}

func (o *readOptions) check(c *Ctx) bool {
	switch {
	case o.streamsAt == 0:
		c.Out.Error(ErrSyntax)
	case o.grouped && o.group == nil:
		c.Out.Error(ErrReadGroupMissing)
	default:
		return true
	}
	return false
}

// blockTimeout looks at a timeout in milliseconds. It answers the error itself.
func (c *Ctx) blockTimeout(text []byte) bool {
	ms, ok := parseInt(text)
	switch {
	case !ok:
		c.Out.Error(ErrReadTimeout)
	case ms < 0:
		c.Out.Error(ErrTimeoutNegative)
	case ms > math.MaxInt64-c.NowMs:
		c.Out.Error(ErrTimeoutRange)
	default:
		return true
	}
	return false
}

// unread answers for a read that found nothing.
func (o *readOptions) unread(c *Ctx) {
	c.Out.NullArray()
}

// beginStream begins the answer for one stream.
func (c *Ctx) beginStream(key []byte) {
	if c.Out.Proto != reply.RESP3 {
		c.Out.Array(2)
	}
	c.Out.Bulk(key)
}

// endStreams ends the answer that begins at a place, for so many streams.
func (c *Ctx) endStreams(at, n int) {
	if c.Out.Proto != reply.RESP3 {
		c.Out.ArrayFrom(at, n)
		return
	}
	c.Out.MapFrom(at, n)
}

func runXRead(c *Ctx, args [][]byte) {
	var o readOptions
	if !o.parse(c, args) {
		return
	}
	keys, texts := o.keys(args), o.ids(args)
	ids := make([]stream.ID, len(keys))
	streams := make([]*stream.Stream, len(keys))
	for i, key := range keys {
		var ok bool
		if streams[i], ok = c.readStream(key); !ok {
			return
		}
		switch string(clipC(texts[i])) {
		case "$":
			if streams[i] != nil {
				ids[i] = streams[i].State.Last
			}
		case ">":
			c.Out.Error(ErrReadNewID)
			return
		default:
			if ids[i], ok = c.streamID(texts[i]); !ok {
				return
			}
		}
	}
	at, n := c.Out.Len(), 0
	for i, s := range streams {
		if s == nil || !s.HasBehind(ids[i]) {
			continue
		}
		from, _ := ids[i].Next()
		c.beginStream(keys[i])
		c.writeStreamEntries(func(yield func(e *stream.Entry) bool) { s.Range(from, stream.MaxID, yield) }, o.count, nil)
		n++
	}
	if n > 0 {
		c.endStreams(at, n)
		return
	}
	o.unread(c)
}

// latestIDs tells where in the arguments of XREAD "$" stands for an ID, and
// which keys those are of: a read that blocks is asked again with the IDs that
// were the latest when it came (see runStreamEnds).
func latestIDs(args [][]byte) (places []int, keys [][]byte) {
	for i := 1; i < len(args); i++ {
		if !equalFold(args[i], "streams") {
			continue
		}
		n := (len(args) - i - 1) / 2
		for j := i + 1 + n; j < len(args); j++ {
			if string(clipC(args[j])) == "$" {
				places, keys = append(places, j), append(keys, args[j-n])
			}
		}
		return places, keys
	}
	return nil, nil
}

// runStreamEnds answers the last IDs of streams, 0-0 where there is none.
func runStreamEnds(c *Ctx, args [][]byte) {
	c.Out.Array(len(args) - 1)
	for _, key := range args[1:] {
		var last stream.ID
		if e := c.Peek(key); e != nil && e.Kind() == engine.KindStream {
			last = e.Object().(*stream.Stream).State.Last
		}
		c.Out.Bulk(last.AppendText(nil))
	}
}

func runXReadGroup(c *Ctx, args [][]byte) {
	o := readOptions{grouped: true}
	if !o.parse(c, args) {
		return
	}
	keys, texts := o.keys(args), o.ids(args)
	reads := make([]groupRead, len(keys))
	for i, key := range keys {
		reads[i] = groupRead{readOptions: &o, key: key}
		if !reads[i].parse(c, texts[i]) {
			return
		}
	}
	at, n := c.Out.Len(), 0
	for i := range reads {
		if reads[i].run(c) {
			n++
		}
	}
	if n > 0 {
		c.endStreams(at, n)
		return
	}
	o.unread(c)
}

// groupRead is what XREADGROUP does with one stream.
type groupRead struct {
	*readOptions
	key []byte
	// history asks for the consumer's pending entries behind an ID, else for new
	// ones.
	history bool
	behind  stream.ID
}

// parse looks at the key, the group and the ID. It answers the error itself.
func (r *groupRead) parse(c *Ctx, id []byte) bool {
	s, _, ok := c.takeStream(r.key)
	if !ok {
		return false
	}
	if s == nil || s.FindGroup(r.group) == nil {
		c.Out.Error(errNoGroup(r.key, r.group) + " in XREADGROUP with GROUP option")
		return false
	}
	switch string(clipC(id)) {
	case "$":
		c.Out.Error(ErrReadLastID)
		return false
	case ">":
		return true
	}
	r.behind, ok = c.streamID(id)
	// The greatest ID means the same as >.
	r.history = r.behind != stream.MaxID
	return ok
}

// run answers for the stream, if there is anything to say.
func (r *groupRead) run(c *Ctx) (answered bool) {
	e := c.Write(r.key)
	c.changeStream(r.key, e, func(s *stream.Stream) bool {
		g := s.ChangeGroup(r.group)
		no, created := c.consumer(s, g, r.key, r.consumer)
		switch {
		case r.history:
			c.beginStream(r.key)
			r.old(c, s, g, no)
		case s.HasBehind(g.Last()):
			c.beginStream(r.key)
			r.fresh(c, s, g, no)
		default:
			return created
		}
		answered = true
		return true
	})
	return answered
}

// consumer returns the number of a consumer that asks for entries; it is made if
// it is not there.
func (c *Ctx) consumer(s *stream.Stream, g *stream.Group, key, name []byte) (no int, created bool) {
	no, created = s.AddConsumer(g, name, c.NowMs)
	if created {
		c.Notify(EventStream, "xgroup-createconsumer", key)
	}
	s.SeeConsumer(g, no, c.NowMs)
	return no, created
}

// fresh answers entries that were not delivered yet and delivers them.
func (r *groupRead) fresh(c *Ctx, s *stream.Stream, g *stream.Group, no int) {
	from, _ := g.Last().Next()
	walk := func(yield func(e *stream.Entry) bool) { s.Range(from, stream.MaxID, yield) }
	c.writeStreamEntries(walk, r.count, func(id stream.ID) {
		s.Advance(g, id)
		if !r.noAck {
			c.member()
			s.SetPending(g, stream.Pending{ID: id, DeliveredMs: c.NowMs, Deliveries: 1, Consumer: no})
			s.ActivateConsumer(g, no, c.NowMs)
		}
	})
}

// old answers the consumer's pending entries, and counts them as delivered once
// more unless they were deleted.
func (r *groupRead) old(c *Ctx, s *stream.Stream, g *stream.Group, no int) {
	at := c.Out.Len()
	var again []stream.Pending
	n := int64(0)
	from, _ := r.behind.Next()
	g.PendingOf(no, from, func(p stream.Pending) bool {
		c.member()
		if e := s.Find(p.ID); e != nil {
			c.writeStreamEntry(e)
			p.DeliveredMs = c.NowMs
			p.Deliveries++
			again = append(again, p)
		} else {
			c.Out.Array(2)
			c.bulkID(p.ID)
			c.Out.NullArray()
		}
		n++
		return n != r.count
	})
	c.Out.ArrayFrom(at, int(n))
	for _, p := range again {
		c.member()
		s.SetPending(g, p)
	}
}

// withGroup returns the entry of a stream that has a group. Where either is
// missing, or the key holds something else, it answers the error itself.
func (c *Ctx) withGroup(key, group []byte) (*engine.Entry, bool) {
	s, e, ok := c.takeStream(key)
	if !ok {
		return nil, false
	}
	if s != nil && s.FindGroup(group) != nil {
		return e, true
	}
	c.Out.Error(errNoGroup(key, group))
	return nil, false
}
