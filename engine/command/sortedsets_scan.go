package command

import (
	"math"
	"strconv"

	"lockstep/engine/reply"
	"lockstep/engine/zset"
)

// runZScan walks on from a cursor, which is a hash of the index of a large set.
// A small set is answered as a whole.
func runZScan(c *Ctx, args [][]byte) {
	from, ok := parseCursor(args[2])
	if !ok {
		c.Out.Error(ErrInvalidCursor)
		return
	}
	s, ok := c.readSortedSet(args[1])
	if !ok {
		return
	}
	if s == nil {
		c.Out.Array(2)
		c.Out.BulkString("0")
		c.Out.Array(0)
		return
	}
	pattern, count, ok := c.zscanOptions(args[3:])
	if !ok || !c.steps(int64(min(count, s.Len()))/stepKeys) {
		return
	}
	var found []zset.Entry
	next := uint64(0)
	if s.Large() {
		if from.slot == 0 {
			found, next = c.scanLarge(s, from.hash, count, pattern)
		}
	} else {
		for _, e := range s.From(0) {
			if pattern == nil || c.matches(pattern, e.Member, false) {
				found = append(found, e)
			}
		}
	}
	if c.outOfTries(c.Out.Len()) {
		return
	}
	c.Out.Array(2)
	c.Out.BulkString(strconv.FormatUint(next, 10))
	c.Out.Array(2 * len(found))
	var buf [32]byte
	for _, e := range found {
		c.Out.Bulk(e.Member)
		if s.Large() {
			c.Out.Bulk(reply.AppendDouble(buf[:0], e.Score))
		} else {
			c.Out.Bulk(appendPackedScore(buf[:0], e.Score))
		}
	}
}

// scanLarge visits count members, and those with the hash of the last one, and
// returns the cursor to go on with, 0 at the end.
func (c *Ctx) scanLarge(s *zset.Set, from uint32, count int, pattern []byte) (found []zset.Entry, next uint64) {
	last := from
	for hash, e := range s.Scan(from) {
		if count <= 0 && hash != last {
			return found, uint64(hash)
		}
		count--
		last = hash
		if pattern == nil || c.matches(pattern, e.Member, false) {
			found = append(found, e)
		}
	}
	return found, 0
}

// zscanOptions reads the options. It answers the error itself.
func (c *Ctx) zscanOptions(args [][]byte) (pattern []byte, count int, ok bool) {
	count = scanDefault
	for ; len(args) >= 2; args = args[2:] {
		switch {
		case equalFold(args[0], "count"):
			n, ok := c.intArg(args[1])
			if !ok {
				return nil, 0, false
			}
			if n < 1 {
				c.Out.Error(ErrSyntax)
				return nil, 0, false
			}
			count = int(min(n, scanMax))
		case equalFold(args[0], "match"):
			pattern = args[1]
			if string(pattern) == "*" {
				pattern = nil
			}
		default:
			c.Out.Error(ErrSyntax)
			return nil, 0, false
		}
	}
	if len(args) > 0 {
		c.Out.Error(ErrSyntax)
		return nil, 0, false
	}
	return pattern, count, true
}

// appendPackedScore appends a score as it stands in a listpack: a whole number
// if it is one, however large.
func appendPackedScore(dst []byte, score float64) []byte {
	const wholeMax = math.MaxInt64 / 2
	if math.Abs(score) <= wholeMax && score == math.Trunc(score) {
		return strconv.AppendInt(dst, int64(score), 10)
	}
	return reply.AppendDouble(dst, score)
}
