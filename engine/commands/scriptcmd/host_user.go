package scriptcmd

import (
	"lockstep/engine/command"
)

// What a script's command is refused with, for its user's sake.
var errScriptDenied = [...]string{
	command.DeniedCommand: "ERR The user executing the script can't run this command or subcommand",
	command.DeniedKey:     "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
	command.DeniedChannel: "ERR The user executing the script can't publish to the channel mentioned in the command",
}

// userRefusal is why the script's user may not run a command, "" if it may.
func (h *Host) userRefusal(spec *command.Spec, args [][]byte) string {
	if h.Ctx.User == nil {
		return ""
	}
	h.denial = h.Ctx.User.Judge(spec, args)
	return errScriptDenied[h.denial.Reason]
}
