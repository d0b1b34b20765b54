package resp

import (
	"bytes"
	"strconv"
)

// Skip returns the length of the first reply in b, which must be whole and well
// formed, as this server's own replies are.
func Skip(b []byte) int {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return len(b)
	}
	size := end + 1
	switch b[0] {
	case '$', '=', '!':
		if n, _ := strconv.Atoi(string(b[1 : end-1])); n >= 0 {
			size += n + 2
		}
	case '*', '~', '>':
		return skipMany(b, size, 1)
	case '%':
		return skipMany(b, size, 2)
	}
	return min(size, len(b))
}

func skipMany(b []byte, at, each int) int {
	n, _ := strconv.Atoi(string(b[1 : at-2]))
	for range n * each {
		at += Skip(b[at:])
	}
	return at
}
