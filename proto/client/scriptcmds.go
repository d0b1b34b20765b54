package client

import "lockstep/engine/commands/scriptcmd"

// scriptHandlers are the subcommands of SCRIPT that need no shard.
var scriptHandlers = group{"script|debug": scriptDebug, "script|help": scriptHelp}

func scriptDebug(c *Client, args [][]byte) {
	switch fold(args[2]) {
	case "no":
		c.out.OK()
	case "yes", "sync":
		c.out.Error(scriptcmd.ErrNoDebugger)
	default:
		c.out.Error(scriptcmd.ErrDebugSyntax)
	}
}

func scriptHelp(c *Client, _ [][]byte) {
	c.help("SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"DEBUG (YES|SYNC|NO)", "    There is no debugger: NO alone is answered OK.",
		"EXISTS <sha1> [<sha1> ...]", "    Tell which scripts are in the script cache.",
		"FLUSH [ASYNC|SYNC]", "    Empty the script cache, on all nodes.",
		"KILL", "    End the scripts that run and only read.",
		"LOAD <script>", "    Put a script into the script cache, on all nodes.",
		"SHOW <sha1>", "    Return the text of a script in the script cache.")
}
