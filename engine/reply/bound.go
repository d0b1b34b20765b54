package reply

import "errors"

// ErrTooLong is what a Writer panics with when a reply that may be given up
// grows beyond its bound.
var ErrTooLong = errors.New("reply: too long")

// bound is the largest size of a buffer.
type bound struct {
	bytesMax int
	// start is where the buffer is cut back to, giveUp whether to panic instead.
	start  int
	giveUp bool
	passed bool
}

// Bound limits the buffer to bytesMax bytes (0: no limit) from here on. A reply
// that would go beyond is given up with a panic of ErrTooLong, or, for a command
// that must run to its end all the same, what it has written since Bound is
// dropped whenever the bound is met: it is of no use then. TooLong tells.
func (w *Writer) Bound(bytesMax int, giveUp bool) {
	w.bound = bound{bytesMax: bytesMax, start: len(w.buf), giveUp: giveUp}
}

// TooLong reports whether a reply went beyond it since Bound.
func (w *Writer) TooLong() bool { return w.bound.passed }

// room is called before n bytes are appended.
func (w *Writer) room(n int) {
	b := &w.bound
	if b.bytesMax == 0 || len(w.buf)+n <= b.bytesMax {
		return
	}
	b.passed = true
	if b.giveUp {
		panic(ErrTooLong)
	}
	w.buf = w.buf[:b.start]
}

// cut notes that the bytes written since Len returned at are gone.
func (w *Writer) cut(at int) bool { return at > len(w.buf) }
