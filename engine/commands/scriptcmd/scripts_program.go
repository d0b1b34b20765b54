package scriptcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/script"
)

// program is a compiled text with its flags, which a call runs on its keys.
type program struct {
	// script or function, as kind says.
	script   *script.Script
	function *script.Function
	kind     command.ProgramKind
	// readOnly: called by a command that lets nothing write. compiles: it was not in the cache, so the
	// call pays for compiling it.
	readOnly, compiles bool
}

func (p *program) name() string {
	if p.kind == command.KindFunction {
		return p.function.Name
	}
	return p.script.SHA
}

// planError plans a call that answers an error and does nothing.
func planError(text string) command.Plan {
	return command.Plan{Run: func(c *command.Ctx, _ [][]byte) { c.Out.Error(text) }}
}
