package script_test

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/engine/script"
)

// TestTextsThatAreLongToCompileAreRefused: each replica compiles a script under the locks of its
// run. The work of the interpreter's compiler is the square of the number of constants and of
// visible names.
func TestTextsThatAreLongToCompileAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it uses one goroutine")
	}
	numbered := func(begin, format string) string {
		var b strings.Builder
		b.WriteString(begin)
		for i := 0; b.Len() < script.DefaultLimits.SourceBytes-1000; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const many, long = "too many names and constants", "name is too long"
	name := strings.Repeat("x", 300)
	for _, c := range []struct{ source, want string }{
		{numbered("local x ", "x = %d "), many},
		{numbered("local x ", "x = 'k%d' "), many},
		{numbered("return {", "%d, ") + "}", many},
		{numbered("return {", "k%d = 1, ") + "}", many},
		{numbered("", "f%d() "), many},
		{numbered("local x = 1 ", "x = x + y%d "), many},
		{numbered("", "f(y%d.a) "), many},
		{numbered("local x ", "do local l%[1]d = l%[1]d.c end "), many},
		{numbered("local a", ", l%d")[:500_000] + strings.Repeat("\nx = y.z", 50_000), many},
		{"return " + name, long},
		{"return ('x'):" + name + "()", long},
		{"function " + name + "() end", long},
		{name + " = 1", long},
		{"local t = {} return t." + name, ""},
		{strings.Repeat("x = 1 ", 100_000), ""},
	} {
		_, err := script.Compile([]byte(c.source), &script.DefaultLimits)
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%.60q: %.200s, want %q", c.source, got, c.want)
		}
	}
}
