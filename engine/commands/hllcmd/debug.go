package hllcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/hll"
)

func runPFDebug(c *command.Ctx, args [][]byte) {
	key := args[2]
	e, ok := c.WriteString(key)
	if !ok {
		return
	}
	if e == nil {
		c.Out.Error(ErrHLLNoKey)
		return
	}
	if !isHLL(c, e) {
		return
	}
	switch sub := args[1]; {
	case command.EqualFold(sub, "getreg"):
		if text, ok := densify(c, key, e); ok {
			c.Out.Array(hll.Registers)
			for i := range hll.Registers {
				c.Out.Int(int64(hll.Register(text, i)))
			}
		}
	case command.EqualFold(sub, "decode"):
		if hll.Dense(e.Text()) {
			c.Out.Error(ErrHLLDense)
			return
		}
		c.Out.Bulk(hll.Decode(e.Text()))
	case command.EqualFold(sub, "encoding"):
		c.Out.Status(encodingOfHLL(e))
	case command.EqualFold(sub, "todense"):
		was := hll.Dense(e.Text())
		if _, ok := densify(c, key, e); ok {
			c.Out.Int(int64(command.BoolInt(!was)))
		}
	default:
		c.Out.Error("ERR Unknown PFDEBUG subcommand '" + string(command.Clip(sub, len(sub))) + "'")
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
func densify(c *command.Ctx, key []byte, e *engine.Entry) ([]byte, bool) {
	if hll.Dense(e.Text()) {
		return e.Text(), true
	}
	text, err := hll.AppendDense(nil, e.Text())
	if err != nil {
		c.Out.Error(ErrCorruptHLL)
		return nil, false
	}
	storeHLL(c, key, e, text)
	return text, true
}

func runPFSelfTest(c *command.Ctx, _ [][]byte) {
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
