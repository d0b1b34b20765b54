package command

import "lockstep/engine"

// memoryCommand is MEMORY. The handlers of all but MEMORY USAGE are in proto/admin.
var memoryCommand = &Spec{
	Name: "memory", Arity: -2,
	Group: "server", Since: "4.0.0",
	Summary: "A container for commands on memory.", Complexity: "Depends on subcommand.",
	Sub: []*Spec{
		{
			Name: "memory|doctor", Arity: 2, Scope: ScopeNode,
			Group: "server", Since: "4.0.0",
			Summary: "Tells in words what stands out in the node's memory.", Complexity: "O(1)",
			Tips: memoryTips,
		},
		helpRow("memory", "server", "4.0.0", 0),
		{
			Name: "memory|malloc-stats", Arity: 2, Scope: ScopeNode,
			Group: "server", Since: "4.0.0",
			Summary: "Returns what the Go runtime counts of its memory.", Complexity: "O(1)",
			Tips: memoryTips,
		},
		{
			Name: "memory|purge", Arity: 2, Scope: ScopeNode,
			Group: "server", Since: "4.0.0",
			Summary: "Gives memory that is not needed back to the system.", Complexity: "O(N) where N is the memory in use",
			Tips: []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		},
		{
			Name: "memory|stats", Arity: 2, Scope: ScopeNode,
			Group: "server", Since: "4.0.0",
			Summary: "Returns where the node's memory is.", Complexity: "O(1)",
			Tips: memoryTips,
		},
		{
			Name: "memory|usage", Arity: -3, Flags: ReadOnly | Heavy,
			Keys: secondKey(KeyRO), Run: runMemoryUsage,
			Group: "server", Since: "4.0.0",
			Summary: "Returns about how many bytes a key and its value take.", Complexity: "O(1)",
			Args: []Arg{argKey("key", 1), {Name: "count", Type: "integer", Token: "SAMPLES", Optional: true}},
		},
	},
}

var memoryTips = []string{"nondeterministic_output", "request_policy:all_shards", "response_policy:special"}

// runMemoryUsage answers what the counters of memory hold of a key. SAMPLES
// changes nothing, for nothing is sampled: values know their size. Looking at a
// key does not count as using it.
func runMemoryUsage(c *Ctx, args [][]byte) {
	for i := 3; i < len(args); i += 2 {
		if !equalFold(args[i], "samples") || i+1 == len(args) {
			c.Out.Error(ErrSyntax)
			return
		}
		n, ok := c.intArg(args[i+1])
		if !ok {
			return
		}
		if n < 0 {
			c.Out.Error(ErrSyntax)
			return
		}
	}
	e := c.LookQuietly(args[2])
	switch {
	case e == nil:
		c.Out.Null()
	case c.Logged:
		// In the log all replicas must answer the same, and what a value has
		// room for is not the same on all. The payload's length is known only when it
		// is made, so where no steps are left none is.
		if !c.steps(1) {
			return
		}
		if payload := c.payload(e); c.textSteps(int64(len(payload))) {
			c.Out.Int(int64(engine.OverheadBytes + len(e.KeyBytes()) + len(payload)))
		}
	default:
		c.Out.Int(int64(e.MemoryBytes()))
	}
}
