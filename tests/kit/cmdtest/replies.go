package cmdtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// ParseReply converts a RESP2 reply to Go values.
func ParseReply(t testing.TB, raw []byte) any {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(raw))
	var parse func() any
	parse = func() any {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("reply %q: %v", raw, err)
		}
		body := strings.TrimSpace(line[1:])
		n := 0
		fmt.Sscan(body, &n)
		switch line[0] {
		case '$':
			if n < 0 {
				return nil
			}
			text := make([]byte, n+2)
			io.ReadFull(in, text)
			return string(text[:n])
		case '*':
			if n < 0 {
				return nil
			}
			list := make([]any, n)
			for i := range list {
				list[i] = parse()
			}
			return list
		case ':':
			return n
		}
		return body
	}
	return parse()
}

// Bulk extracts a bulk string from its reply.
func Bulk(t *testing.T, raw []byte) []byte {
	t.Helper()
	i := bytes.Index(raw, []byte("\r\n"))
	if i < 0 || raw[0] != '$' {
		t.Fatalf("%q is no bulk string", raw)
	}
	return raw[i+2 : len(raw)-2]
}

// ReadAll removes one reply from raw and returns the rest.
func ReadAll(t *testing.T, raw []byte) []byte {
	in := bufio.NewReader(bytes.NewReader(raw))
	if _, err := readReply(nil, in); err != nil {
		t.Fatalf("no whole reply in %q: %v", raw, err)
	}
	rest, _ := io.ReadAll(in)
	return rest
}
