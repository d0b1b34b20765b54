package script

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

var errLibraryHeader = errors.New("ERR Invalid library metadata")

// parseLibraryHeader reads a library's first line, `#!lua name=<library>`. The
// body keeps its line end, so that lines count from the top.
func parseLibraryHeader(source []byte) (name string, body []byte, err error) {
	if !bytes.HasPrefix(source, []byte("#!")) {
		return "", nil, errors.New("ERR Missing library metadata")
	}
	end := bytes.IndexByte(source, '\n')
	if end < 0 {
		return "", nil, errLibraryHeader
	}
	words, ok := splitWords(string(source[:end]))
	if !ok {
		return "", nil, errLibraryHeader
	}
	named := false
	for _, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok || !strings.EqualFold(key, "name") {
			return "", nil, fmt.Errorf("ERR Invalid metadata value given: %s", w)
		}
		if named {
			return "", nil, errors.New("ERR Invalid metadata value, name argument was given multiple times")
		}
		name, named = value, true
	}
	switch engine := words[0][len("#!"):]; {
	case !named:
		return "", nil, errors.New("ERR Library name was not given")
	case !nameIsGood(name):
		return "", nil, errors.New("ERR " + textBadName)
	case !strings.EqualFold(engine, "lua"):
		return "", nil, fmt.Errorf("ERR Engine '%s' not found", engine)
	}
	return name, source[end:], nil
}

// splitWords splits a line as Redis splits one: at white space, apart from what
// stands in quotes; a closing quote ends the word. false: a quote is missing or
// has something behind it.
func splitWords(line string) (words []string, ok bool) {
	for at := 0; ; {
		for at < len(line) && isSpace(line[at]) {
			at++
		}
		if at == len(line) {
			return words, true
		}
		var word []byte
		for at < len(line) && !isSpace(line[at]) && line[at] != 0 {
			c := line[at]
			if c != '"' && c != '\'' {
				word = append(word, c)
				at++
				continue
			}
			var text []byte
			text, at, ok = unquote(line, at)
			if !ok || at < len(line) && !isSpace(line[at]) {
				return nil, false
			}
			word = append(word, text...)
		}
		words = append(words, string(word))
		if at < len(line) && line[at] == 0 {
			return words, true
		}
	}
}

// unquote reads what stands in quotes from at on, and where it ends.
func unquote(line string, at int) (text []byte, end int, ok bool) {
	quote := line[at]
	for at++; at < len(line); at++ {
		c := line[at]
		switch {
		case c == quote:
			return text, at + 1, true
		case c != '\\' || at+1 == len(line):
			text = append(text, c)
		case quote == '\'':
			if line[at+1] == '\'' {
				at++
			}
			text = append(text, line[at])
		default:
			var n int
			c, n = escaped(line[at+1:])
			text = append(text, c)
			at += n
		}
	}
	return nil, 0, false
}

// escaped is the character that stands behind a backslash, and its length.
func escaped(s string) (c byte, n int) {
	if s[0] == 'x' && len(s) >= 3 && digit(s[1]) < 16 && digit(s[2]) < 16 {
		return byte(digit(s[1])<<4 | digit(s[2])), 3
	}
	if i := strings.IndexByte("nrtba", s[0]); i >= 0 {
		return "\n\r\t\b\a"[i], 1
	}
	return s[0], 1
}
