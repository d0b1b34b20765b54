package client

// libraryHandlers are the subcommands of FUNCTION that need no shard.
var libraryHandlers = group{"function|help": functionHelp}

func functionHelp(c *Client, _ [][]byte) {
	c.help("FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
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
