package streamcmd

import (
	"math"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/engine/stream"
)

// readOptions are the arguments of XREAD and XREADGROUP.
type readOptions struct {
	grouped, noAck  bool
	group, consumer []byte
	count           int64
	// streamsAt is the place of the first key, or 0 if there are no keys. Half of the arguments
	// from there on are keys, the other half are their IDs.
	streamsAt int
}

// keys and ids return the keys, and the argument for the ID of each.
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
		case command.EqualFold(args[i], "block"), command.EqualFold(args[i], "count"):
			i++
		case command.EqualFold(args[i], "group"):
			i += 2
		case command.EqualFold(args[i], "noack"):
		case command.EqualFold(args[i], "streams"):
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
func (o *readOptions) parse(c *command.Ctx, args [][]byte) (ok bool) {
	name, newest := "xread", "$"
	if o.grouped {
		name, newest = "xreadgroup", ">"
	}
	for i := 1; i < len(args) && o.streamsAt == 0; i++ {
		more := len(args) - i - 1
		switch {
		case more > 0 && command.EqualFold(args[i], "block"):
			if c.InScript {
				c.Out.Error(errScriptBlock(args[0]))
				return false
			}
			i++
			if !blockTimeout(c, args[i]) {
				return false
			}
		case more > 0 && command.EqualFold(args[i], "count"):
			i++
			if o.count, ok = c.IntArg(args[i]); !ok {
				return false
			}
			o.count = max(o.count, 0)
		case more > 0 && command.EqualFold(args[i], "streams"):
			o.streamsAt = i + 1
			if more%2 != 0 {
				c.Out.Error(errUnbalanced(name, newest))
				return false
			}
		case more > 1 && command.EqualFold(args[i], "group"):
			if !o.grouped {
				c.Out.Error(ErrReadGroupOption)
				return false
			}
			o.group, o.consumer = args[i+1], args[i+2]
			i += 2
		case command.EqualFold(args[i], "noack"):
			if !o.grouped {
				c.Out.Error(ErrReadNoAckOption)
				return false
			}
			o.noAck = true
		default:
			c.Out.Error(command.ErrSyntax)
			return false
		}
	}
	return o.check(c)
}

func (o *readOptions) check(c *command.Ctx) bool {
	switch {
	case o.streamsAt == 0:
		c.Out.Error(command.ErrSyntax)
	case o.grouped && o.group == nil:
		c.Out.Error(ErrReadGroupMissing)
	default:
		return true
	}
	return false
}

// blockTimeout checks a timeout in milliseconds. It answers the error itself.
func blockTimeout(c *command.Ctx, text []byte) bool {
	ms, ok := command.ParseInt(text)
	switch {
	case !ok:
		c.Out.Error(ErrReadTimeout)
	case ms < 0:
		c.Out.Error(command.ErrTimeoutNegative)
	case ms > math.MaxInt64-c.NowMs:
		c.Out.Error(command.ErrTimeoutRange)
	default:
		return true
	}
	return false
}

// unread answers a read that found nothing.
func (o *readOptions) unread(c *command.Ctx) {
	c.Out.NullArray()
}

// beginStream begins the reply for one stream.
func beginStream(c *command.Ctx, key []byte) {
	if c.Out.Proto != reply.RESP3 {
		c.Out.Array(2)
	}
	c.Out.Bulk(key)
}

// endStreams ends the reply that begins at the place at, for n streams.
func endStreams(c *command.Ctx, at, n int) {
	if c.Out.Proto != reply.RESP3 {
		c.Out.ArrayFrom(at, n)
		return
	}
	c.Out.MapFrom(at, n)
}

