package list

import (
	"bytes"
	"iter"
)

// Matches walks over the places of the elements that equal a text, from the beginning or, if
// backward is set, from the end. It looks at no more than most elements, and calls each for every
// one.
func (l *List) Matches(text []byte, backward bool, most int, each func()) iter.Seq[int] {
	return func(yield func(int) bool) {
		var buf Buffer
		want := buf.record(text)
		records := l.recordsFrom(0)
		if backward {
			records = l.recordsBackward(l.Len() - 1)
		}
		for i, record := range records {
			if most--; most < 0 {
				return
			}
			each()
			if bytes.Equal(record, want) && !yield(i) {
				return
			}
		}
	}
}

// Index is the place of the first element that equals a text, or -1. It calls each for every
// element that it looks at.
func (l *List) Index(text []byte, each func()) int {
	for i := range l.Matches(text, false, l.Len(), each) {
		return i
	}
	return -1
}
