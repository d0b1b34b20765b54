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

// TestLongPatternsEnd: without a bound each of these takes minutes to hours.
func TestLongPatternsEnd(t *testing.T) {
	text := []byte(strings.Repeat("a", 2<<20))
	for name, pattern := range map[string]string{
		"a literal": "*" + strings.Repeat("a", 200<<10) + "b",
		"any bytes": "*" + strings.Repeat("?", 200<<10) + "b",
		"a class":   "*[" + strings.Repeat("x", 1<<20) + "]",
	} {
		if Match([]byte(pattern), text, false) {
			t.Errorf("%s: it matches", name)
		}
	}
	// A long pattern or text alone is not a problem.
	if !Match(append([]byte("*"), text...), text, false) || !Match([]byte("*a*a*a?"), text, false) {
		t.Error("a long text does not match")
	}
}

// TestTriesAreTold: a match at once costs nothing, and a match that goes back again and again costs
// the bytes that it has looked at.
func TestTriesAreTold(t *testing.T) {
	long := strings.Repeat("a", 1000)
	for _, test := range []struct {
		pattern, text string
		least, most   int
	}{
		{"*", long, 0, 0}, {"user:*", "user:1", 0, 0}, {long, long, 0, 0}, {"*b", long, 0, 0},
		{"*" + long[:500] + "b", long, 500 * 400, 500 * 500}, {"*a*a*a*a*b", long, 0, 0},
	} {
		if _, tries := MatchTries([]byte(test.pattern), []byte(test.text), false); tries < test.least || tries > test.most {
			t.Errorf("%.20q on %.20q: %d tries, want %d to %d", test.pattern, test.text, tries, test.least, test.most)
		}
	}
}
