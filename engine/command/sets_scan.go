package command

import (
	"iter"
	"strconv"
)

// elementScan are the options of SSCAN and its like.
type elementScan struct {
	count int
	// pattern is nil where every element will do.
	pattern []byte
}

// parse reads the options. It answers the error itself.
func (o *elementScan) parse(c *Ctx, args [][]byte) bool {
	o.count = scanDefault
	for ; len(args) > 0; args = args[2:] {
		switch {
		case len(args) > 1 && equalFold(args[0], "count"):
			n, ok := c.intArg(args[1])
			if !ok {
				return false
			}
			if n < 1 {
				c.Out.Error(ErrSyntax)
				return false
			}
			o.count = int(min(n, scanMax))
		case len(args) > 1 && equalFold(args[0], "match"):
			if o.pattern = args[1]; string(o.pattern) == "*" {
				o.pattern = nil
			}
		default:
			c.Out.Error(ErrSyntax)
			return false
		}
	}
	return true
}

// admits tells whether an element passes the filter.
func (o *elementScan) admits(c *Ctx, element []byte) bool {
	return o.pattern == nil || c.matches(o.pattern, element, false)
}

// parseElementCursor reads the cursor of SSCAN and its like. It answers the
// error itself.
func (c *Ctx) parseElementCursor(text []byte) (cursor uint64, ok bool) {
	at, ok := parseCursor(text)
	if !ok {
		c.Out.Error(ErrInvalidCursor)
	}
	return uint64(at.slot)<<32 | uint64(at.hash), ok
}

// writeScan answers one part of a walk: the cursor of the next and those
// elements that the filter admits.
func (c *Ctx) writeScan(next uint64, o *elementScan, elements iter.Seq[[]byte]) {
	begin := c.Out.Len()
	c.Out.Array(2)
	c.Out.BulkString(strconv.FormatUint(next, 10))
	var found [][]byte
	for element := range elements {
		if o.admits(c, element) {
			found = append(found, append([]byte(nil), element...))
		}
		if c.outOfTries(begin) {
			return
		}
	}
	c.Out.Array(len(found))
	for _, element := range found {
		c.Out.Bulk(element)
	}
}

func runSScan(c *Ctx, args [][]byte) {
	cursor, ok := c.parseElementCursor(args[2])
	if !ok {
		return
	}
	s, ok := c.readSet(args[1])
	if !ok {
		return
	}
	var o elementScan
	switch {
	case s == nil:
		c.writeScan(0, &o, func(func([]byte) bool) {})
	case o.parse(c, args[3:]) && c.steps(int64(min(o.count, s.Len()))/stepKeys):
		members, next := s.Scan(cursor, o.count)
		c.writeScan(next, &o, members)
	}
}
