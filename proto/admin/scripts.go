package admin

import (
	"strings"

	"lockstep/engine/commands"
	"lockstep/engine/commands/scriptcmd"
	"lockstep/proto/client"
)

// scriptHandlers are the subcommands of SCRIPT that need no shard.
var scriptHandlers = client.Handlers{"script|debug": scriptDebug, "script|help": scriptHelp}

func scriptDebug(r *client.Request, args [][]byte) {
	switch fold(args[2]) {
	case "no":
		r.Out.OK()
	case "yes", "sync":
		r.Out.Error(scriptcmd.ErrNoDebugger)
	default:
		r.Out.Error(scriptcmd.ErrDebugSyntax)
	}
}

func scriptHelp(r *client.Request, _ [][]byte) {
	help(r, "SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"DEBUG (YES|SYNC|NO)", "    There is no debugger: NO alone is answered OK.",
		"EXISTS <sha1> [<sha1> ...]", "    Tell which scripts are in the script cache.",
		"FLUSH [ASYNC|SYNC]", "    Empty the script cache, on all nodes.",
		"KILL", "    End the scripts that run and only read.",
		"LOAD <script>", "    Put a script into the script cache, on all nodes.",
		"SHOW <sha1>", "    Return the text of a script in the script cache.")
}

// libraryHandlers are the subcommands of FUNCTION that need no shard.
var libraryHandlers = client.Handlers{"function|help": functionHelp}

func functionHelp(r *client.Request, _ [][]byte) {
	help(r, "FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"DELETE <library>", "    Delete a library and its functions.",
		"DUMP", "    Return all libraries as a payload for RESTORE.",
		"FLUSH [ASYNC|SYNC]", "    Delete all libraries.",
		"KILL", "    End the functions that run and only read.",
		"LIST [LIBRARYNAME <pattern>] [WITHCODE]", "    List the libraries and their functions.",
		"LOAD [REPLACE] <code>", "    Load a library, on all nodes.",
		"RESTORE <payload> [FLUSH|APPEND|REPLACE]", "    Load the libraries of a payload: in place of all, beside those that are there,",
		"    or in place of those of the same names.",
		"STATS", "    Tell which function runs, and how many there are.")
}

// moduleHandlers are the subcommands of MODULE.
var moduleHandlers = withRefused("module", client.Handlers{
	"module|list": func(r *client.Request, _ [][]byte) { r.Out.Array(0) },
	"module|help": func(r *client.Request, _ [][]byte) {
		help(r, "MODULE <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
			"LIST", "    Return the modules that are loaded: none, for none can be.")
	},
})

// withRefused adds a container's unsupported subcommands, which answer why they are
// refused.
func withRefused(container string, g client.Handlers) client.Handlers {
	for _, s := range commands.Get(container).Sub {
		if why := commands.Refused(s.Name); why != "" {
			g[s.Name] = func(r *client.Request, _ [][]byte) {
				r.Out.Error("ERR " + strings.ToUpper(strings.Replace(s.Name, "|", " ", 1)) + " is refused: " + why)
			}
		}
	}
	return g
}
