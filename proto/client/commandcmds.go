package client

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/engine/command"
	"lockstep/engine/command/arg"
	"lockstep/engine/commands"
	"lockstep/engine/glob"
)

// commandHandlers are the subcommands of COMMAND. All is read from the table.
var commandHandlers = group{
	"command": commandAll, "command|count": commandCount, "command|info": commandInfo, "command|docs": commandDocs,
	"command|list": commandList, "command|getkeys": commandGetKeys, "command|getkeysandflags": commandGetKeysAndFlags,
	"command|help": commandHelp,
}

// public are the commands that clients can send.
func public() []*command.Spec {
	var specs []*command.Spec
	for _, s := range commands.All() {
		if !s.Internal() {
			specs = append(specs, s)
		}
	}
	return specs
}

func commandAll(c *Client, _ [][]byte) {
	specs := public()
	c.out.Array(len(specs))
	for _, s := range specs {
		c.describe(s)
	}
}

func commandCount(c *Client, _ [][]byte) { c.out.Int(int64(len(public()))) }

// named finds the commands of names like "get" and "config|set".
func named(names [][]byte) []*command.Spec {
	specs := make([]*command.Spec, len(names))
	for i, n := range names {
		if s := commands.Get(fold(n)); s != nil && !s.Internal() {
			specs[i] = s
		}
	}
	return specs
}

func commandInfo(c *Client, args [][]byte) {
	specs := public()
	if len(args) > 2 {
		specs = named(args[2:])
	}
	c.out.Array(len(specs))
	for _, s := range specs {
		if s == nil {
			c.out.Null()
			continue
		}
		c.describe(s)
	}
}

// describe writes a row in the form of COMMAND INFO.
func (c *Client) describe(s *command.Spec) {
	first, last, step := keyRange(s)
	c.out.Array(10)
	c.out.BulkString(s.Name)
	c.out.Int(int64(s.Arity))
	flags := s.FlagNames()
	c.out.Set(len(flags))
	for _, f := range flags {
		c.out.Status(f)
	}
	c.out.Int(int64(first))
	c.out.Int(int64(last))
	c.out.Int(int64(step))
	cats := s.Categories()
	c.out.Set(len(cats))
	for _, cat := range cats {
		c.out.Status("@" + cat)
	}
	c.out.Set(len(s.Tips))
	for _, t := range s.Tips {
		c.out.BulkString(t)
	}
	c.describeKeys(s)
	c.out.Set(len(s.Sub))
	for _, sub := range s.Sub {
		c.describe(sub)
	}
}

// keyRange is the old form of key positions: the first spec's, widened by those
// that follow it without a gap.
func keyRange(s *command.Spec) (first, last, step int) {
	for i := range s.Keys {
		k := &s.Keys[i]
		if k.Find != nil && k.NumKeys == nil && k.First == 0 {
			continue
		}
		if k.NumKeys != nil {
			continue
		}
		switch {
		case first == 0:
			first, last, step = k.First, k.Last, k.Step
		case last >= 0 && k.First == last+1:
			last = k.Last
		}
	}
	return first, last, step
}

func (c *Client) describeKeys(s *command.Spec) {
	c.out.Set(len(s.Keys))
	for i := range s.Keys {
		k := &s.Keys[i]
		c.out.Map(3)
		c.out.BulkString("flags")
		names := k.Flags.Names()
		c.out.Set(len(names))
		for _, f := range names {
			c.out.Status(f)
		}
		if k.Find != nil && k.NumKeys == nil && k.Keyword == nil {
			c.unknownPlace("begin_search")
			c.unknownPlace("find_keys")
			continue
		}
		c.describeBegin(k)
		c.out.BulkString("find_keys")
		c.out.Map(2)
		c.out.BulkString("type")
		if k.NumKeys != nil {
			c.out.BulkString("keynum")
			c.out.BulkString("spec")
			c.out.Map(3)
			c.out.BulkString("keynumidx")
			c.out.Int(0)
			c.out.BulkString("firstkey")
			c.out.Int(int64(k.NumKeys[1]))
			c.out.BulkString("keystep")
			c.out.Int(int64(k.NumKeys[2]))
			continue
		}
		c.out.BulkString("range")
		c.out.BulkString("spec")
		c.out.Map(3)
		c.out.BulkString("lastkey")
		last, limit := k.Last, 0
		switch {
		case k.Keyword != nil:
			limit = k.Keyword.Share
		case last >= 0:
			last -= k.First
		}
		c.out.Int(int64(last))
		c.out.BulkString("keystep")
		c.out.Int(int64(k.Step))
		c.out.BulkString("limit")
		c.out.Int(int64(limit))
	}
}

