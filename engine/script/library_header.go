package script

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"lockstep/ground/words"
)

var errLibraryHeader = errors.New("ERR Invalid library metadata")

// parseLibraryHeader reads a library's first line, `#!lua name=<library>`. The body keeps the end
// of that line, so that line numbers count from the top.
func parseLibraryHeader(source []byte) (name string, body []byte, err error) {
	if !bytes.HasPrefix(source, []byte("#!")) {
		return "", nil, errors.New("ERR Missing library metadata")
	}
	end := bytes.IndexByte(source, '\n')
	if end < 0 {
		return "", nil, errLibraryHeader
	}
	parts, ok := words.Split(source[:end])
	if !ok {
		return "", nil, errLibraryHeader
	}
	named := false
	for _, part := range parts[1:] {
		w := string(part)
		key, value, ok := strings.Cut(w, "=")
		if !ok || !strings.EqualFold(key, "name") {
			return "", nil, fmt.Errorf("ERR Invalid metadata value given: %s", w)
		}
		if named {
			return "", nil, errors.New("ERR Invalid metadata value, name argument was given multiple times")
		}
		name, named = value, true
	}
	switch engine := string(parts[0][len("#!"):]); {
	case !named:
		return "", nil, errors.New("ERR Library name was not given")
	case !nameIsGood(name):
		return "", nil, errors.New("ERR " + textBadName)
	case !strings.EqualFold(engine, "lua"):
		return "", nil, fmt.Errorf("ERR Engine '%s' not found", engine)
	}
	return name, source[end:], nil
}
