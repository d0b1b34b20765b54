package hllcmd

import (
	"bytes"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/hll"
)

func runPFAdd(c *command.Ctx, args [][]byte) {
	key, elements := args[1], args[2:]
	e, ok := c.WriteString(key)
	if !ok || !isHLL(c, e) {
		return
	}
	raised, ok := false, true
	switch {
	case e == nil:
		raised = true
		text, _, _ := hll.Add(hll.New(), elements, c.Settings.HLLSparseBytesMax, c.Member)
		hll.Outdate(text)
		storeHLL(c, key, nil, text)
	case hll.Dense(e.Text()):
		raised = addDense(c, key, e, elements)
	default:
		raised, ok = addSparse(c, key, e, elements)
	}
	if !ok {
		return
	}
	if raised {
		c.Notify(command.EventString, "pfadd", key)
		c.Out.Int(1)
		return
	}
	c.Out.Int(0)
}

// addDense adds to a dense HyperLogLog in place and reports whether it raised a register.
func addDense(c *command.Ctx, key []byte, e *engine.Entry, elements [][]byte) bool {
	raises := hll.Raises(e.Text(), elements, c.Item)
	if raises || !e.Raw() {
		c.ChangeText(key, e, hll.DenseBytes, func(text []byte) {
			hll.Add(text, elements, c.Settings.HLLSparseBytesMax, c.Item)
		})
	}
	return raises
}

// addSparse adds to a sparse HyperLogLog, which may become dense, and reports whether it raised a
// register. It answers the error itself.
func addSparse(c *command.Ctx, key []byte, e *engine.Entry, elements [][]byte) (raises, ok bool) {
	if !sparseSteps(c, e.Text(), len(elements)) {
		return false, false
	}
	text, raised, err := hll.Add(bytes.Clone(e.Text()), elements, c.Settings.HLLSparseBytesMax, c.Member)
	if err != nil {
		c.Out.Error(ErrCorruptHLL)
		return false, false
	}
	if raised > 0 || !e.Raw() {
		storeHLL(c, key, e, text)
	}
	return raised > 0, true
}

// sparseSteps counts the steps for adding elements to a sparse text: each element takes a walk over
// the text. A text that PFADD and PFMERGE have made is short, but one from SET or RESTORE may have
// any length.
func sparseSteps(c *command.Ctx, text []byte, elements int) bool {
	if int64(len(text)) <= c.Settings.HLLSparseBytesMax {
		return true
	}
	runs := int64(min(len(text), 2*hll.Registers))
	return c.Steps(int64(len(text))/command.StepBytes + int64(elements)*runs/command.StepRuns)
}

// storeHLL stores the text of a HyperLogLog under key, whose entry is e or nil,
// and keeps the expiry.
func storeHLL(c *command.Ctx, key []byte, e *engine.Entry, text []byte) {
	if e != nil && e.Growable() {
		e = c.Mutate(key, e)
		e.ReplaceText(text)
		c.Changed(e)
		return
	}
	n := engine.NewRawString(key, text, 0)
	if e != nil {
		n.ExpireAtMs = e.ExpireAtMs
	}
	c.Put(c.DB, n)
}

func runPFMerge(c *command.Ctx, args [][]byte) {
	key := args[1]
	e := c.Write(key)
	values, dense, ok := mergeHLL(c, args[1:])
	if !ok {
		return
	}
	text := hll.New()
	if e != nil {
		if !sparseSteps(c, e.Text(), 0) {
			return
		}
		text = bytes.Clone(e.Text())
	}
	text, err := hll.Raise(text, values, dense, c.Settings.HLLSparseBytesMax)
	if err != nil {
		c.Out.Error(ErrCorruptHLL)
		return
	}
	storeHLL(c, key, e, text)
	c.Notify(command.EventString, "pfadd", key)
	c.Out.OK()
}
