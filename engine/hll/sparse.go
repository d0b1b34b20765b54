package hll

const (
	zerosMax  = 64 // registers of a run of zeros of one byte
	runMax    = 4  // registers of a run of a value
	sparseMax = 32 // greatest value of such a run
)

// run is a run of registers of the same value: its bytes in the text and its
// registers.
type run struct {
	at, size int
	first, n int
	rank     uint8
}

// readRun reads the run at an offset in a sparse text. It returns false if the run is cut short.
func readRun(text []byte, at, first int) (r run, ok bool) {
	r = run{at: at, first: first}
	r.size, r.n = span(text[at:])
	if b := text[at]; b&0x80 != 0 {
		r.rank = b>>2&31 + 1
	}
	return r, r.size != 0
}

func (r run) end() int  { return r.at + r.size }
func (r run) last() int { return r.first + r.n - 1 }

// walk calls visit for the runs of a sparse text in order. It returns an error before a run that
// extends beyond the last register, or if registers are missing.
func walk(text []byte, visit func(first, n int, rank uint8)) error {
	first := 0
	for at := headerBytes; at < len(text); {
		r, ok := readRun(text, at, first)
		if !ok || first+r.n > Registers {
			return ErrCorrupt
		}
		visit(first, r.n, r.rank)
		at, first = r.end(), first+r.n
	}
	if first != Registers {
		return ErrCorrupt
	}
	return nil
}

// appendZeros appends a run of n zeros, 1 to 16384.
func appendZeros(dst []byte, n int) []byte {
	if n > zerosMax {
		return append(dst, 0x40|byte((n-1)>>8), byte(n-1))
	}
	return append(dst, byte(n-1))
}

// appendRun appends a run of n registers, unless n is 0.
func appendRun(dst []byte, n int, rank uint8) []byte {
	switch {
	case n == 0:
		return dst
	case rank == 0:
		return appendZeros(dst, n)
	}
	return append(dst, 0x80|(rank-1)<<2|byte(n-1))
}

// hint is the start of a run, and its first register. A search may begin there.
type hint struct{ at, first int }

// noHint begins at the start of the runs.
var noHint = hint{headerBytes, 0}

// find returns the run that contains a register, and the run before it (of size 0 if there is
// none). next is a run before both, which does not move if they change: a search for a higher
// register may begin there.
func find(text []byte, register int, from hint) (r, before run, next hint, err error) {
	// h0, h1, h are the starts of the last three runs. A negative offset means none.
	h0, h1, h := hint{at: -1}, hint{at: -1}, from
	for h.at < len(text) {
		size, n := span(text[h.at:])
		if size == 0 {
			break
		}
		if register < h.first+n {
			if h1.at < 0 && from != noHint {
				return find(text, register, noHint)
			}
			if h1.at >= 0 {
				before, _ = readRun(text, h1.at, h1.first)
			}
			if h0.at < 0 {
				h0 = from
			}
			r, _ = readRun(text, h.at, h.first)
			return r, before, h0, nil
		}
		h0, h1, h = h1, h, hint{h.at + size, h.first + n}
	}
	return r, before, noHint, ErrCorrupt
}

// span is the number of bytes and of registers of the run at the start of a text. Both are 0 if the
// run is cut short.
func span(text []byte) (size, n int) {
	b := text[0]
	switch {
	case b&0x80 != 0:
		return 1, int(b&3) + 1
	case b&0x40 == 0:
		return 1, int(b&0x3f) + 1
	case len(text) == 1:
		return 0, 0
	}
	return 2, (int(b&0x3f)<<8 | int(text[1])) + 1
}

// sparseSet raises a register of a sparse text. It may change the text and return it longer,
// shorter or dense. It reports whether the register was lower. After an error the text is
// unchanged.
func sparseSet(text []byte, register int, rank uint8, bytesMax int, from hint) (out []byte, raised bool, next hint, err error) {
	if rank > sparseMax {
		out, err = densify(text, register, rank)
		return out, true, noHint, err
	}
	r, before, next, err := find(text, register, from)
	if err != nil || r.rank >= rank {
		return text, false, next, err
	}
	if r.n == 1 && r.size == 1 {
		text[r.at] = appendRun(nil, 1, rank)[0]
	} else {
		var buf [5]byte
		parts := appendRun(buf[:0], register-r.first, r.rank)
		parts = appendRun(parts, 1, rank)
		parts = appendRun(parts, r.last()-register, r.rank)
		longer := len(parts) - r.size
		if longer > 0 && len(text)+longer > bytesMax {
			out, err = densify(text, register, rank)
			return out, true, noHint, err
		}
		text = splice(text, r.at, r.end(), parts)
	}
	begin := headerBytes
	if before.size != 0 {
		begin = before.at
	}
	text = join(text, begin)
	Outdate(text)
	return text, true, next, nil
}

// densify makes a sparse text dense and raises a register.
func densify(text []byte, register int, rank uint8) ([]byte, error) {
	out, err := AppendDense(nil, text)
	if err != nil {
		return text, err
	}
	denseSet(out, register, rank)
	return out, nil
}

// splice replaces the bytes from begin to end by parts.
func splice(text []byte, begin, end int, parts []byte) []byte {
	tail := len(text) - end
	if grow := len(parts) - (end - begin); grow > 0 {
		text = append(text, parts[:grow]...) // the bytes do not matter: they are overwritten
	}
	copy(text[begin+len(parts):], text[end:end+tail])
	copy(text[begin:], parts)
	return text[:begin+len(parts)+tail]
}

// joinSteps is how many runs around a change are compared with their neighbours.
const joinSteps = 5

// join joins neighbours with the same value to one run, from at on, if both together are short
// enough.
func join(text []byte, at int) []byte {
	for step := 0; step < joinSteps && at < len(text); step++ {
		b := text[at]
		switch {
		case b&0x80 == 0 && b&0x40 != 0:
			at += 2
			continue
		case b&0x80 == 0 || at+1 == len(text) || text[at+1]&0x80 == 0:
			at++
			continue
		}
		n := int(b&3) + 1 + int(text[at+1]&3) + 1
		if b>>2 != text[at+1]>>2 || n > runMax {
			at++
			continue
		}
		text[at+1] = b&^3 | byte(n-1)
		text = append(text[:at], text[at+1:]...)
	}
	return text
}
