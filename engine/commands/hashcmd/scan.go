package hashcmd

import (
	"strconv"

	"lockstep/engine/command"
	"lockstep/engine/hash"
)

// runHScan walks on from a cursor, which is the hash of the next field. So a scan goes on after a
// restart or on another node, and misses no field that exists all the time. A small hash is
// answered as a whole, whatever the cursor.
func runHScan(c *command.Ctx, args [][]byte) {
	from, ok := c.CursorArg(args[2])
	if !ok {
		return
	}
	h, ok := readHash(c, args[1])
	if !ok {
		return
	}
	var o command.ScanOptions
	noValues := false
	flag := func(args [][]byte) (taken int) {
		if command.EqualFold(args[0], "novalues") {
			noValues, taken = true, 1
		}
		return taken
	}
	if h != nil && (!o.Parse(c, args[3:], flag) || !c.Steps(int64(min(o.Count, h.Len()))/command.StepKeys)) {
		return
	}
	var found []hash.Field
	visit := func(f hash.Field) {
		if !f.GoneAt(c.NowMs) && o.Admits(c, f.Name) {
			found = append(found, f)
		}
	}
	next := uint32(0)
	switch {
	case h == nil:
	case !h.Large():
		eachField(c, h, visit)
	case from.Slot == 0: // otherwise the cursor is behind the greatest hash
		next = h.Scan(from.Hash, o.Count, visit)
	}
	if c.OutOfTries(c.Out.Len()) {
		return
	}
	c.Out.Array(2)
	c.Out.BulkString(strconv.FormatUint(uint64(next), 10))
	writeScanned(c, found, noValues)
}

func writeScanned(c *command.Ctx, found []hash.Field, noValues bool) {
	each := 2
	if noValues {
		each = 1
	}
	c.Out.Array(each * len(found))
	for _, f := range found {
		c.Out.Bulk(f.Name)
		if !noValues {
			c.Out.Bulk(f.Value)
		}
	}
}
