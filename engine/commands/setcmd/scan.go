package setcmd

import (
	"iter"
	"strconv"

	"lockstep/engine/command"
)

// writeScan answers one part of a walk: the cursor of the next part, and the elements that the
// filter admits.
func writeScan(c *command.Ctx, next uint64, o *command.ScanOptions, elements iter.Seq[[]byte]) {
	begin := c.Out.Len()
	c.Out.Array(2)
	c.Out.BulkString(strconv.FormatUint(next, 10))
	var found [][]byte
	for element := range elements {
		if o.Admits(c, element) {
			found = append(found, append([]byte(nil), element...))
		}
		if c.OutOfTries(begin) {
			return
		}
	}
	c.Out.Array(len(found))
	for _, element := range found {
		c.Out.Bulk(element)
	}
}

func runSScan(c *command.Ctx, args [][]byte) {
	from, ok := c.CursorArg(args[2])
	if !ok {
		return
	}
	s, ok := readSet(c, args[1])
	if !ok {
		return
	}
	var o command.ScanOptions
	switch {
	case s == nil:
		writeScan(c, 0, &o, func(func([]byte) bool) {})
	case o.Parse(c, args[3:], nil) && c.Steps(int64(min(o.Count, s.Len()))/command.StepKeys):
		members, next := s.Scan(from.Number(), o.Count)
		writeScan(c, next, &o, members)
	}
}
