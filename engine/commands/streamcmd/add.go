package streamcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/stream"
)

// addOptions are the options of XADD and XTRIM.
type addOptions struct {
	trim                  stream.Trim
	trims, noMake         bool
	limitGiven            bool
	id                    stream.ID
	idGiven, seqGiven     bool
	idAt                  int // the place of the ID
	nodeEntriesMax, limit int64
}

// parse reads the options. add is set for XADD and not for XTRIM. parse answers the error itself.
func (o *addOptions) parse(c *command.Ctx, args [][]byte, add bool) bool {
	o.nodeEntriesMax = c.Settings.StreamNodeEntriesMax
	i, ok := 2, true
	for ; i < len(args) && ok; i++ {
		more := i+1 < len(args)
		switch {
		case add && string(clipC(args[i])) == "*":
			o.idAt = i
		case more && (command.EqualFold(args[i], "maxlen") || command.EqualFold(args[i], "minid")):
			i, ok = o.parseTrim(c, args, i)
		case more && command.EqualFold(args[i], "limit"):
			i++
			o.limitGiven = true
			if o.limit, ok = c.IntArg(args[i]); ok && o.limit < 0 {
				c.Out.Error(ErrTrimLimit)
				return false
			}
		case add && command.EqualFold(args[i], "nomkstream"):
			o.noMake = true
		case add:
			o.idAt, o.idGiven = i, true
			if o.id, o.seqGiven, ok = parseStreamID(args[i], 0, true); !ok {
				c.Out.Error(ErrStreamID)
			}
		default:
			c.Out.Error(command.ErrSyntax)
			return false
		}
		if o.idAt > 0 {
			break
		}
	}
	return ok && o.check(c, add)
}

// parseTrim reads MAXLEN or MINID, which stands at i, and the arguments that belong to it.
func (o *addOptions) parseTrim(c *command.Ctx, args [][]byte, i int) (int, bool) {
	if o.trims {
		c.Out.Error(ErrTrimTwice)
		return i, false
	}
	o.trims = true
	o.trim.ByID = command.EqualFold(args[i], "minid")
	i++
	if op := string(clipC(args[i])); i+1 < len(args) && (op == "~" || op == "=") {
		o.trim.Approximate = op == "~"
		i++
	}
	var ok bool
	if o.trim.ByID {
		o.trim.MinID, ok = streamID(c, args[i])
		return i, ok
	}
	o.trim.MaxLen, ok = c.IntArg(args[i])
	if ok && o.trim.MaxLen < 0 {
		c.Out.Error(ErrTrimMaxLen)
		return i, false
	}
	return i, ok
}

// check looks at the options together, and sets the limit of the trimming.
func (o *addOptions) check(c *command.Ctx, add bool) bool {
	switch {
	case o.limit != 0 && !o.trims:
		c.Out.Error(ErrTrimLimitAlone)
		return false
	case !add && !o.trims:
		c.Out.Error(ErrTrimMissing)
		return false
	case o.limitGiven && !o.trim.Approximate:
		c.Out.Error(ErrTrimLimitExact)
		return false
	case o.limitGiven:
		o.trim.LimitMax = o.limit
	case o.trim.Approximate:
		// The limit is a hundred nodes, within bounds.
		const nodes, preset, most = 100, 10_000, 1_000_000
		o.trim.LimitMax = min(nodes*o.nodeEntriesMax, most)
		if o.nodeEntriesMax == 0 {
			o.trim.LimitMax = preset
		}
	}
	return true
}

// nextID determines the ID of the new entry. It answers the error itself.
func (o *addOptions) nextID(c *command.Ctx, s *stream.Stream) (stream.ID, bool) {
	var last stream.ID
	if s != nil {
		last = s.State.Last
	} else {
		s = stream.New()
	}
	if last == stream.MaxID {
		c.Out.Error(ErrStreamExhausted)
		return last, false
	}
	id, ok := o.id, true
	switch {
	case !o.idGiven:
		id, ok = s.NextID(c.DayMs())
	case !o.seqGiven && id.Ms == last.Ms:
		id, ok = last.Next()
		ok = ok && id.Ms == last.Ms
	}
	if !ok || id.Compare(last) <= 0 {
		c.Out.Error(ErrStreamIDSmall)
		return id, false
	}
	return id, true
}

