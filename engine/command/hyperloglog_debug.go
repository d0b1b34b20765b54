package command

import (
	"lockstep/engine"
	"lockstep/engine/hll"
)

func runPFDebug(c *Ctx, args [][]byte) {
	key := args[2]
	e, ok := c.WriteString(key)
	if !ok {
		return
	}
	if e == nil {
		c.Out.Error(ErrHLLNoKey)
		return
	}
	if !c.isHLL(e) {
		return
	}
	switch sub := args[1]; {
	case EqualFold(sub, "getreg"):
		if text, ok := c.densify(key, e); ok {
			c.Out.Array(hll.Registers)
			for i := range hll.Registers {
				c.Out.Int(int64(hll.Register(text, i)))
			}
		}
	case EqualFold(sub, "decode"):
		if hll.Dense(e.Text()) {
			c.Out.Error(ErrHLLDense)
			return
		}
		c.Out.Bulk(hll.Decode(e.Text()))
	case EqualFold(sub, "encoding"):
		c.Out.Status(encodingOfHLL(e))
	case EqualFold(sub, "todense"):
		was := hll.Dense(e.Text())
		if _, ok := c.densify(key, e); ok {
			c.Out.Int(int64(BoolInt(!was)))
		}
	default:
		c.Out.Error("ERR Unknown PFDEBUG subcommand '" + string(Clip(sub, len(sub))) + "'")
	}
}

func encodingOfHLL(e *engine.Entry) string {
	if hll.Dense(e.Text()) {
		return "dense"
	}
	return "sparse"
}

// densify makes the HyperLogLog under key dense and returns its text. It
// answers the error itself.
func (c *Ctx) densify(key []byte, e *engine.Entry) ([]byte, bool) {
	if hll.Dense(e.Text()) {
		return e.Text(), true
	}
	text, err := hll.AppendDense(nil, e.Text())
	if err != nil {
		c.Out.Error(ErrCorruptHLL)
		return nil, false
	}
	c.storeHLL(key, e, text)
	return text, true
}

func runPFSelfTest(c *Ctx, _ [][]byte) {
	const selfTestSteps = 100_000
	if !c.Steps(selfTestSteps) {
		return
	}
	if err := hll.SelfTest(); err != nil {
		c.Out.Error("ERR " + err.Error())
		return
	}
	c.Out.OK()
}
