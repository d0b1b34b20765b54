package keycmd

import (
	"math"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// objectCommand is OBJECT, which shows how a value is stored.
var objectCommand = &command.Spec{
	Name: "object", Arity: -2,
	Group: "generic", Since: "2.2.3",
	Summary: "Looks at how a value is kept.", Complexity: "Depends on the subcommand",
	Sub: []*command.Spec{
		{
			Name: "object|idletime", Arity: 3, Flags: command.ReadOnly | command.Local, Cats: command.CatKeyspace,
			Keys: command.SecondKey(command.KeyRO), Run: runObjectIdleTime,
			Group: "generic", Since: "2.2.3",
			Summary: "Returns the seconds since a key was last used on this replica.", Complexity: "O(1)",
			Args: []arg.Arg{arg.Key("key", 1)},
			Tips: []string{"nondeterministic_output"},
		},
		{
			Name: "object|help", Arity: 2, Flags: command.Loading | command.Stale, Cats: command.CatKeyspace,
			Run:   runObjectHelp,
			Group: "generic", Since: "6.2.0",
			Summary: "Describes the subcommands.", Complexity: "O(1)",
		},
		{
			Name: "object|freq", Arity: 3, Flags: command.ReadOnly | command.Local, Cats: command.CatKeyspace,
			Keys: command.SecondKey(command.KeyRO), Run: runObjectFreq,
			Group: "generic", Since: "4.0.0",
			Summary: "Returns how often a key was used of late.", Complexity: "O(1)",
			Args: []arg.Arg{arg.Key("key", 1)},
			Tips: []string{"nondeterministic_output"},
		},
		{
			Name: "object|encoding", Arity: 3, Flags: command.ReadOnly, Cats: command.CatKeyspace,
			Keys: command.SecondKey(command.KeyRO), Run: runObjectEncoding,
			Group: "generic", Since: "2.2.3",
			Summary: "Returns the encoding Redis would keep a value in.", Complexity: "O(1)",
			Args: []arg.Arg{arg.Key("key", 1)},
			Tips: []string{"nondeterministic_output"},
		},
		{
			Name: "object|refcount", Arity: 3, Flags: command.ReadOnly, Cats: command.CatKeyspace,
			Keys: command.SecondKey(command.KeyRO), Run: runObjectRefCount,
			Group: "generic", Since: "2.2.3",
			Summary: "Returns the number of references Redis would hold to a value.", Complexity: "O(1)",
			Args: []arg.Arg{arg.Key("key", 1)},
			Tips: []string{"nondeterministic_output"},
		},
	},
}

// keyForObject returns the entry of OBJECT's key. If there is none it answers null itself. OBJECT
// does not count as a use of the key.
func keyForObject(c *command.Ctx, key []byte) *engine.Entry {
	e := c.LookQuietly(key)
	if e == nil {
		c.Out.Null()
	}
	return e
}

func runObjectEncoding(c *command.Ctx, args [][]byte) {
	if e := keyForObject(c, args[2]); e != nil {
		c.Out.BulkString(encodingOf(e))
	}
}

// embeddedMax is the length up to which Redis stores a string and its header in one allocation.
const embeddedMax = 44

// encoded is a value other than a string. It names its own encoding.
type encoded interface{ Encoding() string }

// encodingOf names the encoding in which Redis would store a value.
func encodingOf(e *engine.Entry) string {
	if o, ok := e.Object().(encoded); ok {
		return o.Encoding()
	}
	switch text := e.Text(); {
	case e.Raw():
		return "raw"
	case isInt(text):
		return "int"
	case len(text) <= embeddedMax:
		return "embstr"
	}
	return "raw"
}

func isInt(text []byte) bool {
	_, ok := command.ParseInt(text)
	return ok
}

// runObjectRefCount answers as Redis does. Redis shares small integers between all keys and does
// not count references to them.
func runObjectRefCount(c *command.Ctx, args [][]byte) {
	e := keyForObject(c, args[2])
	if e == nil {
		return
	}
	const sharedBelow = 10_000
	if e.Kind() != engine.KindString {
		c.Out.Int(1)
		return
	}
	if n, ok := command.ParseInt(e.Text()); ok && !e.Raw() && 0 <= n && n < sharedBelow {
		c.Out.Int(math.MaxInt32)
		return
	}
	c.Out.Int(1)
}

func runObjectIdleTime(c *command.Ctx, args [][]byte) {
	e := keyForObject(c, args[2])
	if e == nil {
		return
	}
	if c.Settings.Policy().LFU() {
		c.Out.Error(ErrLFU)
		return
	}
	if c.Logged {
		// In a transaction all replicas must answer the same, but each replica has access times of
		// its own.
		c.Out.Int(0)
		return
	}
	// The clock may be unset, or behind.
	c.Out.Int(int64(max(c.UseTick, e.Use())-e.Use()) / engine.UseTicks)
}

func runObjectFreq(c *command.Ctx, args [][]byte) {
	e := keyForObject(c, args[2])
	switch {
	case e == nil:
	case !c.Settings.Policy().LFU():
		c.Out.Error(ErrNoLFU)
	case c.Logged:
		// The reason is the same as for the idle time.
		c.Out.Int(0)
	default:
		c.Out.Int(int64(c.Settings.LFU().Count(e.Use(), c.Minute())))
	}
}

func runObjectHelp(c *command.Ctx, _ [][]byte) {
	help := []string{
		"OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"ENCODING <key>",
		"    The encoding in which Redis would keep the key's value.",
		"FREQ <key>",
		"    How often the key was used of late, under an LFU eviction policy.",
		"IDLETIME <key>",
		"    The seconds since the key was last used on this replica.",
		"REFCOUNT <key>",
		"    The number of references Redis would hold to the key's value.",
		"HELP",
		"    Prints this help.",
	}
	c.Out.Array(len(help))
	for _, line := range help {
		c.Out.Status(line)
	}
}
