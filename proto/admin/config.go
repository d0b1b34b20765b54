package admin

import (
	"lockstep/engine/command"
	"lockstep/proto/client"
	"lockstep/proto/stats"
)

// configCommands are the subcommands of CONFIG.
type configCommands struct {
	store ConfigStore
	stats *stats.Stats
}

func (h *configCommands) handlers() client.Handlers {
	return client.Handlers{
		"config|get": h.get, "config|set": h.set, "config|resetstat": h.resetStat, "config|rewrite": h.rewrite,
		"config|help": configHelp,
	}
}

func (h *configCommands) get(r *client.Request, args [][]byte) {
	var patterns []string
	for _, a := range args[2:] {
		patterns = append(patterns, string(a))
	}
	pairs := h.store.ConfigGet(patterns)
	r.Out.Map(len(pairs))
	for _, p := range pairs {
		r.Out.BulkString(p[0])
		r.Out.BulkString(p[1])
	}
}

func (h *configCommands) set(r *client.Request, args [][]byte) {
	if len(args)%2 != 0 {
		r.Out.Error(command.ErrSyntax)
		return
	}
	var pairs [][2]string
	for i := 2; i < len(args); i += 2 {
		pairs = append(pairs, [2]string{string(args[i]), string(args[i+1])})
	}
	err := h.store.ConfigSet(pairs)
	// The default user's password may have changed.
	r.Renew()
	if err != nil {
		r.Out.Error(err.Error())
		return
	}
	r.Out.OK()
}

func (h *configCommands) resetStat(r *client.Request, _ [][]byte) {
	h.stats.Reset()
	h.store.ResetStats()
	r.Out.OK()
}

func (h *configCommands) rewrite(r *client.Request, _ [][]byte) {
	if err := h.store.ConfigRewrite(); err != nil {
		r.Out.Error(err.Error())
		return
	}
	r.Out.OK()
}

func configHelp(r *client.Request, _ [][]byte) {
	help(r, "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"GET <pattern>", "    Return parameters matching the glob-like <pattern> and their values.",
		"SET <directive> <value>", "    Set the configuration <directive> to <value>.",
		"RESETSTAT", "    Reset statistics reported by the INFO command.",
		"REWRITE", "    Write what CONFIG SET changed into the configuration file.")
}
