package command

// migrateCommand is MIGRATE's row. Its handler is in proto/client: the keys
// go over a connection of the gateway's, and each shard is asked for its own.
var migrateCommand = &Spec{
	Name: "migrate", Arity: -6, Scope: ScopeNode,
	Gateway: CallsOut,
	Secrets: migrateSecrets,
	Flags:   Write | MovableKeys | NotInScripts, Cats: CatKeyspace | CatDangerous,
	Keys: []KeySpec{
		{Flags: KeyRW | KeyAccess | KeyDelete, First: migrateKeyArg, Last: migrateKeyArg, Step: 1, Absent: migratesList},
		{Flags: KeyRW | KeyAccess | KeyDelete | KeyIncomplete, Last: -1, Step: 1, Find: findMigrateList, Keyword: &Keyword{Word: "KEYS", From: -2}},
	},
	Group: "generic", Since: "2.6.0",
	Summary: "Hands keys over to another server.", Complexity: "O(N) with N the size of the values, on both sides",
	Args: []Arg{
		arg("host", "string"),
		arg("port", "integer"),
		argOneOf("key_or_empty_string", argKey("key", 1), argToken("empty_string", "")),
		arg("destination-db", "integer"),
		arg("timeout", "integer"),
		argToken("copy", "COPY").since("3.0.0").optional(),
		argToken("replace", "REPLACE").since("3.0.0").optional(),
		argOneOf("authentication",
			arg("password", "string").token("AUTH").since("4.0.7").optional(),
			argBlock("username_password", arg("username", "string"), arg("password", "string")).token("AUTH2").since("6.0.0").optional(),
		).optional(),
		argKey("key", 2).token("KEYS").since("3.0.6").optional().multiple(),
	},
	Tips: []string{"nondeterministic_output"},
}

const (
	// migrateKeyArg is where MIGRATE has its one key, migrateOptionsArg where its
	// options begin.
	migrateKeyArg     = 3
	migrateOptionsArg = 6
)

// migratesList tells whether MIGRATE's keys are said to stand behind the word
// KEYS. Redis looks for it from the end, the last argument left out.
func migratesList(args [][]byte) bool {
	for i := len(args) - 2; i > 1; i-- {
		if equalFold(args[i], "keys") {
			return true
		}
	}
	return false
}

// findMigrateList finds the keys behind MIGRATE's KEYS. A password may be that
// word, too; then the one key is what MIGRATE has after all.
func findMigrateList(dst []int, args [][]byte) []int {
	if !migratesList(args) {
		return dst
	}
	for i := migrateOptionsArg; i < len(args); i++ {
		switch {
		case equalFold(args[i], "auth"):
			i++
		case equalFold(args[i], "auth2"):
			i += 2
		case equalFold(args[i], "keys"):
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

// runDumpToMigrate answers a key's version and the number of the last txn
// seen, as lockstep.versions does, its time to live in milliseconds (0: it has
// none) and its dump, all of one instant; a null array where there is no such key.
func runDumpToMigrate(c *Ctx, args [][]byte) {
	e := c.Read(args[1])
	if e == nil {
		c.Out.NullArray()
		return
	}
	leftMs := int64(0)
	if e.ExpireAtMs != 0 {
		leftMs = max(c.leftMs(e.ExpireAtMs), 1)
	}
	c.Out.Array(4)
	c.Out.Int(int64(e.Version))
	c.Out.Int(int64(c.seenAt(args[1])))
	c.Out.Int(leftMs)
	c.Out.Bulk(c.payload(e))
}
