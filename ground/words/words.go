// Package words splits lines into words as Redis does.
package words

import "bytes"

// Split splits a line by the rules of redis-cli, of inline commands, of redis.conf and of the first
// line of a library (sdssplitargs). Blanks separate words. "..." knows the escapes \n \r \t \b \a
// \xHH and \<any>; '...' knows only \'. A zero byte ends the line, as in C. Split returns false if
// a quote is not closed, or is not followed by a blank.
func Split(line []byte) ([][]byte, bool) {
	if end := bytes.IndexByte(line, 0); end >= 0 {
		line = line[:end]
	}
	var args [][]byte
	for i := 0; ; {
		for i < len(line) && blank(line[i]) {
			i++
		}
		if i == len(line) {
			return args, true
		}
		arg, next, ok := oneArg(line, i)
		if !ok {
			return nil, false
		}
		args = append(args, arg)
		i = next
	}
}

func blank(c byte) bool { return c == ' ' || (c >= '\t' && c <= '\r') }

func oneArg(line []byte, i int) (arg []byte, next int, ok bool) {
	arg = []byte{}
	for i < len(line) && !blank(line[i]) {
		switch line[i] {
		case '"', '\'':
			arg, i, ok = quoted(arg, line, i+1, line[i])
			return arg, i, ok
		default:
			arg = append(arg, line[i])
			i++
		}
	}
	return arg, i, true
}

func quoted(arg, line []byte, i int, quote byte) ([]byte, int, bool) {
	for i < len(line) {
		c := line[i]
		switch {
		case c == quote:
			if i+1 < len(line) && !blank(line[i+1]) {
				return nil, 0, false
			}
			return arg, i + 1, true
		case quote == '"' && c == '\\' && i+3 < len(line) && line[i+1] == 'x' && hexDigit(line[i+2]) >= 0 && hexDigit(line[i+3]) >= 0:
			arg = append(arg, byte(hexDigit(line[i+2])<<4|hexDigit(line[i+3])))
			i += 4
		case quote == '"' && c == '\\' && i+1 < len(line):
			arg = append(arg, escape(line[i+1]))
			i += 2
		case quote == '\'' && c == '\\' && i+1 < len(line) && line[i+1] == '\'':
			arg = append(arg, '\'')
			i += 2
		default:
			arg = append(arg, c)
			i++
		}
	}
	return nil, 0, false
}

func escape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
