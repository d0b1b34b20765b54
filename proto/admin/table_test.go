package admin_test

import (
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// otherRows are rows of COMMAND INFO that differ from redis-server 7.0's, with the reason. A listed
// row that no longer differs is an error as well.
var otherRows = map[string]string{
	"zrank":    "WITHSCORE came with Redis 7.2",
	"zrevrank": "WITHSCORE came with Redis 7.2",
	"keys":     anyNode, "scan": anyNode, "randomkey": anyNode, "dbsize": anyNode, "flushdb": anyNode, "flushall": anyNode,
}

const anyNode = "any node answers for all shards: the tips that send a client to each are left out"

// otherLines are lines of rows that are left out of the comparison.
var otherLines = []string{`"notes"`}

func TestRowsOfTheTableAreRediss(t *testing.T) {
	redis := prototest.Dial(t, prototest.StartRedis(t))
	ours := prototest.Dial(t, prototest.StartNode(t, 1).Addr)
	for _, spec := range commands.All() {
		if spec.Internal() {
			continue
		}
		for _, s := range append([]*command.Spec{spec}, spec.Sub...) {
			compareRow(t, redis, ours, s)
		}
	}
}

func compareRow(t *testing.T, redis, ours *respconn.Conn, s *command.Spec) {
	t.Helper()
	name := s.Name
	want, got := row(t, redis, name), row(t, ours, name)
	switch why := otherRows[name]; {
	case (want != "") != s.InRedis(oracleVersion):
		t.Errorf("%s: its row says that Redis %s has it: %v", name, oracleVersion, s.InRedis(oracleVersion))
	case want == "":
	case want != got && why == "":
		t.Errorf("%s:\n%s", name, prototest.Difference(want, got))
	case want == got && why != "":
		t.Errorf("%s: agrees now; otherRows says %q", name, why)
	}
}

// row returns a command's description without its subcommands, or "" if there is none.
func row(t *testing.T, c *respconn.Conn, name string) string {
	t.Helper()
	v, err := c.Do("COMMAND", "INFO", name)
	if err != nil || len(v.Elems) != 1 {
		t.Fatalf("%s: %v %v", name, v, err)
	}
	if v.Elems[0].Null {
		return ""
	}
	var b strings.Builder
	for i, part := range []string{"name", "arity", "flags", "first", "last", "step", "categories", "tips", "keys"} {
		b.WriteString(part + "\n")
		text := v.Elems[0].Elems[i].String()
		for _, left := range otherLines {
			for {
				before, after, ok := strings.Cut(text, left+"\n")
				if !ok {
					break
				}
				_, after, _ = strings.Cut(after, "\n")
				text = strings.TrimRight(before, " ") + after
			}
		}
		if part == "keys" {
			text = strings.ReplaceAll(text, "*8\n", "*6\n")
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// oracleVersion is the version of the redis-server that the tests compare with.
const oracleVersion = "7.0"

// otherDocs are commands whose COMMAND DOCS differ from redis-server 7.0's in more than words, with
// the reason.
var otherDocs = map[string]string{
	"client|kill": "no argument of the table is deprecated by itself",
	"hscan":       "NOVALUES came with Redis 7.4",
	"zrank":       "WITHSCORE came with Redis 7.2",
	"zrevrank":    "WITHSCORE came with Redis 7.2",
}

func TestDocsHaveRedissForm(t *testing.T) {
	redis := prototest.Dial(t, prototest.StartRedis(t))
	ours := prototest.Dial(t, prototest.StartNode(t, 1).Addr)
	for _, spec := range commands.All() {
		if spec.Internal() {
			continue
		}
		for _, s := range append([]*command.Spec{spec}, spec.Sub...) {
			want, got := docs(t, redis, s.Name), docs(t, ours, s.Name)
			if want == got || want == "" && !s.InRedis(oracleVersion) || otherDocs[s.Name] != "" {
				continue
			}
			t.Errorf("%s:\n%s", s.Name, prototest.Difference(want, got))
		}
	}
}

// docs returns a command's documentation without prose: summaries, complexities and histories. It
// returns "" if there is none.
func docs(t *testing.T, c *respconn.Conn, name string) string {
	t.Helper()
	v, err := c.Do("COMMAND", "DOCS", name)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Elems) != 2 {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(v.Elems[1].Elems); i += 2 {
		switch field := string(v.Elems[1].Elems[i].Bytes); field {
		case "summary", "complexity", "history", "subcommands":
		default:
			b.WriteString(field + "\n" + v.Elems[1].Elems[i+1].String() + "\n")
		}
	}
	return b.String()
}
