package config

import (
	"errors"
	"strings"
)

var errQuotes = errors.New("unbalanced quotes")

// splitLine parts a line into words by the rules of redis.conf (sdssplitargs):
// blanks part words; "..." may hold \n \r \t \b \a \xHH and \ before any other
// byte; '...' may hold \' alone; a closing quote ends its word.
func splitLine(line string) ([]string, error) {
	var words []string
	for i := 0; ; {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		if i == len(line) {
			return words, nil
		}
		word, end, err := readWord(line, i)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		i = end
	}
}

// readWord reads the word that begins at i and returns where it ends. Quotes
// may begin in the middle of a word, as in Redis.
func readWord(line string, i int) (word string, end int, err error) {
	var b strings.Builder
	for i < len(line) && !isBlank(line[i]) {
		switch c := line[i]; c {
		case '"', '\'':
			i, err = readQuoted(&b, line, i+1, c)
			if err != nil || i < len(line) && !isBlank(line[i]) {
				return "", 0, errQuotes
			}
			return b.String(), i, nil
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), i, nil
}

// readQuoted reads up to the closing quote and returns the place after it.
func readQuoted(b *strings.Builder, line string, i int, quote byte) (int, error) {
	for i < len(line) {
		c := line[i]
		switch {
		case c == quote:
			return i + 1, nil
		case c == '\\' && quote == '"' && isHexEscape(line[i:]):
			b.WriteByte(hexDigit(line[i+2])<<4 | hexDigit(line[i+3]))
			i += 4
		case c == '\\' && quote == '"' && i+1 < len(line):
			b.WriteByte(unescape(line[i+1]))
			i += 2
		case c == '\\' && quote == '\'' && strings.HasPrefix(line[i:], `\'`):
			b.WriteByte('\'')
			i += 2
		default:
			b.WriteByte(c)
			i++
		}
	}
	return 0, errQuotes
}

func unescape(c byte) byte {
	if i := strings.IndexByte("nrtba", c); i >= 0 {
		return "\n\r\t\b\a"[i]
	}
	return c
}

func isHexEscape(s string) bool {
	return len(s) >= 4 && s[1] == 'x' && isHex(s[2]) && isHex(s[3])
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func hexDigit(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	default:
		return c - 'a' + 10
	}
}

func isBlank(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r' || c == 0
}
