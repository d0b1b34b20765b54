package resp

import (
	"bytes"
	"strconv"

	"lockstep/ground/words"
)

// framer finds whole commands in the received bytes. It keeps its position within
// an incomplete command, so that each byte is scanned once.
type framer struct {
	authed bool
	// in is the input so far. The current command begins at begin. The input up to parsed
	// is parsed, and up to scanned it was searched for the end of a line.
	in                     []byte
	begin, parsed, scanned int
	// open is true once the current command has begun: its count is known.
	open     bool
	argsLeft int64
	// bulkLeft is how many bytes of the current argument are missing, with its line end; -1
	// if its length was not read yet.
	bulkLeft int64
	// whole is true if the current command is complete, inline if it came as a line with
	// args as its arguments.
	whole, inline bool
	args          [][]byte
}

// next continues after the complete command.
func (f *framer) next() {
	f.whole, f.inline, f.open, f.args = false, false, false, nil
	f.begin, f.scanned = f.parsed, f.parsed
}

// compact moves the rest to the front of the buffer, and drops a large buffer that
// is empty.
func (f *framer) compact() {
	if f.begin > 0 {
		rest := copy(f.in, f.in[f.begin:])
		f.in = f.in[:rest]
		f.parsed -= f.begin
		f.scanned -= f.begin
		f.begin = 0
	}
	if len(f.in) == 0 && cap(f.in) > keptBytes {
		f.in = nil
	}
}

// makeRoom makes room for one read. The buffer doubles when it is full, so it
// follows the amount received. It does not grow beyond the need of the current
// argument, nor beyond the limit, at which the client is known to exceed it.
func (f *framer) makeRoom(queryBytesMax int64) {
	free := cap(f.in) - len(f.in)
	if int64(free) >= f.bulkLeft && f.bulkLeft > 0 || free >= readBytesMin && free >= cap(f.in)/4 {
		return
	}
	size := max(2*cap(f.in), 2*readBytesMin)
	if need := int64(len(f.in)) + f.bulkLeft + readBytesMin; f.bulkLeft > 0 && int64(size) > need {
		size = int(need)
	}
	size = int(min(int64(size), max(queryBytesMax, int64(len(f.in)))+readBytesMin))
	grown := make([]byte, len(f.in), size)
	copy(grown, f.in)
	f.in = grown
}

// parse reads on until a command is complete. It returns false if more bytes are needed. It
// skips empty commands and empty lines, as Redis does.
func (f *framer) parse(bulkBytesMax int64) (bool, error) {
	for !f.open {
		if f.parsed == len(f.in) {
			return false, nil
		}
		step := f.head
		if f.in[f.parsed] != '*' {
			step = f.line
		}
		if ok, err := step(); !ok || err != nil {
			return false, err
		}
		if f.whole {
			return true, nil
		}
	}
	for f.argsLeft > 0 {
		if ok, err := f.argument(bulkBytesMax); !ok || err != nil {
			return false, err
		}
	}
	f.whole = true
	return true, nil
}

// head reads the number of arguments.
func (f *framer) head() (bool, error) {
	n, verdict := f.number(argsMax)
	switch {
	case verdict == lineOpen:
		return false, nil
	case verdict == lineTooLong:
		return false, protocolError("too big mbulk count string")
	case verdict == lineInvalid:
		return false, protocolError("invalid multibulk length")
	case !f.authed && n > unauthArgsMax:
		return false, protocolError("unauthenticated multibulk length")
	case n <= 0:
		f.next()
		return true, nil
	}
	f.open, f.argsLeft, f.bulkLeft = true, n, -1
	return true, nil
}

// argument continues to read one argument. It returns false if more bytes are needed.
func (f *framer) argument(bulkBytesMax int64) (bool, error) {
	if f.bulkLeft < 0 {
		if ok, err := f.bulkHead(bulkBytesMax); !ok || err != nil {
			return false, err
		}
	}
	have := min(f.bulkLeft, int64(len(f.in)-f.parsed))
	f.parsed += int(have)
	f.bulkLeft -= have
	f.scanned = f.parsed
	if f.bulkLeft > 0 {
		return false, nil
	}
	// Redis ignores the two bytes after an argument; redcon checks them.
	f.in[f.parsed-2], f.in[f.parsed-1] = '\r', '\n'
	f.argsLeft--
	f.bulkLeft = -1
	return true, nil
}

