package hllcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/hll"
)

// isHLL reports whether an entry is a HyperLogLog or nil. It answers the error itself.
func isHLL(c *command.Ctx, e *engine.Entry) bool {
	if e == nil || hll.Is(e.Text()) {
		return true
	}
	c.Out.Error(ErrNotHLL)
	return false
}

// readHLL is ReadString for a HyperLogLog.
func readHLL(c *command.Ctx, key []byte) (*engine.Entry, bool) {
	e, ok := c.ReadString(key)
	return e, ok && isHLL(c, e)
}

// runPFCount leaves the estimate in the text unchanged, while Redis would store the new one: here a
// read changes nothing.
func runPFCount(c *command.Ctx, args [][]byte) {
	if len(args) > 2 {
		values, _, ok := mergeHLL(c, args[1:])
		if ok {
			c.Out.Int(int64(values.Count()))
		}
		return
	}
	e, ok := readHLL(c, args[1])
	if !ok {
		return
	}
	if e == nil {
		c.Out.Int(0)
		return
	}
	c.Did(hll.Registers / command.StepRegisters * command.WorkStep)
	n, err := hll.Count(e.Text())
	if err != nil {
		c.Out.Error(ErrCorruptHLL)
		return
	}
	c.Out.Int(int64(n))
}

// mergeHLL merges the HyperLogLogs of keys, and reports whether any of them is dense. It answers
// the error itself.
func mergeHLL(c *command.Ctx, keys [][]byte) (values *hll.Values, dense, ok bool) {
	values = new(hll.Values)
	merged := map[*engine.Entry]bool{}
	for _, key := range keys {
		e, ok := readHLL(c, key)
		if !ok {
			return nil, false, false
		}
		// A key that is named many times costs no more than once.
		if e == nil || merged[e] {
			continue
		}
		if !c.Steps(hll.Registers / command.StepRegisters) {
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
