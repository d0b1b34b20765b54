package command

import (
	"strconv"

	"lockstep/engine/hash"
)

// hashScanOptions are the options of HSCAN.
type hashScanOptions struct {
	count int
	// pattern is nil where every field will do.
	pattern  []byte
	noValues bool
}

// parse reads the options. It answers the error itself.
func (o *hashScanOptions) parse(c *Ctx, args [][]byte) bool {
	o.count = scanDefault
	for i := 0; i < len(args); i++ {
		more := i+1 < len(args)
		switch {
		case equalFold(args[i], "count") && more:
			i++
			n, ok := c.intArg(args[i])
			if !ok {
				return false
			}
			if n < 1 {
				c.Out.Error(ErrSyntax)
				return false
			}
			o.count = int(min(n, scanMax))
		case equalFold(args[i], "match") && more:
			i++
			o.pattern = args[i]
			if string(o.pattern) == "*" {
				o.pattern = nil
			}
		case equalFold(args[i], "novalues"):
			o.noValues = true
		default:
			c.Out.Error(ErrSyntax)
			return false
		}
	}
	return true
}

// runHScan walks on from a cursor: the hash of the next field. So it goes on
// after a restart, or on another node, and misses no field that was there all
// the time. A small hash is given as a whole, whatever the cursor.
func runHScan(c *Ctx, args [][]byte) {
	from, ok := parseCursor(args[2])
	if !ok {
		c.Out.Error(ErrInvalidCursor)
		return
	}
	h, ok := c.readHash(args[1])
	if !ok {
		return
	}
	var o hashScanOptions
	if h != nil && (!o.parse(c, args[3:]) || !c.steps(int64(min(o.count, h.Len()))/stepKeys)) {
		return
	}
	var found []hash.Field
	visit := func(f hash.Field) {
		if !f.GoneAt(c.NowMs) && (o.pattern == nil || c.matches(o.pattern, f.Name, false)) {
			found = append(found, f)
		}
	}
	next := uint32(0)
	switch {
	case h == nil:
	case !h.Large():
		c.eachField(h, visit)
	case from.slot == 0: // else it is behind the greatest hash
		next = h.Scan(from.hash, o.count, visit)
	}
	if c.outOfTries(c.Out.Len()) {
		return
	}
	c.Out.Array(2)
	c.Out.BulkString(strconv.FormatUint(uint64(next), 10))
	c.writeScanned(found, o.noValues)
}

func (c *Ctx) writeScanned(found []hash.Field, noValues bool) {
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