// describeBegin says where the search for a key spec's keys begins.
func (c *Client) describeBegin(k *command.KeySpec) {
	c.out.BulkString("begin_search")
	c.out.Map(2)
	c.out.BulkString("type")
	if k.Keyword != nil {
		c.out.BulkString("keyword")
		c.out.BulkString("spec")
		c.out.Map(2)
		c.out.BulkString("keyword")
		c.out.BulkString(k.Keyword.Word)
		c.out.BulkString("startfrom")
		c.out.Int(int64(k.Keyword.From))
		return
	}
	c.out.BulkString("index")
	c.out.BulkString("spec")
	c.out.Map(1)
	c.out.BulkString("index")
	if k.NumKeys != nil {
		c.out.Int(int64(k.NumKeys[0]))
	} else {
		c.out.Int(int64(k.First))
	}
}

// unknownPlace describes keys that stand at no place which could be told.
func (c *Client) unknownPlace(step string) {
	c.out.BulkString(step)
	c.out.Map(2)
	c.pair("type", "unknown")
	c.out.BulkString("spec")
	c.out.Map(0)
}

func commandDocs(c *Client, args [][]byte) {
	specs := public()
	if len(args) > 2 {
		specs = nil
		for _, s := range named(args[2:]) {
			if s != nil {
				specs = append(specs, s)
			}
		}
	}
	c.out.Map(len(specs))
	for _, s := range specs {
		c.out.BulkString(s.Name)
		c.document(s)
	}
}

func (c *Client) document(s *command.Spec) {
	type field struct{ name, value string }
	fields := []field{{"summary", s.Summary}, {"since", s.Since}, {"group", s.Group}}
	if s.Complexity != "" {
		fields = append(fields, field{"complexity", s.Complexity})
	}
	n := len(fields)
	for _, more := range []struct {
		there  bool
		fields int
	}{{s.System, 1}, {s.DeprecatedSince != "", 2}, {s.ReplacedBy != "", 1}, {len(s.Args) > 0, 1}, {len(s.Sub) > 0, 1}} {
		if more.there {
			n += more.fields
		}
	}
	c.out.Map(n)
	for _, f := range fields {
		c.pair(f.name, f.value)
	}
	if s.System {
		c.out.BulkString("doc_flags")
		c.out.Set(1)
		c.out.Status("syscmd")
	}
	if s.DeprecatedSince != "" {
		c.out.BulkString("doc_flags")
		c.out.Set(1)
		c.out.Status("deprecated")
		c.pair("deprecated_since", s.DeprecatedSince)
	}
	if s.ReplacedBy != "" {
		c.pair("replaced_by", s.ReplacedBy)
	}
	if len(s.Args) > 0 {
		c.out.BulkString("arguments")
		c.documentArgs(s.Args)
	}
	if len(s.Sub) > 0 {
		c.out.BulkString("subcommands")
		c.out.Map(len(s.Sub))
		for _, sub := range s.Sub {
			c.out.BulkString(sub.Name)
			c.document(sub)
		}
	}
}

func (c *Client) documentArgs(args []arg.Arg) {
	c.out.Array(len(args))
	for i := range args {
		a := &args[i]
		var flags []string
		for _, f := range []struct {
			on   bool
			name string
		}{{a.Optional, "optional"}, {a.Multiple, "multiple"}, {a.MultipleToken, "multiple_token"}} {
			if f.on {
				flags = append(flags, f.name)
			}
		}
		// A word may be the empty one.
		token := a.Token != "" || a.Type == "pure-token"
		n := 2
		for _, there := range []bool{a.KeySpec > 0, token, a.Since != "", len(flags) > 0, len(a.Sub) > 0} {
			if there {
				n++
			}
		}
		c.out.Map(n)
		c.pair("name", a.Name)
		c.pair("type", a.Type)
		if a.KeySpec > 0 {
			c.out.BulkString("key_spec_index")
			c.out.Int(int64(a.KeySpec - 1))
		}
		if token {
			c.pair("token", a.Token)
		}
		if a.Since != "" {
			c.pair("since", a.Since)
		}
		if len(flags) > 0 {
			c.out.BulkString("flags")
			c.out.Set(len(flags))
			for _, f := range flags {
				c.out.Status(f)
			}
		}
		if len(a.Sub) > 0 {
			c.out.BulkString("arguments")
			c.documentArgs(a.Sub)
		}
	}
}

func (c *Client) pair(name, value string) {
	c.out.BulkString(name)
	c.out.BulkString(value)
}

