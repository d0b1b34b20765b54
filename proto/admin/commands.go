package admin

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/engine/command"
	"lockstep/engine/command/arg"
	"lockstep/engine/commands"
	"lockstep/engine/glob"
	"lockstep/proto/client"
)

// commandHandlers are the subcommands of COMMAND. They read everything from the
// table.
var commandHandlers = client.Handlers{
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

func commandAll(r *client.Request, _ [][]byte) {
	specs := public()
	r.Out.Array(len(specs))
	for _, s := range specs {
		describe(r, s)
	}
}

func commandCount(r *client.Request, _ [][]byte) { r.Out.Int(int64(len(public()))) }

// named finds the commands with names like "get" and "config|set".
func named(names [][]byte) []*command.Spec {
	specs := make([]*command.Spec, len(names))
	for i, n := range names {
		if s := commands.Get(fold(n)); s != nil && !s.Internal() {
			specs[i] = s
		}
	}
	return specs
}

func commandInfo(r *client.Request, args [][]byte) {
	specs := public()
	if len(args) > 2 {
		specs = named(args[2:])
	}
	r.Out.Array(len(specs))
	for _, s := range specs {
		if s == nil {
			r.Out.Null()
			continue
		}
		describe(r, s)
	}
}

// describe writes a row in the form of COMMAND INFO.
func describe(r *client.Request, s *command.Spec) {
	first, last, step := keyRange(s)
	r.Out.Array(10)
	r.Out.BulkString(s.Name)
	r.Out.Int(int64(s.Arity))
	flags := s.FlagNames()
	r.Out.Set(len(flags))
	for _, f := range flags {
		r.Out.Status(f)
	}
	r.Out.Int(int64(first))
	r.Out.Int(int64(last))
	r.Out.Int(int64(step))
	cats := s.Categories()
	r.Out.Set(len(cats))
	for _, cat := range cats {
		r.Out.Status("@" + cat)
	}
	r.Out.Set(len(s.Tips))
	for _, t := range s.Tips {
		r.Out.BulkString(t)
	}
	describeKeys(r, s)
	r.Out.Set(len(s.Sub))
	for _, sub := range s.Sub {
		describe(r, sub)
	}
}

// keyRange is the old form of key positions: the first spec's range, widened by the
// specs that follow it without a gap.
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

func describeKeys(r *client.Request, s *command.Spec) {
	r.Out.Set(len(s.Keys))
	for i := range s.Keys {
		k := &s.Keys[i]
		r.Out.Map(3)
		r.Out.BulkString("flags")
		names := k.Flags.Names()
		r.Out.Set(len(names))
		for _, f := range names {
			r.Out.Status(f)
		}
		if k.Find != nil && k.NumKeys == nil && k.Keyword == nil {
			unknownPlace(r, "begin_search")
			unknownPlace(r, "find_keys")
			continue
		}
		describeBegin(r, k)
		r.Out.BulkString("find_keys")
		r.Out.Map(2)
		r.Out.BulkString("type")
		if k.NumKeys != nil {
			r.Out.BulkString("keynum")
			r.Out.BulkString("spec")
			r.Out.Map(3)
			r.Out.BulkString("keynumidx")
			r.Out.Int(0)
			r.Out.BulkString("firstkey")
			r.Out.Int(int64(k.NumKeys[1]))
			r.Out.BulkString("keystep")
			r.Out.Int(int64(k.NumKeys[2]))
			continue
		}
		r.Out.BulkString("range")
		r.Out.BulkString("spec")
		r.Out.Map(3)
		r.Out.BulkString("lastkey")
		last, limit := k.Last, 0
		switch {
		case k.Keyword != nil:
			limit = k.Keyword.Share
		case last >= 0:
			last -= k.First
		}
		r.Out.Int(int64(last))
		r.Out.BulkString("keystep")
		r.Out.Int(int64(k.Step))
		r.Out.BulkString("limit")
		r.Out.Int(int64(limit))
	}
}

// describeBegin says where the search for the keys of a key spec starts.
func describeBegin(r *client.Request, k *command.KeySpec) {
	r.Out.BulkString("begin_search")
	r.Out.Map(2)
	r.Out.BulkString("type")
	if k.Keyword != nil {
		r.Out.BulkString("keyword")
		r.Out.BulkString("spec")
		r.Out.Map(2)
		r.Out.BulkString("keyword")
		r.Out.BulkString(k.Keyword.Word)
		r.Out.BulkString("startfrom")
		r.Out.Int(int64(k.Keyword.From))
		return
	}
	r.Out.BulkString("index")
	r.Out.BulkString("spec")
	r.Out.Map(1)
	r.Out.BulkString("index")
	if k.NumKeys != nil {
		r.Out.Int(int64(k.NumKeys[0]))
	} else {
		r.Out.Int(int64(k.First))
	}
}

// unknownPlace describes keys whose positions cannot be stated in advance.
func unknownPlace(r *client.Request, step string) {
	r.Out.BulkString(step)
	r.Out.Map(2)
	pair(r, "type", "unknown")
	r.Out.BulkString("spec")
	r.Out.Map(0)
}

func commandDocs(r *client.Request, args [][]byte) {
	specs := public()
	if len(args) > 2 {
		specs = nil
		for _, s := range named(args[2:]) {
			if s != nil {
				specs = append(specs, s)
			}
		}
	}
	r.Out.Map(len(specs))
	for _, s := range specs {
		r.Out.BulkString(s.Name)
		document(r, s)
	}
}

func document(r *client.Request, s *command.Spec) {
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
	r.Out.Map(n)
	for _, f := range fields {
		pair(r, f.name, f.value)
	}
	if s.System {
		r.Out.BulkString("doc_flags")
		r.Out.Set(1)
		r.Out.Status("syscmd")
	}
	if s.DeprecatedSince != "" {
		r.Out.BulkString("doc_flags")
		r.Out.Set(1)
		r.Out.Status("deprecated")
		pair(r, "deprecated_since", s.DeprecatedSince)
	}
	if s.ReplacedBy != "" {
		pair(r, "replaced_by", s.ReplacedBy)
	}
	if len(s.Args) > 0 {
		r.Out.BulkString("arguments")
		documentArgs(r, s.Args)
	}
	if len(s.Sub) > 0 {
		r.Out.BulkString("subcommands")
		r.Out.Map(len(s.Sub))
		for _, sub := range s.Sub {
			r.Out.BulkString(sub.Name)
			document(r, sub)
		}
	}
}

func documentArgs(r *client.Request, args []arg.Arg) {
	r.Out.Array(len(args))
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
		// A token may be the empty string.
		token := a.Token != "" || a.Type == "pure-token"
		n := 2
		for _, there := range []bool{a.KeySpec > 0, token, a.Since != "", len(flags) > 0, len(a.Sub) > 0} {
			if there {
				n++
			}
		}
		r.Out.Map(n)
		pair(r, "name", a.Name)
		pair(r, "type", a.Type)
		if a.KeySpec > 0 {
			r.Out.BulkString("key_spec_index")
			r.Out.Int(int64(a.KeySpec - 1))
		}
		if token {
			pair(r, "token", a.Token)
		}
		if a.Since != "" {
			pair(r, "since", a.Since)
		}
		if len(flags) > 0 {
			r.Out.BulkString("flags")
			r.Out.Set(len(flags))
			for _, f := range flags {
				r.Out.Status(f)
			}
		}
		if len(a.Sub) > 0 {
			r.Out.BulkString("arguments")
			documentArgs(r, a.Sub)
		}
	}
}

