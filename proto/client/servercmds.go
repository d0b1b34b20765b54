package client

import (
	"math"

	"lockstep/engine/command"
)

// configHandlers are the subcommands of CONFIG.
var configHandlers = group{
	"config|get": configGet, "config|set": configSet, "config|resetstat": configResetStat, "config|rewrite": configRewrite, "config|help": configHelp,
}

func configGet(c *Client, args [][]byte) {
	var patterns []string
	for _, a := range args[2:] {
		patterns = append(patterns, string(a))
	}
	pairs := c.backend.ConfigGet(patterns)
	c.out.Map(len(pairs))
	for _, p := range pairs {
		c.out.BulkString(p[0])
		c.out.BulkString(p[1])
	}
}

func configSet(c *Client, args [][]byte) {
	if len(args)%2 != 0 {
		c.out.Error(command.ErrSyntax)
		return
	}
	var pairs [][2]string
	for i := 2; i < len(args); i += 2 {
		pairs = append(pairs, [2]string{string(args[i]), string(args[i+1])})
	}
	err := c.backend.ConfigSet(pairs)
	// The default user's password may be another one now.
	c.closing = !c.renew() || c.closing
	if err != nil {
		c.out.Error(err.Error())
		return
	}
	c.out.OK()
}

func configResetStat(c *Client, _ [][]byte) {
	c.stats.Reset()
	c.backend.ResetStats()
	c.out.OK()
}

func configRewrite(c *Client, _ [][]byte) {
	if err := c.backend.ConfigRewrite(); err != nil {
		c.out.Error(err.Error())
		return
	}
	c.out.OK()
}

func configHelp(c *Client, _ [][]byte) {
	c.help("CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"GET <pattern>", "    Return parameters matching the glob-like <pattern> and their values.",
		"SET <directive> <value>", "    Set the configuration <directive> to <value>.",
		"RESETSTAT", "    Reset statistics reported by the INFO command.",
		"REWRITE", "    Write what CONFIG SET changed into the configuration file.")
}

// slowlogHandlers are the subcommands of SLOWLOG.
var slowlogHandlers = group{
	"slowlog|get": slowlogGet, "slowlog|len": slowlogLen, "slowlog|reset": slowlogReset, "slowlog|help": slowlogHelp,
}

func slowlogGet(c *Client, args [][]byte) {
	n := int64(10)
	if len(args) > 3 {
		c.out.Error("ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.")
		return
	}
	if len(args) == 3 {
		var ok bool
		if n, ok = parseInt(args[2]); !ok || n < -1 {
			c.out.Error("ERR count should be greater than or equal to -1")
			return
		}
	}
	entries := c.stats.Slowlog.Get(int(min(n, math.MaxInt32)))
	c.out.Array(len(entries))
	for i := range entries {
		e := &entries[i]
		c.out.Array(6)
		c.out.Int(e.ID)
		c.out.Int(e.UnixSec)
		c.out.Int(e.Usec)
		c.out.Array(len(e.Args))
		for _, a := range e.Args {
			c.out.BulkString(a)
		}
		c.out.BulkString(e.Addr)
		c.out.BulkString(e.Name)
	}
}

func slowlogLen(c *Client, _ [][]byte) { c.out.Int(int64(c.stats.Slowlog.Len())) }

func slowlogReset(c *Client, _ [][]byte) {
	c.stats.Slowlog.Reset()
	c.out.OK()
}

func slowlogHelp(c *Client, _ [][]byte) {
	c.help("SLOWLOG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"GET [<count>]", "    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
		"    Entries are made of:", "    id, timestamp, time in microseconds, arguments array, client IP and port,", "    client name",
		"LEN", "    Return the length of the slowlog.",
		"RESET", "    Reset the slowlog.")
}
