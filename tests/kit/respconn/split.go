package respconn

import (
	"errors"
	"strconv"
)

// ErrQuotes means that a line's quotes do not match.
var ErrQuotes = errors.New("unbalanced quotes")

// Split splits a line into arguments as redis-cli does: blanks separate them, "..." allows escapes
// (\n \r \t \b \a \xHH, else the character itself), '...' allows only \', and a closing quote must
// be followed by a blank or the end.
func Split(line string) ([]string, error) {
	var args []string
	for i := 0; ; {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		if i == len(line) {
			return args, nil
		}
		arg, next, err := splitOne(line, i)
		if err != nil {
			return nil, err
		}
		args, i = append(args, arg), next
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// splitOne reads the argument at i and returns where the next may begin.
func splitOne(line string, i int) (string, int, error) {
	var arg []byte
	for i < len(line) && !isBlank(line[i]) {
		quote := line[i]
		if quote != '"' && quote != '\'' {
			arg = append(arg, quote)
			i++
			continue
		}
		i++
		for {
			if i >= len(line) {
				return "", i, ErrQuotes
			}
			if line[i] == quote {
				i++
				break
			}
			c, n := unescape(line[i:], quote)
			arg = append(arg, c)
			i += n
		}
		if i < len(line) && !isBlank(line[i]) {
			return "", i, ErrQuotes
		}
	}
	return string(arg), i, nil
}

// unescape is the first character of s, between quotes, and its length there.
func unescape(s string, quote byte) (byte, int) {
	if s[0] != '\\' || len(s) < 2 {
		return s[0], 1
	}
	if quote == '\'' {
		if s[1] == '\'' {
			return '\'', 2
		}
		return '\\', 1
	}
	if s[1] == 'x' && len(s) >= 4 {
		if n, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
			return byte(n), 4
		}
	}
	switch s[1] {
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'a':
		return '\a', 2
	}
	return s[1], 2
}
