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
			Doc:  "Milliseconds after which a script that only reads is ended. A read that waits this long for others that hold its keys is answered BUSY, with what runs there.",
			More: "Scripts that write are ended by script-max-work-ms instead. With 0, only the limits of script-max-work-ms and write-timeout-ms remain.",
			kind: into(integer64(0, math.MaxInt64), func(s *Settings) *int64 { return &s.ScriptTimeoutMs }),
		},
		more("Work is computed from what scripts do, not measured by a clock, so that a script ends at the same place on all nodes. "+
			"docs/scripts.md says what scripts can do with how much work.",
			limit("script-max-work-ms", "1000", "Work that the scripts of one call, or of one transaction, may do, in milliseconds of one core.", integer64(1, command.WorkMaxMs))),
		limit("script-max-memory", "256mb", "Bytes that those scripts may allocate, whether or not they still use them.", memory(1<<20, 1<<36)),
		limit("script-max-call-depth", "4000", "Function calls that may be nested in a script. Whatever it says, at most 1000 in a coroutine and 190 through the library.", integer64(script.CallDepthMin, script.CallDepthMax)),
		limit("script-max-reply", "64mb", "Longest reply of a script, in bytes.", memory(1<<10, 1<<30)),
		limit("script-max-source", "1mb", "Longest script, in bytes.", memory(1<<10, 16<<20)),
		limit("script-cache-max-scripts", "10000", "Scripts that a shard keeps for EVALSHA. Scripts that came by EVAL make room for others.", integer64(1, 1<<20)),
		limit("function-max-libraries", "1000", "Function libraries that a shard may have.", integer64(0, 1<<20)),
		limit("function-max-functions", "10000", "Functions that a shard's libraries may have together.", integer64(0, 1<<20)),
		limit("function-max-bytes", "16mb", "Bytes that the texts of a shard's libraries may have together.", memory(0, 1<<30)),
		limit("script-cache-max-bytes", "16mb", "Bytes of the scripts that a shard keeps for EVALSHA.", memory(1<<10, 1<<30)),
	}
}