func commandList(r *client.Request, args [][]byte) {
	keep := func(*command.Spec) bool { return true }
	switch {
	case len(args) == 2:
	case len(args) == 5 && fold(args[2]) == "filterby":
		keep = listKeep(fold(args[3]), args[4])
	default:
		keep = nil
	}
	if keep == nil {
		r.Out.Error(command.ErrSyntax)
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
	r.Out.Array(len(names))
	for _, n := range names {
		r.Out.BulkString(n)
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
func keysOf(r *client.Request, args [][]byte) ([]command.KeyRef, bool) {
	spec, _ := commands.Lookup(args)
	switch {
	case spec == nil || spec.Internal():
		r.Out.Error("ERR Invalid command specified")
		return nil, false
	case !slices.ContainsFunc(spec.Keys, func(k command.KeySpec) bool { return k.Flags&command.KeyNotKey == 0 }):
		r.Out.Error("ERR The command has no key arguments")
		return nil, false
	case !spec.CheckArity(len(args)):
		r.Out.Error("ERR Invalid number of arguments specified for command")
		return nil, false
	}
	keys := spec.AppendKeys(nil, args)
	if !spec.Is(command.NoMandatoryKeys) && (len(keys) == 0 || countedWrong(spec, args)) {
		r.Out.Error("ERR Invalid arguments specified for command")
		return nil, false
	}
	return keys, true
}

// countedWrong reports whether the argument that counts the keys is not a valid
// number.
func countedWrong(spec *command.Spec, args [][]byte) bool {
	return slices.ContainsFunc(spec.Keys, func(k command.KeySpec) bool { return k.NumKeys != nil && len(k.Find(nil, args)) == 0 })
}

func commandGetKeys(r *client.Request, args [][]byte) {
	keys, ok := keysOf(r, args[2:])
	if !ok {
		return
	}
	r.Out.Array(len(keys))
	for _, k := range keys {
		r.Out.Bulk(args[2+k.Pos])
	}
}

func commandGetKeysAndFlags(r *client.Request, args [][]byte) {
	keys, ok := keysOf(r, args[2:])
	if !ok {
		return
	}
	spec, _ := commands.Lookup(args[2:])
	r.Out.Array(len(keys))
	for _, k := range keys {
		r.Out.Array(2)
		r.Out.Bulk(args[2+k.Pos])
		// Incomplete is a property of the row's key search, not of a key that was
		// found.
		names := (spec.FlagsOf(args[2:], k) &^ command.KeyIncomplete).Names()
		r.Out.Set(len(names))
		for _, f := range names {
			r.Out.Status(f)
		}
	}
}

func commandHelp(r *client.Request, _ [][]byte) {
	help(r, "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"(no subcommand)", "    Return details about all Redis commands.",
		"COUNT", "    Return the total number of commands in this Redis server.",
		"LIST", "    Return a list of all commands in this Redis server.",
		"INFO [<command-name> ...]", "    Return details about multiple Redis commands.", "    If no command names are given, documentation details for all", "    commands are returned.",
		"DOCS [<command-name> ...]", "    Return documentation details about multiple Redis commands.", "    If no command names are given, documentation details for all", "    commands are returned.",
		"GETKEYS <full-command>", "    Return the keys from a full Redis command.",
		"GETKEYSANDFLAGS <full-command>", "    Return the keys and the access flags from a full Redis command.")
}

// lockstepCommands lists, one per line, every command of this server and every
// Redis command that is missing here: whether it is supported fully, partly or not
// at all, what it does, and what is missing and why. It is docs/commands.md for a
// terminal.
func lockstepCommands(r *client.Request, _ [][]byte) {
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
	r.Out.Array(len(lines))
	for _, l := range lines {
		r.Out.BulkString(l)
	}
}
