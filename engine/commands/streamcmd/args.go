package streamcmd

import (
	"bytes"
	"math"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/stream"
)

// streamIDBytesMax is the longest text that Redis accepts as an ID.
const streamIDBytesMax = 127

// parseStreamID reads ms-seq, or ms alone, which gets the sequence number missing. With auto it
// also reads ms-*; then the sequence number is 0 and given is false.
func parseStreamID(text []byte, missing uint64, auto bool) (id stream.ID, given, ok bool) {
	if len(text) > streamIDBytesMax {
		return id, false, false
	}
	ms, seq, both := bytes.Cut(clipC(text), []byte("-"))
	if id.Ms, ok = parseUint(ms); !ok {
		return id, false, false
	}
	switch {
	case !both:
		id.Seq = missing
	case auto && string(seq) == "*":
		return id, false, true
	default:
		id.Seq, ok = parseUint(seq)
	}
	return id, true, ok
}

// parseUint reads a number as Redis reads the parts of an ID: as C's strtoul would, which accepts
// white space and signs, except for an obviously negative number.
func parseUint(text []byte) (uint64, bool) {
	if n, ok := command.ParseInt(text); ok {
		return uint64(n), n >= 0
	}
	digits := bytes.TrimLeft(text, " \t\n\v\f\r")
	negative := len(digits) > 0 && digits[0] == '-'
	if negative || len(digits) > 0 && digits[0] == '+' {
		digits = digits[1:]
	}
	n := uint64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		d := uint64(c - '0')
		if n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	if negative {
		n = -n
	}
	return n, len(digits) > 0
}

// streamID reads the ID of an entry. It answers the error itself.
func streamID(c *command.Ctx, text []byte) (stream.ID, bool) {
	id, _, ok := parseStreamID(text, 0, false)
	if !ok {
		c.Out.Error(ErrStreamID)
	}
	return id, ok
}

// streamIDs is streamID for several.
func streamIDs(c *command.Ctx, texts [][]byte) ([]stream.ID, bool) {
	ids := make([]stream.ID, len(texts))
	for i, text := range texts {
		var ok bool
		if ids[i], ok = streamID(c, text); !ok {
			return nil, false
		}
	}
	return ids, true
}

// streamEdgeID reads an ID that may be - or +.
func streamEdgeID(text []byte, missing uint64) (stream.ID, bool) {
	switch string(clipC(text)) {
	case "-":
		return stream.ID{}, true
	case "+":
		return stream.MaxID, true
	}
	id, _, ok := parseStreamID(text, missing, false)
	return id, ok
}

// streamStart reads the start of an interval, streamEnd its end. An ID behind a bracket is not part
// of the interval. They answer the error themselves.
func streamStart(c *command.Ctx, text []byte) (stream.ID, bool) {
	return streamBound(c, text, 0, stream.ID.Next, ErrStreamStart)
}

func streamEnd(c *command.Ctx, text []byte) (stream.ID, bool) {
	return streamBound(c, text, math.MaxUint64, stream.ID.Previous, ErrStreamEnd)
}

func streamBound(c *command.Ctx, text []byte, missing uint64, step func(stream.ID) (stream.ID, bool), none string) (id stream.ID, ok bool) {
	if len(text) < 2 || text[0] != '(' {
		if id, ok = streamEdgeID(text, missing); !ok {
			c.Out.Error(ErrStreamID)
		}
		return id, ok
	}
	if id, _, ok = parseStreamID(text[1:], missing, false); !ok {
		c.Out.Error(ErrStreamID)
		return id, false
	}
	if id, ok = step(id); !ok {
		c.Out.Error(none)
	}
	return id, ok
}

// intArgOr is IntArg with its own error message.
func intArgOr(c *command.Ctx, text []byte, message string) (int64, bool) {
	n, ok := command.ParseInt(text)
	if !ok {
		c.Out.Error(message)
	}
	return n, ok
}

func bulkID(c *command.Ctx, id stream.ID) {
	var buf [48]byte
	c.Out.Bulk(id.AppendText(buf[:0]))
}

func readStream(c *command.Ctx, key []byte) (*stream.Stream, bool) {
	return command.ReadAs[*stream.Stream](c, key, engine.KindStream)
}

func writeStream(c *command.Ctx, key []byte) (*stream.Stream, *engine.Entry, bool) {
	return command.WriteAs[*stream.Stream](c, key, engine.KindStream)
}

// takeStream is writeStream for a command for which Redis looks the key up as a read, so the lookup
// counts as a hit or a miss.
func takeStream(c *command.Ctx, key []byte) (*stream.Stream, *engine.Entry, bool) {
	s, e, ok := writeStream(c, key)
	c.Look(key)
	return s, e, ok
}

// changeStream changes the stream of an entry in place. change returns whether that counts as a
// change for clients that watch the key. An empty stream stays. Clients that wait for entries are
// not notified, since there are no new ones.
func changeStream(c *command.Ctx, key []byte, e *engine.Entry, change func(s *stream.Stream) bool) {
	e = c.Mutate(key, e)
	version := e.Version
	if change(e.Object().(*stream.Stream)) {
		version = c.TxnNo
		c.ChangedKey(key)
	}
	c.KS.Changed(c.DB, e, version)
}

// fillStream is for a change that clients waiting for entries must hear of. If the entry is nil it
// makes the key.
func fillStream(c *command.Ctx, key []byte, e *engine.Entry, change func(s *stream.Stream)) {
	if e == nil {
		s := stream.New()
		// The event for the new key comes before the events of the change.
		events := c.HoldEvents(func() { change(s) })
		c.Put(c.DB, engine.NewObject(key, engine.KindStream, s))
		c.Release(events)
		return
	}
	e = c.Mutate(key, e)
	change(e.Object().(*stream.Stream))
	c.Changed(e)
}
