package scriptcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/script"
)

// program is a compiled text with its flags. A call runs it on its keys.
type program struct {
	// One of script and function is set, as kind says.
	script   *script.Script
	function *script.Function
	kind     command.ProgramKind
	// readOnly is set if the calling command allows no writes. compiles is set if the program was
	// not in the cache: the call then pays for compiling it.
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
