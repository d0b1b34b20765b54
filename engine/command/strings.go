package command

import "lockstep/engine/sched"

// oneKey is the key spec of most commands: the first argument.
func oneKey(flags KeyFlag) []KeySpec { return []KeySpec{{Flags: flags, First: 1, Last: 1, Step: 1}} }

var stringFamily = []*Spec{
	{
		Name: "get", Arity: 2, Flags: ReadOnly | Fast, Cats: CatString,
		Keys: oneKey(KeyRO | KeyAccess), Run: runGet,
		Group: "string", Summary: "Returns the string value of a key.", Since: "1.0.0", Complexity: "O(1)",
		Args: []Arg{{Name: "key", Type: "key", KeySpec: 1}},
	},
	{
		Name: "set", Arity: -3, Flags: Write | DenyOOM, Cats: CatString,
		Keys: []KeySpec{{Flags: KeyRW | KeyAccess | KeyUpdate | KeyVariableFlags, First: 1, Last: 1, Step: 1}}, Run: runSet,
		Group: "string", Summary: "Sets the string value of a key, whatever it held before.", Since: "1.0.0", Complexity: "O(1)",
	},
}

func runGet(c *Ctx, args [][]byte) {
	e, ok := c.ReadString(args[1])
	if !ok {
		return
	}
	if e == nil {
		c.Out.Null()
		return
	}
	c.Out.Bulk(e.Text())
}

func runSet(c *Ctx, args [][]byte) {
	c.Write(args[1])
	c.SetString(args[1], args[2], 0)
	c.Out.OK()
}

var _ = sched.Shared