// bulkHead reads the length of an argument. Redis waits for the end of the line
// before it complains about the beginning.
func (f *framer) bulkHead(bulkBytesMax int64) (bool, error) {
	if f.parsed == len(f.in) {
		return false, nil
	}
	first := f.in[f.parsed]
	n, verdict := f.number(bulkBytesMax)
	switch {
	case verdict == lineOpen:
		return false, nil
	case verdict == lineTooLong:
		return false, protocolError("too big bulk count string")
	case first != '$':
		return false, protocolError("expected '$', got '%s'", quotedByte(first))
	case verdict == lineInvalid || n < 0:
		return false, protocolError("invalid bulk length")
	case !f.authed && n > unauthBulkMax:
		return false, protocolError("unauthenticated bulk length")
	}
	f.bulkLeft = n + 2
	return true, nil
}

// quotedByte is a byte as it appears in an error: a line end would end the error
// itself.
func quotedByte(c byte) string {
	if c == '\r' || c == '\n' {
		return " "
	}
	return string([]byte{c})
}

// verdict is the result of reading a line.
type verdict uint8

const (
	lineRead verdict = iota
	lineOpen
	lineTooLong
	lineInvalid
)

// number reads the current line: a letter, a decimal number, CR, and a byte that
// Redis ignores.
func (f *framer) number(most int64) (int64, verdict) {
	if n, width := shortNumber(f.in[f.parsed:]); width > 0 && n <= most {
		f.in[f.parsed+width-1] = '\n'
		f.parsed += width
		f.scanned = f.parsed
		return n, lineRead
	}
	from := max(f.scanned, f.parsed)
	end := bytes.IndexByte(f.in[from:], '\r')
	if end < 0 {
		f.scanned = len(f.in)
		if len(f.in)-f.parsed > inlineBytesMax {
			return 0, lineTooLong
		}
		return 0, lineOpen
	}
	end += from
	f.scanned = end
	if end+1 >= len(f.in) {
		return 0, lineOpen
	}
	n, ok := parseNumber(f.in[min(f.parsed+1, end):end])
	if !ok || n > most {
		return 0, lineInvalid
	}
	f.in[end+1] = '\n'
	f.parsed = end + 2
	f.scanned = f.parsed
	return n, lineRead
}

// shortNumber reads a complete line with a letter and a positive number of a few digits, the form
// of almost every line. Width is 0 for any other line.
func shortNumber(line []byte) (n int64, width int) {
	const widthMax = 1 + 8 + 2
	line = line[:min(len(line), widthMax)]
	if len(line) < 2 || line[1] == '0' {
		return 0, 0
	}
	for i := 1; i+1 < len(line); i++ {
		c := line[i] - '0'
		if c > 9 {
			if line[i] == '\r' && i > 1 {
				return n, i + 2
			}
			return 0, 0
		}
		n = n*10 + int64(c)
	}
	return 0, 0
}

// parseNumber accepts the same numbers as Redis's string2ll: no plus sign, no leading zeros, no
// "-0".
func parseNumber(b []byte) (int64, bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || (digits[0] == '0' && len(b) > 1) {
		return 0, false
	}
	n := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) == 19 {
		// It may have overflowed.
		n, err := strconv.ParseInt(string(b), 10, 64)
		return n, err == nil
	}
	if len(digits) != len(b) {
		n = -n
	}
	return n, true
}

// line reads an inline command. If it returns true and no command is complete, the line was
// empty.
func (f *framer) line() (bool, error) {
	from := max(f.scanned, f.parsed)
	end := bytes.IndexByte(f.in[from:], '\n')
	if end < 0 {
		f.scanned = len(f.in)
		if len(f.in)-f.parsed > inlineBytesMax {
			return false, protocolError("too big inline request")
		}
		return false, nil
	}
	end += from
	args, ok := words.Split(bytes.TrimSuffix(f.in[f.parsed:end], []byte{'\r'}))
	if !ok {
		return false, protocolError("unbalanced quotes in request")
	}
	f.parsed = end + 1
	if len(args) == 0 {
		f.next()
		return true, nil
	}
	f.whole, f.inline, f.args = true, true, args
	return true, nil
}
