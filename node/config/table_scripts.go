package config

import (
	"math"

	"lockstep/engine/command"
	"lockstep/engine/script"
)

// scriptDirectives bound what scripts may use. All but the first are part of
// each shard's replicated state: they decide where a script fails.
func scriptDirectives() []*Directive {
	limit := func(name, preset, doc string, c codec[int64]) *Directive {
		return &Directive{
			Name: name, Default: preset, Flags: Replicated, Doc: doc,
			kind: into(c, func(s *Settings) *int64 { return s.Engine.Ref(name) }),
		}
	}
	return []*Directive{
		{
			Name: "busy-reply-threshold", Aliases: []string{"lua-time-limit"}, Default: "5000",
			Doc:  "Milliseconds after which a script that only reads is ended, and for which a read waits for others that hold its keys: then it is answered BUSY, with what runs there. 0 is no limit but those of script-max-work-ms and write-timeout-ms. Scripts that write end by script-max-work-ms.",
			kind: into(integer64(0, math.MaxInt64), func(s *Settings) *int64 { return &s.ScriptTimeoutMs }),
		},
		limit("script-max-work-ms", "1000", "Work that the scripts of one call, or of one transaction, may do, in milliseconds of one core. It is counted by what they do and not by a clock, so that a script ends at the same place on all nodes. docs/scripts.md says what scripts can do with how much of it.", integer64(1, command.WorkMaxMs)),
		limit("script-max-memory", "256mb", "Bytes that they may allocate, whether or not they are still in use.", memory(1<<20, 1<<36)),
		limit("script-max-call-depth", "4000", "Calls of functions that may stand within each other in a script; 1000 at most in a coroutine, and 190 through the library, whatever it says.", integer64(script.CallDepthMin, script.CallDepthMax)),
		limit("script-max-reply", "64mb", "Bytes of a script's reply.", memory(1<<10, 1<<30)),
		limit("script-max-source", "1mb", "Bytes of a script.", memory(1<<10, 16<<20)),
		limit("script-cache-max-scripts", "10000", "Scripts that a shard keeps for EVALSHA. Those that came by EVAL make room for others.", integer64(1, 1<<20)),
		limit("function-max-libraries", "1000", "Libraries of functions that a shard may have.", integer64(0, 1<<20)),
		limit("function-max-functions", "10000", "Functions that they may have together.", integer64(0, 1<<20)),
		limit("function-max-bytes", "16mb", "Bytes of their texts together.", memory(0, 1<<30)),
		limit("script-cache-max-bytes", "16mb", "Bytes of the scripts that a shard keeps for EVALSHA.", memory(1<<10, 1<<30)),
	}
}