func runXRead(c *command.Ctx, args [][]byte) {
	var o readOptions
	if !o.parse(c, args) {
		return
	}
	keys, texts := o.keys(args), o.ids(args)
	ids := make([]stream.ID, len(keys))
	streams := make([]*stream.Stream, len(keys))
	for i, key := range keys {
		var ok bool
		if streams[i], ok = readStream(c, key); !ok {
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
			if ids[i], ok = streamID(c, texts[i]); !ok {
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
		beginStream(c, keys[i])
		writeStreamEntries(c, func(yield func(e *stream.Entry) bool) { s.Range(from, stream.MaxID, yield) }, o.count, nil)
		n++
	}
	if n > 0 {
		endStreams(c, at, n)
		return
	}
	o.unread(c)
}

// groupOption returns the group of XREADGROUP.
func groupOption(args [][]byte) (group []byte) {
	for i := 1; i+1 < len(args); i++ {
		switch {
		case command.EqualFold(args[i], "group"):
			group = args[i+1]
			i += 2
		case command.EqualFold(args[i], "block"), command.EqualFold(args[i], "count"):
			i++
		case command.EqualFold(args[i], "streams"):
			return group
		}
	}
	return group
}

// latestIDs returns the places where "$" stands for an ID in the arguments of XREAD, and the keys
// of those IDs. A read that blocks runs again with the IDs that were the latest when it came in
// (see runStreamEnds).
func latestIDs(args [][]byte) (places []int, keys [][]byte) {
	for i := 1; i < len(args); i++ {
		if !command.EqualFold(args[i], "streams") {
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

// runStreamEnds answers the last IDs of streams, 0-0 for a missing stream.
func runStreamEnds(c *command.Ctx, args [][]byte) {
	c.Out.Array(len(args) - 1)
	for _, key := range args[1:] {
		var last stream.ID
		if e := c.Peek(key); e != nil && e.Kind() == engine.KindStream {
			last = e.Object().(*stream.Stream).State.Last
		}
		c.Out.Bulk(last.AppendText(nil))
	}
}

func runXReadGroup(c *command.Ctx, args [][]byte) {
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
		endStreams(c, at, n)
		return
	}
	o.unread(c)
}

// groupRead is the part of XREADGROUP for one stream.
type groupRead struct {
	*readOptions
	key []byte
	// history is set if the command asks for the consumer's pending entries behind an ID, and not
	// for new ones.
	history bool
	behind  stream.ID
}

// parse checks the key and the group and reads the ID. It answers the error itself.
func (r *groupRead) parse(c *command.Ctx, id []byte) bool {
	s, _, ok := takeStream(c, r.key)
	if !ok {
		return false
	}
	if s == nil || s.Groups.Find(r.group) == nil {
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
	r.behind, ok = streamID(c, id)
	// The greatest ID means the same as >.
	r.history = r.behind != stream.MaxID
	return ok
}

// run answers for the stream, if there is anything to answer.
func (r *groupRead) run(c *command.Ctx) (answered bool) {
	e := c.Write(r.key)
	changeStream(c, r.key, e, func(s *stream.Stream) bool {
		g := s.Groups.Change(r.group)
		no, created := consumer(c, s, g, r.key, r.consumer)
		switch {
		case r.history:
			beginStream(c, r.key)
			r.old(c, s, g, no)
		case s.HasBehind(g.Last()):
			beginStream(c, r.key)
			r.fresh(c, s, g, no)
		default:
			return created
		}
		answered = true
		return true
	})
	return answered
}

// consumer returns the number of a consumer that reads entries. It makes the consumer if there is
// none.
func consumer(c *command.Ctx, s *stream.Stream, g *stream.Group, key, name []byte) (no int, created bool) {
	no, created = s.Groups.AddConsumer(g, name, c.NowMs)
	if created {
		c.Notify(command.EventStream, "xgroup-createconsumer", key)
	}
	s.Groups.SeeConsumer(g, no, c.NowMs)
	return no, created
}

// fresh delivers and answers entries that were not delivered before.
func (r *groupRead) fresh(c *command.Ctx, s *stream.Stream, g *stream.Group, no int) {
	from, _ := g.Last().Next()
	walk := func(yield func(e *stream.Entry) bool) { s.Range(from, stream.MaxID, yield) }
	writeStreamEntries(c, walk, r.count, func(id stream.ID) {
		s.Advance(g, id)
		if !r.noAck {
			c.Member()
			s.Groups.SetPending(g, stream.Pending{ID: id, DeliveredMs: c.NowMs, Deliveries: 1, Consumer: no})
			s.Groups.ActivateConsumer(g, no, c.NowMs)
		}
	})
}

// old answers the consumer's pending entries, and counts one more delivery for those that were not
// deleted.
func (r *groupRead) old(c *command.Ctx, s *stream.Stream, g *stream.Group, no int) {
	at := c.Out.Len()
	var again []stream.Pending
	n := int64(0)
	from, _ := r.behind.Next()
	g.PendingOf(no, from, func(p stream.Pending) bool {
		c.Member()
		if e := s.Find(p.ID); e != nil {
			writeStreamEntry(c, e)
			p.DeliveredMs = c.NowMs
			p.Deliveries++
			again = append(again, p)
		} else {
			c.Out.Array(2)
			bulkID(c, p.ID)
			c.Out.NullArray()
		}
		n++
		return n != r.count
	})
	c.Out.ArrayFrom(at, int(n))
	for _, p := range again {
		c.Member()
		s.Groups.SetPending(g, p)
	}
}

// withGroup returns the entry of a stream that has a group. If the key or the group is missing, or
// the key holds another kind of value, it answers the error itself.
func withGroup(c *command.Ctx, key, group []byte) (*engine.Entry, bool) {
	s, e, ok := takeStream(c, key)
	if !ok {
		return nil, false
	}
	if s != nil && s.Groups.Find(group) != nil {
		return e, true
	}
	c.Out.Error(errNoGroup(key, group))
	return nil, false
}
