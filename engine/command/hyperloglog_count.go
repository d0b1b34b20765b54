package command

import (
	"lockstep/engine"
	"lockstep/engine/hll"
)

// isHLL tells whether an entry, or none, is a HyperLogLog. It answers the error
// itself.
func (c *Ctx) isHLL(e *engine.Entry) bool {
	if e == nil || hll.Is(e.Text()) {
		return true
	}
	c.Out.Error(ErrNotHLL)
	return false
}

// readHLL is ReadString for a HyperLogLog.
func (c *Ctx) readHLL(key []byte) (*engine.Entry, bool) {
	e, ok := c.ReadString(key)
	return e, ok && c.isHLL(e)
}

// runPFCount leaves the estimate in the text as it is, where Redis would store
// the new one: a read changes nothing.
func runPFCount(c *Ctx, args [][]byte) {
	if len(args) > 2 {
		values, _, ok := c.mergeHLL(args[1:])
		if ok {
			c.Out.Int(int64(values.Count()))
		}
		return
	}
	e, ok := c.readHLL(args[1])
	if !ok {
		return
	}
	if e == nil {
		c.Out.Int(0)
		return
	}
	c.Did(hll.Registers / StepRegisters * WorkStep)
	n, err := hll.Count(e.Text())
	if err != nil {
		c.Out.Error(ErrCorruptHLL)
		return
	}
	c.Out.Int(int64(n))
}

// mergeHLL merges the HyperLogLogs of keys, and tells whether any of them is
// dense. It answers the error itself.
func (c *Ctx) mergeHLL(keys [][]byte) (values *hll.Values, dense, ok bool) {
	values = new(hll.Values)
	merged := map[*engine.Entry]bool{}
	for _, key := range keys {
		e, ok := c.readHLL(key)
		if !ok {
			return nil, false, false
		}
		// Keys named many times cost no more than once.
		if e == nil || merged[e] {
			continue
		}
		if !c.Steps(hll.Registers / StepRegisters) {
			return nil, false, false
		}
		merged[e] = true
		dense = dense || hll.Dense(e.Text())
		if values.Merge(e.Text()) != nil {
			c.Out.Error(ErrCorruptHLL)
			return nil, false, false
		}
	}
	return values, dense, true
}
