package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// unwanted lists words that no tracked text may have. The code joins them from parts, so that this
// file does not contain them.
var unwanted = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`), "what is left to do stands in an issue, not in the text"},
	{regexp.MustCompile(`(?i)\bnot (yet )?` + `implemented\b`), "what is not there is refused in words that help"},
	{regexp.MustCompile(`(^|[^\w./])/(wor` + `k|hom` + `e/\w+|roo` + `t|tmp/bri` + `ef)/`), "a path of somebody's machine"},
}

// wordless reports whether the words of a file are not ours, as in checksums, locks and the input
// of parser tests.
func wordless(name string) bool {
	switch path.Base(name) {
	case "go.sum", "package-lock.json", "LICENSE":
		return true
	}
	return strings.Contains("/"+name, "/testdata/")
}

func unwantedWords(name string, text []byte) []finding {
	var found []finding
	for n, line := range bytes.Split(text, []byte("\n")) {
		for _, u := range unwanted {
			if word := u.pattern.Find(line); word != nil {
				found = append(found, finding{fmt.Sprintf("%s:%d", name, n+1), name, fmt.Sprintf("%q: %s", bytes.TrimSpace(word), u.why)})
			}
		}
	}
	return found
}

func TestTextHasNoLeftoversAndNamesNoMachine(t *testing.T) {
	names, err := tracked()
	if err != nil {
		t.Skipf("SKIPPED: there is nothing to look at: %v", err)
	}
	for _, name := range names {
		if wordless(name) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(), name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text, 0) < 0 {
			report(t, unwantedWords(name, text))
		}
	}
}

// testsDoNotSleep: a test waits for a condition, with a deadline. A sleep is too short on a busy
// machine and too long on any other.
func testsDoNotSleep(s *source) []finding {
	name := s.imports()["time"]
	if name == "" || !s.isTest() && !strings.HasPrefix(s.path, "tests/") {
		return nil
	}
	var found []finding
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Sleep" {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && id.Name == name {
			found = append(found, finding{s.where(n), s.path, "time.Sleep in a test: wait for a condition with a deadline"})
		}
		return true
	})
	return found
}

func TestTestsDoNotSleep(t *testing.T) { check(t, testsDoNotSleep) }

func TestWordRulesFindPlantedOffences(t *testing.T) {
	for text, n := range map[string]int{
		"// TO" + "DO: more":              1,
		"see /wor" + "k/main/x":           1,
		"return \"not imple" + "mented\"": 1,
		"the network/wo" + "rk/flow":      0,
		"a/ro" + "ot/b, masto" + "don":    0,
	} {
		if found := unwantedWords("a.md", []byte(text)); len(found) != n {
			t.Errorf("%q: %v, want %d", text, found, n)
		}
	}
	wantFindings(t, 1, testsDoNotSleep, "a/a_test.go", `package a; import t "time"; func f() { t.Sleep(1) }`)
	wantFindings(t, 1, testsDoNotSleep, "tests/x/a.go", `package a; import "time"; var f = time.Sleep`)
	wantFindings(t, 0, testsDoNotSleep, "a/a.go", `package a; import "time"; func f() { time.Sleep(1) }`)
}
