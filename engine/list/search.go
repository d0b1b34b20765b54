package list

import (
	"bytes"
	"iter"
)

// Matches walks over the places of the elements that equal a text, from the
// beginning, or if backward is set from the end. It looks at no more than most
// elements.
func (l *List) Matches(text []byte, backward bool, most int) iter.Seq[int] {
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
			if bytes.Equal(record, want) && !yield(i) {
				return
			}
		}
	}
}

// Index is the place of the first element that equals a text, -1 if there is
// none.
func (l *List) Index(text []byte) int {
	for i := range l.Matches(text, false, l.Len()) {
		return i
	}
	return -1
}
