package resp

import (
	"bytes"
	"testing"
)

// If shortNumber accepts a line, then it and parseNumber read the same number. It rejects all other
// lines.
func TestAShortNumberIsWhatANumberIs(t *testing.T) {
	for _, c := range []struct {
		line  string
		short bool
	}{
		{"$3\r\nabc", true}, {"*16\r\n", true}, {"$12345678\r\n", true}, {"$9\rx", true},
		{"$123456789\r\n", false}, {"$0\r\n", false}, {"$07\r\n", false}, {"$-1\r\n", false}, {"$+1\r\n", false}, {"*\r\n", false},
		{"$1", false}, {"$1\r", false}, {"$", false}, {"", false}, {"$1 \r\n", false}, {"$\r1\r\n", false}, {"$a\r\n", false}, {"$1:\r\n", false}, {"$1/\r\n", false},
	} {
		n, width := shortNumber([]byte(c.line))
		if (width > 0) != c.short {
			t.Errorf("%q: width %d", c.line, width)
		}
		if width == 0 {
			continue
		}
		want, ok := parseNumber([]byte(c.line[1:bytes.IndexByte([]byte(c.line), '\r')]))
		if !ok || n != want || c.line[width-2] != '\r' {
			t.Errorf("%q: %d, width %d; want %d", c.line, n, width, want)
		}
	}
}
