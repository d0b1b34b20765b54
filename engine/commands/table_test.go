package commands_test

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/command/arg"
	"lockstep/engine/commands"
	"lockstep/engine/commands/bitmapcmd"
	"lockstep/engine/commands/geocmd"
	"lockstep/engine/commands/hashcmd"
	"lockstep/engine/commands/hllcmd"
	"lockstep/engine/commands/keycmd"
	"lockstep/engine/commands/listcmd"
	"lockstep/engine/commands/scriptcmd"
	"lockstep/engine/commands/setcmd"
	"lockstep/engine/commands/sortcmd"
	"lockstep/engine/commands/streamcmd"
	"lockstep/engine/commands/stringcmd"
	"lockstep/engine/commands/zsetcmd"
	"lockstep/tests/kit/cmdtest"
)

// differences are the places where a row differs from redis-server's on
// purpose.
var differences = map[string]string{
	"hscan arguments":    "NOVALUES came with Redis 7.4",
	"zrank arity":        "WITHSCORE is of Redis 7.2",
	"zrank arguments":    "WITHSCORE is of Redis 7.2",
	"zrevrank arity":     "WITHSCORE is of Redis 7.2",
	"zrevrank arguments": "WITHSCORE is of Redis 7.2",
	"keys tips":          anyNode, "scan tips": anyNode, "randomkey tips": anyNode, "dbsize tips": anyNode, "flushdb tips": anyNode, "flushall tips": anyNode,
}

// anyNode is why whole-keyspace commands lack tips: see keycmd.KeyspaceRows.
const anyNode = "any node answers for all shards"

// oracleVersion is the version of the redis-server that the tests compare with.
const oracleVersion = "7.0"

// engineFamilies are the families whose commands run in the engine.
var engineFamilies = [][]*command.Spec{
	stringcmd.Rows, listcmd.Rows, hashcmd.Rows, setcmd.Rows, zsetcmd.Rows, streamcmd.Rows,
	bitmapcmd.Rows, hllcmd.Rows, geocmd.Rows, sortcmd.Rows, keycmd.Rows, keycmd.KeyspaceRows, scriptcmd.FunctionRows,
}

// TestRowsAreRedisRows compares arity, flags, keys, categories and tips of every
// row with COMMAND INFO of redis-server.
func TestRowsAreRedisRows(t *testing.T) {
	o := cmdtest.StartOracle(t)
	for _, family := range engineFamilies {
		for _, s := range family {
			specs := append([]*command.Spec{s}, s.Sub...)
			for _, s := range specs {
				raw := o.Exec([]byte("command"), []byte("info"), []byte(s.Name))
				want := cmdtest.ParseReply(t, raw).([]any)[0]
				if inRedis := s.InRedis(oracleVersion); want == nil || !inRedis {
					if want != nil || inRedis {
						t.Errorf("%s: its row says that Redis %s has it: %v", s.Name, oracleVersion, inRedis)
					}
					continue
				}
				compareRow(t, s, want.([]any))
			}
		}
	}
}

func compareRow(t *testing.T, s *command.Spec, want []any) {
	t.Helper()
	check := func(what string, got, want any) {
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w && differences[s.Name+" "+what] == "" {
			t.Errorf("%s: %s is %s, Redis has %s", s.Name, what, g, w)
		}
	}
	check("arity", s.Arity, want[1])
	check("flags", s.FlagNames(), want[2])
	var categories []string
	for _, c := range s.Categories() {
		categories = append(categories, "@"+c)
	}
	check("categories", categories, want[6])
	check("tips", s.Tips, want[7])
	specs := want[8].([]any)
	if len(specs) != len(s.Keys) {
		t.Errorf("%s: %d key specs, Redis has %d", s.Name, len(s.Keys), len(specs))
		return
	}
	for i, k := range s.Keys {
		fields := pairs(specs[i])
		check("key flags", k.Flags.Names(), fields["flags"])
		if k.Find != nil && k.NumKeys == nil && k.Keyword == nil {
			check("where keys begin", "unknown", pairs(fields["begin_search"])["type"])
			continue
		}
		begin := pairs(pairs(fields["begin_search"])["spec"])["index"]
		find := pairs(pairs(fields["find_keys"])["spec"])
		if k.Keyword != nil {
			spec := pairs(pairs(fields["begin_search"])["spec"])
			check("keyword", *k.Keyword, command.Keyword{Word: fmt.Sprint(spec["keyword"]), From: spec["startfrom"].(int), Share: find["limit"].(int)})
			check("last key", k.Last, find["lastkey"])
			check("key step", k.Step, find["keystep"])
			continue
		}
		if k.NumKeys != nil {
			check("place of the number of keys", *k.NumKeys, [3]any{begin, find["firstkey"], find["keystep"]})
			continue
		}
		last := k.Last
		if last >= 0 {
			last -= k.First
		}
		check("first key", k.First, begin)
		check("last key", last, find["lastkey"])
		check("key step", k.Step, find["keystep"])
	}
}

