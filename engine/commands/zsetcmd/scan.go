package zsetcmd

import (
	"math"
	"strconv"

	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/engine/zset"
)

// runZScan walks on from a cursor, which is a hash of the index of a large set. A small set is
// answered as a whole.
func runZScan(c *command.Ctx, args [][]byte) {
	from, ok := c.CursorArg(args[2])
	if !ok {
		return
	}
	s, ok := ReadSortedSet(c, args[1])
	if !ok {
		return
	}
	if s == nil {
		c.Out.Array(2)
		c.Out.BulkString("0")
		c.Out.Array(0)
		return
	}
	var o command.ScanOptions
	if !o.Parse(c, args[3:], nil) || !c.Steps(int64(min(o.Count, s.Len()))/command.StepKeys) {
		return
	}
	var found []zset.Entry
	next := uint64(0)
	if s.Large() {
		if from.Slot == 0 {
			found, next = scanLarge(c, s, from.Hash, &o)
		}
	} else {
		for _, e := range s.From(0) {
			if o.Admits(c, e.Member) {
				found = append(found, e)
			}
		}
	}
	if c.OutOfTries(c.Out.Len()) {
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

// scanLarge visits o.Count members, and then those with the hash of the last one. It returns the
// cursor to continue with, or 0 at the end.
func scanLarge(c *command.Ctx, s *zset.Set, from uint32, o *command.ScanOptions) (found []zset.Entry, next uint64) {
	last, count := from, o.Count
	for hash, e := range s.Scan(from) {
		if count <= 0 && hash != last {
			return found, uint64(hash)
		}
		count--
		last = hash
		if o.Admits(c, e.Member) {
			found = append(found, e)
		}
	}
	return found, 0
}

// appendPackedScore appends a score in the form that a listpack has: as an integer if it is one,
// however large.
func appendPackedScore(dst []byte, score float64) []byte {
	const wholeMax = math.MaxInt64 / 2
	if math.Abs(score) <= wholeMax && score == math.Trunc(score) {
		return strconv.AppendInt(dst, int64(score), 10)
	}
	return reply.AppendDouble(dst, score)
}
