package scriptcmd

import (
	"lockstep/engine/command"
)

// Errors for commands that the script's user may not run.
var errScriptDenied = [...]string{
	command.DeniedCommand: "ERR The user executing the script can't run this command or subcommand",
	command.DeniedKey:     "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
	command.DeniedChannel: "ERR The user executing the script can't publish to the channel mentioned in the command",
}

// userRefusal returns why the script's user may not run a command, or "".
func (h *Host) userRefusal(spec *command.Spec, args [][]byte) string {
	if h.Ctx.User == nil {
		return ""
	}
	h.denial = h.Ctx.User.Judge(spec, args)
	return errScriptDenied[h.denial.Reason]
}