func runXAdd(c *command.Ctx, args [][]byte) {
	key := args[1]
	var o addOptions
	if !o.parse(c, args, true) {
		return
	}
	if n := len(args) - o.idAt - 1; o.idAt == 0 || n < 2 || n%2 == 1 {
		c.Out.Error(command.ErrArityOf("xadd"))
		return
	}
	if o.idGiven && o.seqGiven && o.id.IsZero() {
		c.Out.Error(ErrStreamIDZero)
		return
	}
	s, e, ok := writeStream(c, key)
	if !ok {
		return
	}
	if e == nil && o.noMake {
		c.Out.Null()
		return
	}
	id, ok := o.nextID(c, s)
	if !ok {
		return
	}
	pairs := args[o.idAt+1:]
	total := 0
	for _, p := range pairs {
		total += len(p)
	}
	if total > stream.NodeBytesMax {
		c.Out.Error(ErrStreamTooLarge)
		return
	}
	bulkID(c, id)
	limits := stream.Limits{BytesMax: c.Settings.StreamNodeBytesMax, EntriesMax: c.Settings.StreamNodeEntriesMax}
	fillStream(c, key, e, func(s *stream.Stream) {
		c.Member()
		s.Append(id, pairs, limits)
		c.Notify(command.EventStream, "xadd", key)
		if o.trims && s.Trim(o.trim, c.Member) > 0 {
			c.Notify(command.EventStream, "xtrim", key)
		}
	})
}

func runXTrim(c *command.Ctx, args [][]byte) {
	key := args[1]
	var o addOptions
	if !o.parse(c, args, false) {
		return
	}
	_, e, ok := writeStream(c, key)
	if !ok {
		return
	}
	n := 0
	if e != nil {
		changeStream(c, key, e, func(s *stream.Stream) bool { n = s.Trim(o.trim, c.Member); return n > 0 })
	}
	if n > 0 {
		c.Notify(command.EventStream, "xtrim", key)
	}
	c.Out.Int(int64(n))
}

func runXDel(c *command.Ctx, args [][]byte) {
	key := args[1]
	_, e, ok := writeStream(c, key)
	if !ok {
		return
	}
	if e == nil {
		c.Out.Int(0)
		return
	}
	ids, ok := streamIDs(c, args[2:])
	if !ok {
		return
	}
	n := 0
	changeStream(c, key, e, func(s *stream.Stream) bool { n = s.Delete(ids, c.Member); return n > 0 })
	if n > 0 {
		c.Notify(command.EventStream, "xdel", key)
	}
	c.Out.Int(int64(n))
}

func runXLen(c *command.Ctx, args [][]byte) {
	if s, ok := readStream(c, args[1]); ok {
		n := 0
		if s != nil {
			n = s.Len()
		}
		c.Out.Int(int64(n))
	}
}

// setIDOptions are the arguments of XSETID.
type setIDOptions struct {
	last, maxDeleted stream.ID
	added            int64 // -1 if not given
}

// parse reads the arguments. It answers the error itself.
func (o *setIDOptions) parse(c *command.Ctx, args [][]byte) (ok bool) {
	o.added = -1
	if o.last, ok = streamID(c, args[2]); !ok {
		return false
	}
	for i := 3; i < len(args); i += 2 {
		more := i+1 < len(args)
		switch {
		case more && command.EqualFold(args[i], "entriesadded"):
			if o.added, ok = c.IntArg(args[i+1]); !ok {
				return false
			}
			if o.added < 0 {
				c.Out.Error(ErrSetIDAdded)
				return false
			}
		case more && command.EqualFold(args[i], "maxdeletedid"):
			if o.maxDeleted, ok = streamID(c, args[i+1]); !ok {
				return false
			}
			if o.last.Compare(o.maxDeleted) < 0 {
				c.Out.Error(ErrSetIDDeleted)
				return false
			}
		default:
			c.Out.Error(command.ErrSyntax)
			return false
		}
	}
	return true
}

// check compares the arguments with the stream. It answers the error itself.
func (o *setIDOptions) check(c *command.Ctx, s *stream.Stream) bool {
	top, some := s.LastEntryID()
	switch {
	case o.last.Compare(s.State.MaxDeleted) < 0:
		c.Out.Error(ErrSetIDBelowDeleted)
	case some && o.last.Compare(top) < 0:
		c.Out.Error(ErrSetIDTop)
	case some && o.added != -1 && int64(s.Len()) > o.added:
		c.Out.Error(ErrSetIDLength)
	default:
		return true
	}
	return false
}

func runXSetID(c *command.Ctx, args [][]byte) {
	key := args[1]
	var o setIDOptions
	if !o.parse(c, args) {
		return
	}
	s, e, ok := existingStream(c, key)
	if !ok || !o.check(c, s) {
		return
	}
	changeStream(c, key, e, func(s *stream.Stream) bool {
		s.State.Last = o.last
		if o.added != -1 {
			s.State.Added = uint64(o.added)
		}
		if !o.maxDeleted.IsZero() {
			s.State.MaxDeleted = o.maxDeleted
		}
		return true
	})
	c.Notify(command.EventStream, "xsetid", key)
	c.Out.OK()
}

// existingStream is writeStream for a key that must exist. It answers the error
// itself.
func existingStream(c *command.Ctx, key []byte) (*stream.Stream, *engine.Entry, bool) {
	s, e, ok := writeStream(c, key)
	if ok && e == nil {
		c.Out.Error(command.ErrNoSuchKey)
		return nil, nil, false
	}
	return s, e, ok
}
