package bitmap

import "encoding/binary"

// Op is a way to combine texts.
type Op uint8

// The ways of BITOP.
const (
	And Op = iota
	Or
	Xor
	Not
)

// Combine returns the combination of texts. It is as long as the longest text; shorter texts count
// as filled with zeros. Not takes one text.
func Combine(op Op, texts [][]byte, rest func()) []byte {
	longest := 0
	for _, t := range texts {
		longest = max(longest, len(t))
	}
	out := make([]byte, longest)
	for at := 0; at < longest; at += RestBytes {
		if at > 0 {
			rest()
		}
		end := min(at+RestBytes, longest)
		combineStretch(op, out[at:end], texts, at)
	}
	return out
}

// combineStretch fills out with the combination of the texts from at on.
func combineStretch(op Op, out []byte, texts [][]byte, at int) {
	copy(out, part(texts[0], at, len(out)))
	if op == Not {
		for i := range out {
			out[i] = ^out[i]
		}
		return
	}
	for _, t := range texts[1:] {
		t = part(t, at, len(out))
		with(op, out, t)
		if op == And {
			clear(out[len(t):])
		}
	}
}

// part is at most n bytes of a text from at on.
func part(text []byte, at, n int) []byte {
	if at >= len(text) {
		return nil
	}
	return text[at:min(at+n, len(text))]
}

// with combines the beginning of out with t.
func with(op Op, out, t []byte) {
	for len(t) >= 8 {
		a, b := binary.LittleEndian.Uint64(out), binary.LittleEndian.Uint64(t)
		switch op {
		case And:
			a &= b
		case Or:
			a |= b
		default:
			a ^= b
		}
		binary.LittleEndian.PutUint64(out, a)
		out, t = out[8:], t[8:]
	}
	for i, b := range t {
		switch op {
		case And:
			out[i] &= b
		case Or:
			out[i] |= b
		default:
			out[i] ^= b
		}
	}
}
