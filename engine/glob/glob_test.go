package glob

import (
	"strings"
	"testing"
)

func TestMatchFollowsRedis(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		nocase     bool
		want       bool
	}{
		{"*", "", false, true}, {"*", "abc", false, true}, {"", "", false, true}, {"", "a", false, false},
		{"h?llo", "hello", false, true}, {"h?llo", "hllo", false, false},
		{"h*llo", "heeeello", false, true}, {"h[ae]llo", "hallo", false, true}, {"h[ae]llo", "hillo", false, false},
		{"h[^e]llo", "hallo", false, true}, {"h[^e]llo", "hello", false, false}, {"h[a-b]llo", "hbllo", false, true},
		{"h[b-a]llo", "hallo", false, true}, {`h\*llo`, "h*llo", false, true}, {`h\*llo`, "hxllo", false, false},
		{"[abc", "a", false, true}, {`[\]]`, "]", false, true}, {"HELLO", "hello", true, true}, {"HELLO", "hello", false, false},
		{"a*b*c", "aXbYc", false, true}, {"a*b*c", "aXbY", false, false}, {"**", "x", false, true}, {`\`, `\`, false, true},
	} {
		if got := Match([]byte(c.pattern), []byte(c.s), c.nocase); got != c.want {
			t.Errorf("Match(%q, %q, %v) = %v", c.pattern, c.s, c.nocase, got)
		}
	}
}

func TestAPatternOfStarsIsNotExponential(t *testing.T) {
	pattern := []byte(strings.Repeat("a*", 200) + "b")
	if Match(pattern, []byte(strings.Repeat("a", 20000)), false) {
		t.Error("there is no b")
	}
}