// pairs makes a map of a flat array of names and values.
func pairs(v any) map[string]any {
	m := map[string]any{}
	list := v.([]any)
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i].(string)] = list[i+1]
	}
	return m
}

// TestRowsAreComplete: every row has what the documentation needs, and a row that runs in the
// engine has a handler.
func TestRowsAreComplete(t *testing.T) {
	for _, s := range commands.All() {
		for _, s := range append([]*command.Spec{s}, s.Sub...) {
			if s.Name != strings.ToLower(s.Name) || s.Arity == 0 || s.Group == "" || s.Summary == "" {
				t.Errorf("%s: name, arity, group or summary is missing", s.Name)
			}
			// Redis gives MONITOR no complexity: it never ends.
			if !strings.HasPrefix(s.Name, "lockstep") && (s.Since == "" || s.Complexity == "" && s.Name != "monitor") {
				t.Errorf("%s: since or complexity is missing", s.Name)
			}
			if runs := s.Scope != command.ScopeNode && len(s.Sub) == 0; runs != (s.Run != nil) {
				t.Errorf("%s: handler %v, must have one: %v", s.Name, s.Run != nil, runs)
			}
			if s.Is(command.Write) && s.Is(command.ReadOnly) {
				t.Errorf("%s: writes and does not", s.Name)
			}
		}
	}
}

// TestKeysAreFound checks the keys, and the mode in which each is locked, for every way in which a
// command can name its keys.
func TestKeysAreFound(t *testing.T) {
	for line, want := range map[string]string{
		"GET a":                   "1 shared",
		"GETEX a":                 "1 shared",
		"GETEX a PERSIST":         "1 exclusive",
		"SET a b":                 "1 exclusive",
		"MSET a 1 b 2":            "1 exclusive, 3 exclusive",
		"MSET a 1 b":              "1 exclusive, 3 exclusive",
		"COPY a b REPLACE":        "1 shared, 2 exclusive",
		"RENAME a b":              "1 exclusive, 2 exclusive",
		"DEL a b c":               "1 exclusive, 2 exclusive, 3 exclusive",
		"OBJECT ENCODING a":       "2 shared",
		"LCS a b IDX":             "1 shared, 2 shared",
		"LMPOP 2 a b LEFT":        "2 exclusive, 3 exclusive",
		"BLMPOP 0 1 a LEFT":       "3 exclusive",
		"BLPOP a b 0":             "1 exclusive, 2 exclusive",
		"SORT a":                  "1 shared",
		"SORT a BY b GET c":       "1 shared",
		"SORT a STORE d":          "1 shared, 3 exclusive",
		"SORT a STORE d STORE e":  "1 shared, 5 exclusive",
		"SORT a GET STORE":        "1 shared",
		"SORT a LIMIT 0 STORE":    "1 shared",
		"SORT_RO a STORE b":       "1 shared",
		"LMOVE a b LEFT RIGHT":    "1 exclusive, 2 exclusive",
		"KEYS *":                  "",
		"SMOVE a b m":             "1 exclusive, 2 exclusive",
		"SINTERSTORE d a b":       "1 exclusive, 2 shared, 3 shared",
		"SINTERCARD 2 a b":        "2 shared, 3 shared",
		"SINTERCARD 1 a LIMIT 1":  "2 shared",
		"SINTERCARD 3 a b":        "",
		"SINTERCARD x a b":        "",
		"lockstep.expire 0 a 1 b": "2 exclusive, 4 exclusive",
		"DELIFEQ a b":             "1 exclusive",
		"BITOP OR a b c":          "2 exclusive, 3 shared, 4 shared",
		"BITFIELD a":              "1 shared",
		"BITFIELD a GET u8 0 OVERFLOW FAIL GET u8 0":  "1 shared",
		"BITFIELD a GET u8 0 SET u8 0 1":              "1 exclusive",
		"BITFIELD a OVERFLOW SAT INCRBY u8 0 1":       "1 exclusive",
		"PFCOUNT a b":                                 "1 shared, 2 shared",
		"PFMERGE a b":                                 "1 exclusive, 2 shared",
		"PFDEBUG GETREG a":                            "2 exclusive",
		"PFSELFTEST":                                  "",
		"ZUNIONSTORE a 2 b c":                         "1 exclusive, 3 shared, 4 shared",
		"ZUNION 2 b c WITHSCORES":                     "2 shared, 3 shared",
		"ZUNION 3 b c":                                "",
		"BZMPOP 0 1 a MIN":                            "3 exclusive",
		"BZPOPMIN a b 0":                              "1 exclusive, 2 exclusive",
		"GEORADIUS a 1 2 3 m":                         "1 shared",
		"GEORADIUS a 1 2 3 m ASC STORE b STOREDIST c": "1 shared, 10 exclusive",
		"GEORADIUSBYMEMBER a m 3 m STORE c":           "1 shared, 6 exclusive",
		"GEOSEARCHSTORE a b BYRADIUS 1 m":             "1 exclusive, 2 shared",
		"XREAD STREAMS a b 0 0":                       "2 shared, 3 shared",
		"XREAD COUNT 1 STREAMS a":                     "",
		"XINFO STREAM a":                              "2 shared",
		"XGROUP DESTROY a g":                          "2 exclusive",
		"XREADGROUP GROUP STREAMS c BLOCK 0 NOACK STREAMS a b > >": "8 exclusive, 9 exclusive",
	} {
		args := cmdtest.Words(line)
		spec, _ := commands.Lookup(args)
		var found []string
		for _, k := range spec.AppendKeys(nil, args) {
			found = append(found, fmt.Sprint(k.Pos, " ", [...]string{"shared", "exclusive"}[k.Mode]))
		}
		if got := strings.Join(found, ", "); got != want {
			t.Errorf("%s: keys %s, want %s", line, got, want)
		}
		if got, want := spec.Writes(args), strings.Contains(want, "exclusive"); got != want {
			t.Errorf("%s: writes %v", line, got)
		}
	}
}