func commandList(c *Client, args [][]byte) {
	keep := func(*command.Spec) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 5 && fold(args[2]) == "filterby":
		keep = listKeep(fold(args[3]), args[4])
	default:
		keep = nil
	}
	if keep == nil {
		c.out.Error(command.ErrSyntax)
		return
	}
	var names []string
	for _, s := range public() {
		if keep(s) {
			names = append(names, s.Name)
		}
		for _, sub := range s.Sub {
			if keep(sub) {
				names = append(names, sub.Name)
			}
		}
	}
	c.out.Array(len(names))
	for _, n := range names {
		c.out.BulkString(n)
	}
}

func listKeep(kind string, value []byte) func(*command.Spec) bool {
	switch kind {
	case "module":
		return func(*command.Spec) bool { return false }
	case "aclcat":
		return func(s *command.Spec) bool {
			for _, cat := range s.Categories() {
				if strings.EqualFold(cat, string(value)) {
					return true
				}
			}
			return false
		}
	case "pattern":
		return func(s *command.Spec) bool { return glob.Match(value, []byte(s.Name), true) }
	}
	return nil
}

// keysOf finds the keys in a command for COMMAND GETKEYS.
func (c *Client) keysOf(args [][]byte) ([]command.KeyRef, bool) {
	spec, _ := commands.Lookup(args)
	switch {
	case spec == nil || spec.Internal():
		c.out.Error("ERR Invalid command specified")
		return nil, false
	case !slices.ContainsFunc(spec.Keys, func(k command.KeySpec) bool { return k.Flags&command.KeyNotKey == 0 }):
		c.out.Error("ERR The command has no key arguments")
		return nil, false
	case !spec.CheckArity(len(args)):
		c.out.Error("ERR Invalid number of arguments specified for command")
		return nil, false
	}
	keys := spec.AppendKeys(nil, args)
	if !spec.Is(command.NoMandatoryKeys) && (len(keys) == 0 || countedWrong(spec, args)) {
		c.out.Error("ERR Invalid arguments specified for command")
		return nil, false
	}
	return keys, true
}

// countedWrong tells whether a number of keys among the arguments is none.
func countedWrong(spec *command.Spec, args [][]byte) bool {
	return slices.ContainsFunc(spec.Keys, func(k command.KeySpec) bool { return k.NumKeys != nil && len(k.Find(nil, args)) == 0 })
}

func commandGetKeys(c *Client, args [][]byte) {
	keys, ok := c.keysOf(args[2:])
	if !ok {
		return
	}
	c.out.Array(len(keys))
	for _, k := range keys {
		c.out.Bulk(args[2+k.Pos])
	}
}

func commandGetKeysAndFlags(c *Client, args [][]byte) {
	keys, ok := c.keysOf(args[2:])
	if !ok {
		return
	}
	spec, _ := commands.Lookup(args[2:])
	c.out.Array(len(keys))
	for _, k := range keys {
		c.out.Array(2)
		c.out.Bulk(args[2+k.Pos])
		// How the keys are found is said of the row, not of a key that was.
		names := (spec.FlagsOf(args[2:], k) &^ command.KeyIncomplete).Names()
		c.out.Set(len(names))
		for _, f := range names {
			c.out.Status(f)
		}
	}
}

func commandHelp(c *Client, _ [][]byte) {
	c.help("COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"(no subcommand)", "    Return details about all Redis commands.",
		"COUNT", "    Return the total number of commands in this Redis server.",
		"LIST", "    Return a list of all commands in this Redis server.",
		"INFO [<command-name> ...]", "    Return details about multiple Redis commands.", "    If no command names are given, documentation details for all", "    commands are returned.",
		"DOCS [<command-name> ...]", "    Return documentation details about multiple Redis commands.", "    If no command names are given, documentation details for all", "    commands are returned.",
		"GETKEYS <full-command>", "    Return the keys from a full Redis command.",
		"GETKEYSANDFLAGS <full-command>", "    Return the keys and the access flags from a full Redis command.")
}

// lockstepCommands lists every command of this server and every one of Redis
// that is not here, a line each: whether it is full, partial or no, what it
// does, and what is missing and why. It is docs/commands.md for a terminal.
func lockstepCommands(c *Client, _ [][]byte) {
	var lines []string
	for _, spec := range public() {
		for _, s := range append([]*command.Spec{spec}, spec.Sub...) {
			how, why := commands.SupportOf(s.Name)
			line := fmt.Sprintf("%s: %s: %s", s.Name, how, s.Summary)
			if why != "" {
				line += " Here " + why + "."
			}
			lines = append(lines, line)
		}
	}
	for _, r := range commands.RedisCommands() {
		if how, why := commands.SupportOf(r.Name); how == commands.None && commands.Get(r.Name) == nil {
			lines = append(lines, fmt.Sprintf("%s: %s: %s.", r.Name, how, why))
		}
	}
	slices.Sort(lines)
	c.out.Array(len(lines))
	for _, l := range lines {
		c.out.BulkString(l)
	}
}
