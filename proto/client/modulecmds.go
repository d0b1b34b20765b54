package client

// moduleHandlers are the subcommands of MODULE.
var moduleHandlers = withRefused("module", group{
	"module|list": func(c *Client, _ [][]byte) { c.out.Array(0) },
	"module|help": func(c *Client, _ [][]byte) {
		c.help("MODULE <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
			"LIST", "    Return the modules that are loaded: none, for none can be.")
	},
})
