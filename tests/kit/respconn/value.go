package respconn

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Value is one reply.
type Value struct {
	// Kind is the reply's first byte.
	Kind byte
	// Null marks RESP2's null bulk string and null array, and RESP3's null.
	Null bool
	// Bytes is the text of a reply without elements.
	Bytes []byte
	// Elems are the elements of an array, set or push, and those of a map,
	// each key before its value.
	Elems []Value
	// Raw is the reply's bytes as received.
	Raw []byte
}

// IsError reports whether the value is an error reply.
func (v Value) IsError() bool { return v.Kind == '-' || v.Kind == '!' }

// Text is the reply as text. It returns an error if the reply is an error or has elements.
func (v Value) Text() (string, error) {
	switch {
	case v.IsError():
		return "", fmt.Errorf("error reply: %s", v.Bytes)
	case len(v.Elems) > 0:
		return "", fmt.Errorf("a reply with elements: %q", v.Raw)
	case v.Kind == '=' && len(v.Bytes) >= 4:
		return string(v.Bytes[4:]), nil
	}
	return string(v.Bytes), nil
}

// String is the reply in a readable form from which its bytes follow:
//
//	+OK  -ERR text  :1  "bulk"  (nil)            RESP2
//	*2, %1, ~3, >2 and the elements, indented    arrays; RESP3 maps, sets, pushes
//	(nil array)  (null)                          *-1, and RESP3's null
//	,1.5  #t  (12345  ="txt:..."  !"ERR ..."     RESP3's own
func (v Value) String() string {
	var b strings.Builder
	v.render(&b, "")
	return b.String()
}

func (v Value) render(b *strings.Builder, indent string) {
	b.WriteString(indent)
	switch {
	case v.Kind == '_':
		b.WriteString("(null)")
	case v.Null && v.Kind == '$':
		b.WriteString("(nil)")
	case v.Null:
		b.WriteString("(nil array)")
	case v.Kind == '$':
		b.WriteString(Quote(v.Bytes))
	case v.Kind == '=' || v.Kind == '!':
		b.WriteByte(v.Kind)
		b.WriteString(Quote(v.Bytes))
	case isAggregate(v.Kind):
		n := len(v.Elems)
		if v.Kind == '%' || v.Kind == '|' {
			n /= 2
		}
		fmt.Fprintf(b, "%c%d", v.Kind, n)
		for _, e := range v.Elems {
			b.WriteByte('\n')
			e.render(b, indent+"  ")
		}
	default:
		b.WriteByte(v.Kind)
		for _, c := range v.Bytes {
			writePrintable(b, c)
		}
	}
}

// Quote puts a string into double quotes as redis-cli does.
func Quote(s []byte) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		default:
			writePrintable(&b, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func writePrintable(b *strings.Builder, c byte) {
	if c < ' ' || c > '~' {
		fmt.Fprintf(b, `\x%02x`, c)
	} else {
		b.WriteByte(c)
	}
}

func isAggregate(kind byte) bool { return strings.IndexByte("*%~>|", kind) >= 0 }

// Limits for the numbers in a reply's header.
const (
	bulkBytesMax = 1 << 30
	elemsMax     = 1 << 24
	depthMax     = 256
)

// Parse reads one reply. io.EOF means that the stream ended between replies.
func Parse(in *bufio.Reader) (Value, error) {
	var raw bytes.Buffer
	v, err := parse(in, &raw, 0)
	if err == io.EOF && raw.Len() > 0 {
		err = io.ErrUnexpectedEOF
	}
	v.Raw = raw.Bytes()
	return v, err
}

func parse(in *bufio.Reader, raw *bytes.Buffer, depth int) (Value, error) {
	line, err := readLine(in, raw)
	if err != nil {
		return Value{}, err
	}
	v := Value{Kind: line[0]}
	rest := line[1:]
	switch {
	case strings.IndexByte("+-:,#(", v.Kind) >= 0:
		v.Bytes = rest
		return v, nil
	case v.Kind == '_':
		v.Null = true
		return v, nil
	case strings.IndexByte("$=!", v.Kind) >= 0:
		return parseBulk(in, raw, v, rest)
	case isAggregate(v.Kind):
		return parseElems(in, raw, v, rest, depth)
	}
	return v, protocolError(line)
}

func parseBulk(in *bufio.Reader, raw *bytes.Buffer, v Value, header []byte) (Value, error) {
	n, err := strconv.Atoi(string(header))
	if err != nil || n < -1 || n > bulkBytesMax {
		return v, protocolError(header)
	}
	if n == -1 {
		v.Null = true
		return v, nil
	}
	start := raw.Len()
	if _, err := io.CopyN(raw, in, int64(n)+2); err != nil {
		return v, err
	}
	body := raw.Bytes()[start:]
	if body[n] != '\r' || body[n+1] != '\n' {
		return v, protocolError(body[n:])
	}
	v.Bytes = bytes.Clone(body[:n])
	return v, nil
}

func parseElems(in *bufio.Reader, raw *bytes.Buffer, v Value, header []byte, depth int) (Value, error) {
	n, err := strconv.Atoi(string(header))
	if err != nil || n < -1 || n > elemsMax || depth > depthMax {
		return v, protocolError(header)
	}
	if n == -1 {
		v.Null = true
		return v, nil
	}
	if v.Kind == '%' || v.Kind == '|' {
		n *= 2
	}
	v.Elems = make([]Value, 0, min(n, 1024))
	for range n {
		start := raw.Len()
		e, err := parse(in, raw, depth+1)
		if err != nil {
			return v, err
		}
		e.Raw = bytes.Clone(raw.Bytes()[start:])
		v.Elems = append(v.Elems, e)
	}
	return v, nil
}

// readLine reads up to CRLF and returns the text before it, at least one byte.
func readLine(in *bufio.Reader, raw *bytes.Buffer) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	raw.Write(line)
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return nil, protocolError(line)
	}
	return line[:len(line)-2], nil
}
