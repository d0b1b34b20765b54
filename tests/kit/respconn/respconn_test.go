package respconn

import (
	"bufio"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func parseAll(text string) ([]Value, error) {
	in := bufio.NewReader(strings.NewReader(text))
	var all []Value
	for {
		v, err := Parse(in)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
}

func TestRepliesKeepTheirBytesAndReadWell(t *testing.T) {
	for raw, want := range map[string]string{
		"+OK\r\n":                              "+OK",
		"-ERR no\r\n":                          "-ERR no",
		":-3\r\n":                              ":-3",
		"$4\r\na\r\n\"\r\n":                    `"a\r\n\""`,
		"$-1\r\n":                              "(nil)",
		"*-1\r\n":                              "(nil array)",
		"_\r\n":                                "(null)",
		"*0\r\n":                               "*0",
		"*2\r\n*1\r\n:1\r\n$1\r\n\x00\r\n":     "*2\n  *1\n    :1\n  \"\\x00\"",
		"%1\r\n+a\r\n#t\r\n":                   "%1\n  +a\n  #t",
		">1\r\n,1.5\r\n":                       ">1\n  ,1.5",
		"=7\r\ntxt:abc\r\n":                    `="txt:abc"`,
		"!5\r\nERR x\r\n":                      `!"ERR x"`,
		"~1\r\n(12345678901234567890\r\n":      "~1\n  (12345678901234567890",
		"*1\r\n$-1\r\n":                        "*1\n  (nil)",
		"*1\r\n$0\r\n\r\n":                     "*1\n  \"\"",
		"%2\r\n:1\r\n:2\r\n:3\r\n%0\r\n":       "%2\n  :1\n  :2\n  :3\n  %0",
		"*1\r\n*-1\r\n":                        "*1\n  (nil array)",
		"*2\r\n_\r\n_\r\n":                     "*2\n  (null)\n  (null)",
		"$3\r\n\\\"\t\r\n":                     `"\\\"\t"`,
		"*1\r\n-EXECABORT x\r\n":               "*1\n  -EXECABORT x",
		"(3492890328409238509324850943850\r\n": "(3492890328409238509324850943850",
	} {
		all, err := parseAll(raw)
		if err != nil || len(all) != 1 {
			t.Errorf("%q: %v, %v", raw, all, err)
			continue
		}
		if got := all[0].String(); got != want || string(all[0].Raw) != raw {
			t.Errorf("%q: %s (raw %q), want %s", raw, got, all[0].Raw, want)
		}
	}
}

func TestBrokenRepliesAreErrors(t *testing.T) {
	for _, raw := range []string{"+OK\n", "\r\n", "x\r\n", "$2\r\nabc\r\n", "$9999999999\r\n", "*-2\r\n", "*1\r\n", "$3\r\nab", "+OK"} {
		if all, err := parseAll(raw); err == nil {
			t.Errorf("%q is taken for %v", raw, all)
		}
	}
}

func TestLinesAreSplitAsRedisCliSplitsThem(t *testing.T) {
	for line, want := range map[string][]string{
		``:                       nil,
		`  SET a  b `:            {"SET", "a", "b"},
		`SET "a b" 'c"d'`:        {"SET", "a b", `c"d`},
		`x "\x00\n\r\t\b\a\\\""`: {"x", "\x00\n\r\t\b\a\\\""},
		`x "\q\xzz"`:             {"x", "qxzz"},
		`x '\'\n'`:               {"x", `'\n`},
		`x ""`:                   {"x", ""},
		`a"b c"`:                 {"ab c"},
	} {
		got, err := Split(line)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`"a`, `'a`, `"a"b`, `'a'"b"`, `"a\`} {
		if got, err := Split(line); !errors.Is(err, ErrQuotes) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}

func TestCommandsAreArraysOfBulkStrings(t *testing.T) {
	if got := string(Command("SET", "k\r\n", "")); got != "*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n" {
		t.Errorf("%q", got)
	}
}
