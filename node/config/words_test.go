package config

import (
	"errors"
	"slices"
	"testing"
)

func TestLinesArePartedAsRedisDoes(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"", nil},
		{" \t ", nil},
		{"port 6379", []string{"port", "6379"}},
		{"save\t900   1", []string{"save", "900", "1"}},
		{`requirepass "a b"`, []string{"requirepass", "a b"}},
		{`requirepass ""`, []string{"requirepass", ""}},
		{`x "\x41\x4a\n\r\t\b\a\"\\\q"`, []string{"x", "AJ\n\r\t\b\a\"\\q"}},
		{`x "\xzz"`, []string{"x", "xzz"}},
		{`x 'it\'s \n'`, []string{"x", `it's \n`}},
		{`x ab"cd"`, []string{"x", "abcd"}},
		{"x # no comment here", []string{"x", "#", "no", "comment", "here"}},
	} {
		got, err := splitLine(c.line)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v; want %q", c.line, got, err, c.want)
		}
	}
	for _, line := range []string{`x "a`, `x 'a`, `x "a"b`, `x 'a'b`, `x "a\"`, `x "a\`} {
		if got, err := splitLine(line); !errors.Is(err, errQuotes) {
			t.Errorf("%q: %q, %v; want unbalanced quotes", line, got, err)
		}
	}
}

func FuzzSplitLine(f *testing.F) {
	f.Add(`a "b\x41" 'c'`)
	f.Add(`\`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := splitLine(line)
		if err != nil {
			return
		}
		total := 0
		for _, w := range words {
			total += len(w)
		}
		if total > len(line) {
			t.Fatalf("%q grew to %q", line, words)
		}
	})
}
