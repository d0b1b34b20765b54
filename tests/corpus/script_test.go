package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeScript(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRewritingTouchesNothingButTheReplies(t *testing.T) {
	const text = `# about
== one
SET a b
GET a
----
+OLD

% until
GET x
----
(nil)

== two
GET c
----
---- lockstep: a reason
+OURS
`
	s, err := Load(writeScript(t, text))
	if err != nil {
		t.Fatal(err)
	}
	one, two := s.cases[0], s.cases[1]
	if err := s.rewrite(map[*block]string{one.blocks[0]: "+OK\n\"b\"", two.blocks[0]: "(nil)"}); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(s.Path)
	want := strings.Replace(strings.Replace(text, "+OLD", "+OK\n\"b\"", 1), "---- lockstep", "(nil)\n---- lockstep", 1)
	want = strings.Replace(want, "----\n---- lockstep", "----\n(nil)\n---- lockstep", 1)
	want = strings.Replace(want, "(nil)\n(nil)", "(nil)", 1)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMistakesInScriptsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"GET a\n----\n":                      "before the first case",
		"== a\nGET a\n\n----\n":              "without ----",
		"== a\n% frobnicate\nGET a\n----\n":  "no directive",
		"== a\nGET\n----\n---- lockstep:\nx": "without a reason",
		"== a\nGET":                          "without ----",
	} {
		if _, err := Load(writeScript(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestCommandLinesNameConnectionAndProtocol(t *testing.T) {
	c, err := parseCommand(`c2> @3 SET k ${x}`, false, map[string]string{"x": "a \x00\""})
	if err != nil || c.conn != "c2" || !c.resp3 || len(c.args) != 3 || c.args[2] != "a \x00\"" {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = parseCommand(`SET "a> b" c`, false, nil)
	if err != nil || c.conn != "c1" || c.args[1] != "a> b" {
		t.Errorf("%+v, %v", c, err)
	}
}
