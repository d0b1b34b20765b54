package reply

import "errors"

// ErrTooLong is the value with which a Writer panics if a reply that may be aborted exceeds its
// bound.
var ErrTooLong = errors.New("reply: too long")

// bound is the largest size of a buffer.
type bound struct {
	bytesMax int
	// start is where the buffer is cut back to. If giveUp is set the Writer panics instead.
	start  int
	giveUp bool
	passed bool
}

// Bound limits the buffer to bytesMax bytes (0 for no limit) from here on. If giveUp is set, a
// reply that exceeds the limit panics with ErrTooLong. A command that must run to its end uses it
// without giveUp: each time the limit is exceeded, everything that was written since Bound is
// dropped, because it is useless then. TooLong reports that.
func (w *Writer) Bound(bytesMax int, giveUp bool) {
	w.bound = bound{bytesMax: bytesMax, start: len(w.buf), giveUp: giveUp}
}

// TooLong reports whether a reply has exceeded the limit since Bound.
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

// cut reports whether the bytes that were written since Len returned at are gone.
func (w *Writer) cut(at int) bool { return at > len(w.buf) }
