package words

import (
	"fmt"
	"testing"
)

func TestLinesArePartedAsRedisDoes(t *testing.T) {
	for line, want := range map[string]string{
		"": "[]", " \t\v\n": "[]", "a b  c": `["a" "b" "c"]`, `a"b c"`: `["ab c"]`, `"" ''`: `["" ""]`,
		`"\x41\x4a\n\r\t\b\a\"\\\q"`: `["AJ\n\r\t\b\a\"\\q"]`, `"\xzz"`: `["xzz"]`, `'it\'s \n'`: `["it's \\n"]`,
		"a\x00 b": `["a"]`, "a b\x00": `["a" "b"]`,
	} {
		if got, ok := Split([]byte(line)); !ok || fmt.Sprintf("%q", got) != want {
			t.Errorf("%q: %q, %t; want %s", line, got, ok, want)
		}
	}
	for _, line := range []string{`"a`, `'a`, `"a"b`, `'a'b`, `"a\"`, `"a\`, "\"a\x00\""} {
		if got, ok := Split([]byte(line)); ok {
			t.Errorf("%q: %q, and its quotes do not match", line, got)
		}
	}
}