// TestArgumentsAreRedisArguments compares the arguments, group and age of every
// row with COMMAND DOCS of redis-server.
func TestArgumentsAreRedisArguments(t *testing.T) {
	o := cmdtest.StartOracle(t)
	for _, family := range engineFamilies {
		for _, s := range family {
			docs := cmdtest.ParseReply(t, o.Exec([]byte("command"), []byte("docs"), []byte(s.Name))).([]any)
			if !s.InRedis(oracleVersion) {
				continue
			}
			if len(docs) != 2 {
				t.Errorf("%s: Redis has no such command", s.Name)
				continue
			}
			compareDocs(t, s, pairs(docs[1]))
		}
	}
}

func compareDocs(t *testing.T, s *command.Spec, want map[string]any) {
	t.Helper()
	got := fmt.Sprint(s.Group, s.Since, s.DeprecatedSince, s.ReplacedBy)
	if w := fmt.Sprint(want["group"], want["since"], text(want["deprecated_since"]), text(want["replaced_by"])); got != w {
		t.Errorf("%s: %s, Redis has %s", s.Name, got, w)
	}
	arguments, _ := want["arguments"].([]any)
	if got, want := describeArgs(s.Args), describeDocs(arguments); got != want && differences[s.Name+" arguments"] == "" {
		t.Errorf("%s: arguments\n%s\nRedis has\n%s", s.Name, got, want)
	}
	subcommands, _ := want["subcommands"].([]any)
	for i := 0; i+1 < len(subcommands); i += 2 {
		for _, sub := range s.Sub {
			if sub.Name == subcommands[i] {
				compareDocs(t, sub, pairs(subcommands[i+1]))
			}
		}
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func describeArgs(args []arg.Arg) string {
	var b strings.Builder
	for _, a := range args {
		key := ""
		if a.KeySpec > 0 {
			key = fmt.Sprint(a.KeySpec - 1)
		}
		flags := ""
		if a.Optional {
			flags += " optional"
		}
		if a.Multiple {
			flags += " multiple"
		}
		if a.MultipleToken {
			flags += " multiple_token"
		}
		fmt.Fprintf(&b, "%s %s %q %q %q%s(%s) ", a.Name, a.Type, a.Token, a.Since, key, flags, describeArgs(a.Sub))
	}
	return b.String()
}

func describeDocs(args []any) string {
	var b strings.Builder
	for _, a := range args {
		m := pairs(a)
		key := ""
		if n, ok := m["key_spec_index"]; ok {
			key = fmt.Sprint(n)
		}
		flags := ""
		list, _ := m["flags"].([]any)
		for _, f := range list {
			flags += " " + f.(string)
		}
		sub, _ := m["arguments"].([]any)
		fmt.Fprintf(&b, "%s %s %q %q %q%s(%s) ", m["name"], m["type"], text(m["token"]), text(m["since"]), key, flags, describeDocs(sub))
	}
	return b.String()
}

func TestWhichRedisHasACommand(t *testing.T) {
	for _, c := range []struct {
		origin, since, version string
		want                   bool
	}{
		{"", "1.0.0", "7.0", true}, {"", "7.0.5", "7.0", true}, {"", "7.2.0", "7.0", false}, {"", "7.2.0", "7.2", true}, {"", "10.0.0", "7.2", false},
		{"Valkey", "9.0.0", "7.2", false}, {"Lockstep", "0.1.0", "7.2", false},
	} {
		if got := (&command.Spec{Origin: c.origin, Since: c.since}).InRedis(c.version); got != c.want {
			t.Errorf("%v: %v", c, got)
		}
	}
}
