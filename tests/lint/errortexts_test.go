package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// errorText matches a complete error reply: a code in capitals, and words up to the end. It does
// not match a text that the code completes with a name.
var errorText = regexp.MustCompile(`^[A-Z]{3,} [A-Za-z].*[^ '":]$`)

// repliesOf lists the folders whose texts reach clients.
var repliesOf = []string{"engine/", "fsm/", "proto/"}

// errorTexts returns the error replies in a file, each with its places.
func errorTexts(s *source) map[string][]string {
	texts := map[string][]string{}
	if s.isTest() {
		return texts
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && errorText.MatchString(text) {
				texts[text] = append(texts[text], s.where(lit))
			}
		}
		return true
	})
	return texts
}

// textsTwice finds error replies that stand in several places. Somebody would change one of them
// and not the others.
func textsTwice(all []*source) (found []finding) {
	places := map[string][]string{}
	for _, s := range all {
		for text, where := range errorTexts(s) {
			places[text] = append(places[text], where...)
		}
	}
	for text, where := range places {
		if len(where) > 1 {
			found = append(found, finding{where[0], text, fmt.Sprintf("%q stands in %s, too", text, strings.Join(where[1:], ", "))})
		}
	}
	return found
}

func TestErrorRepliesStandOnce(t *testing.T) {
	var ours []*source
	for _, s := range goSources(t) {
		for _, folder := range repliesOf {
			if strings.HasPrefix(s.path, folder) {
				ours = append(ours, s)
			}
		}
	}
	if len(ours) < 100 {
		t.Fatalf("only %d files", len(ours))
	}
	report(t, textsTwice(ours))
}

func TestErrorRepliesThatStandTwiceAreFound(t *testing.T) {
	a := planted(t, "engine/a.go", "package a\nconst one = \"ERR no such thing\"\nfunc f() string { return \"ERR of \" + one }\n")
	b := planted(t, "proto/b.go", "package b\nvar two = []string{`ERR no such thing`, \"ERR of \", \"ERR another\"}\n")
	c := planted(t, "proto/b_test.go", "package b\nconst want = \"ERR another\"\n")
	if found := textsTwice([]*source{a, b, c}); len(found) != 1 || found[0].subject != "ERR no such thing" {
		t.Errorf("%v", found)
	}
	if found := textsTwice([]*source{a}); len(found) != 0 {
		t.Errorf("%v", found)
	}
}
