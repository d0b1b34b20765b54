package keycmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
	"lockstep/engine/commands/values"
)

// MemoryRow is MEMORY. The handlers of all but MEMORY USAGE are in proto/admin.
var MemoryRow = &command.Spec{
	Name: "memory", Arity: -2,
	Group: "server", Since: "4.0.0",
	Summary: "A container for commands on memory.", Complexity: "Depends on subcommand.",
	Sub: []*command.Spec{
		{
			Name: "memory|doctor", Arity: 2, Scope: command.ScopeNode,
			Group: "server", Since: "4.0.0",
			Summary: "Tells in words what stands out in the node's memory.", Complexity: "O(1)",
			Tips: memoryTips,
		},
		command.HelpRow("memory", "server", "4.0.0", 0),
		{
			Name: "memory|malloc-stats", Arity: 2, Scope: command.ScopeNode,
			Group: "server", Since: "4.0.0",
			Summary: "Returns what the Go runtime counts of its memory.", Complexity: "O(1)",
			Tips: memoryTips,
		},
		{
			Name: "memory|purge", Arity: 2, Scope: command.ScopeNode,
			Group: "server", Since: "4.0.0",
			Summary: "Gives memory that is not needed back to the system.", Complexity: "O(N) where N is the memory in use",
			Tips: []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		},
		{
			Name: "memory|stats", Arity: 2, Scope: command.ScopeNode,
			Group: "server", Since: "4.0.0",
			Summary: "Returns where the node's memory is.", Complexity: "O(1)",
			Tips: memoryTips,
		},
		{
			Name: "memory|usage", Arity: -3, Flags: command.ReadOnly | command.Heavy,
			Keys: command.SecondKey(command.KeyRO), Run: runMemoryUsage,
			Group: "server", Since: "4.0.0",
			Summary: "Returns about how many bytes a key and its value take.", Complexity: "O(1)",
			Args: []arg.Arg{arg.Key("key", 1), {Name: "count", Type: "integer", Token: "SAMPLES", Optional: true}},
		},
	},
}

var memoryTips = []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}

// runMemoryUsage answers the memory of a key as the counters have it. SAMPLES changes nothing
// because nothing is sampled: values know their size. MEMORY USAGE does not count as a use of the
// key.
func runMemoryUsage(c *command.Ctx, args [][]byte) {
	for i := 3; i < len(args); i += 2 {
		if !command.EqualFold(args[i], "samples") || i+1 == len(args) {
			c.Out.Error(command.ErrSyntax)
			return
		}
		n, ok := c.IntArg(args[i+1])
		if !ok {
			return
		}
		if n < 0 {
			c.Out.Error(command.ErrSyntax)
			return
		}
	}
	e := c.LookQuietly(args[2])
	switch {
	case e == nil:
		c.Out.Null()
	case c.Logged:
		// In the log all replicas must answer the same, but the spare capacity of a value differs
		// between replicas. The length of the payload is known only when it has been made, so
		// without steps left none is made.
		if !c.Steps(1) {
			return
		}
		if payload := values.Dump(c, e); c.TextSteps(int64(len(payload))) {
			c.Out.Int(int64(engine.OverheadBytes + len(e.KeyBytes()) + len(payload)))
		}
	default:
		c.Out.Int(int64(e.MemoryBytes()))
	}
}
