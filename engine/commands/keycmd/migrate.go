package keycmd

import (
	"math"

	"lockstep/engine/command"
	"lockstep/engine/command/arg"
	"lockstep/engine/commands/values"
)

// migrateCommand is MIGRATE's row. Its handler is in proto/client: the gateway sends the keys over
// a connection of its own, and gets them from each shard.
var migrateCommand = &command.Spec{
	Name: "migrate", Arity: -6, Scope: command.ScopeNode,
	Gateway: command.CallsOut,
	Secrets: migrateSecrets,
	Flags:   command.Write | command.MovableKeys | command.NotInScripts, Cats: command.CatKeyspace | command.CatDangerous,
	Keys: []command.KeySpec{
		{Flags: command.KeyRW | command.KeyAccess | command.KeyDelete, First: migrateKeyArg, Last: migrateKeyArg, Step: 1, Absent: migratesList},
		{Flags: command.KeyRW | command.KeyAccess | command.KeyDelete | command.KeyIncomplete, Last: -1, Step: 1, Find: findMigrateList, Keyword: &command.Keyword{Word: "KEYS", From: -2}},
	},
	Group: "generic", Since: "2.6.0",
	Summary: "Hands keys over to another server.", Complexity: "O(N) with N the size of the values, on both sides",
	Args: []arg.Arg{
		arg.Of("host", "string"),
		arg.Of("port", "integer"),
		arg.OneOf("key_or_empty_string", arg.Key("key", 1), arg.Token("empty_string", "")),
		arg.Of("destination-db", "integer"),
		arg.Of("timeout", "integer"),
		arg.Token("copy", "COPY").AddedIn("3.0.0").Opt(),
		arg.Token("replace", "REPLACE").AddedIn("3.0.0").Opt(),
		arg.OneOf("authentication",
			arg.Of("password", "string").After("AUTH").AddedIn("4.0.7").Opt(),
			arg.Block("username_password", arg.Of("username", "string"), arg.Of("password", "string")).After("AUTH2").AddedIn("6.0.0").Opt(),
		).Opt(),
		arg.Key("key", 2).After("KEYS").AddedIn("3.0.6").Opt().Many(),
	},
	Tips: []string{"nondeterministic_output"},
}

const (
	// migrateKeyArg is the place of MIGRATE's single key, migrateOptionsArg that of the first
	// option.
	migrateKeyArg     = 3
	migrateOptionsArg = 6
)

var migrateSecrets = command.SecretOptions(migrateOptionsArg,
	command.SecretOption{Word: "auth", Args: 1, Secret: true}, command.SecretOption{Word: "auth2", Args: 2, Secret: true},
	command.SecretOption{Word: "keys", Args: math.MaxInt32})

// migratesList reports whether MIGRATE takes its keys from behind the word KEYS. Redis looks for
// the word from the end, without the last argument.
func migratesList(args [][]byte) bool {
	for i := len(args) - 2; i > 1; i-- {
		if command.EqualFold(args[i], "keys") {
			return true
		}
	}
	return false
}

// findMigrateList finds the keys behind MIGRATE's KEYS. The word may also be a password; then
// MIGRATE has only its single key.
func findMigrateList(dst []int, args [][]byte) []int {
	if !migratesList(args) {
		return dst
	}
	for i := migrateOptionsArg; i < len(args); i++ {
		switch {
		case command.EqualFold(args[i], "auth"):
			i++
		case command.EqualFold(args[i], "auth2"):
			i += 2
		case command.EqualFold(args[i], "keys"):
			if len(args[migrateKeyArg]) > 0 {
				return dst
			}
			for i++; i < len(args); i++ {
				dst = append(dst, i)
			}
			return dst
		}
	}
	return append(dst, migrateKeyArg)
}

// runDumpToMigrate answers a key's version and the number of the last txn seen, as
// lockstep.versions does, its time to live in milliseconds (0 for none) and its dump. All are of
// one instant. It answers a null array if there is no such key.
func runDumpToMigrate(c *command.Ctx, args [][]byte) {
	e := c.Read(args[1])
	if e == nil {
		c.Out.NullArray()
		return
	}
	leftMs := int64(0)
	if e.ExpireAtMs != 0 {
		leftMs = max(c.LeftMs(e.ExpireAtMs), 1)
	}
	c.Out.Array(4)
	c.Out.Int(int64(e.Version))
	c.Out.Int(int64(seenAt(c, args[1])))
	c.Out.Int(leftMs)
	c.Out.Bulk(values.Dump(c, e))
}
