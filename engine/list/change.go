package list

import (
	"slices"

	"lockstep/engine/pack"
)

// Insert adds an element as element i, and moves the elements behind it. The text is copied.
func (l *List) Insert(i int, text []byte) {
	var buf Buffer
	record := buf.record(text)
	l.elementBytes += listpackBytes(text)
	if l.large != nil {
		l.large.Insert(i, record)
	} else {
		l.small.Insert(i, record)
	}
}

// PushFront adds an element at the beginning.
func (l *List) PushFront(text []byte) { l.Insert(0, text) }

// PushBack adds an element at the end.
func (l *List) PushBack(text []byte) { l.Insert(l.Len(), text) }

// Set gives element i another text, which is copied.
func (l *List) Set(i int, text []byte) {
	l.elementBytes += listpackBytes(text) - recordListpackBytes(l.record(i))
	var buf Buffer
	record := buf.record(text)
	if l.large != nil {
		l.large.Replace(i, record)
	} else {
		l.small.Replace(i, record)
	}
}

// Delete removes count elements from element i on.
func (l *List) Delete(i, count int) {
	if count == 0 {
		return
	}
	// Measure the elements that are removed, or those that stay, whichever are fewer.
	switch n := l.Len(); {
	case count == 1:
		l.elementBytes -= recordListpackBytes(l.record(i))
	case count <= n/2:
		l.elementBytes -= l.measure(i, i+count)
	default:
		l.elementBytes = l.measure(0, i) + l.measure(i+count, n)
	}
	if l.large != nil {
		l.large.Delete(i, count)
	} else {
		l.small.Delete(i, count)
	}
}

// measure is the length in a listpack of the elements from i up to end.
func (l *List) measure(i, end int) (sum int) {
	if i >= end {
		return 0
	}
	for at, record := range l.recordsFrom(i) {
		if at == end {
			break
		}
		sum += recordListpackBytes(record)
	}
	return sum
}

// Trim keeps count elements from element i on.
func (l *List) Trim(i, count int) {
	l.Delete(i+count, l.Len()-i-count)
	l.Delete(0, i)
}

// Remove removes the first max elements that equal a text or, if backward is set, the last ones. It
// returns how many it removed. It calls each for every element that it looks at, and for every one
// that it keeps or removes individually.
func (l *List) Remove(text []byte, max int, backward bool, each func()) int {
	var found []run
	removed := 0
	for i := range l.Matches(text, backward, l.Len(), each) {
		removed++
		if n := len(found); n > 0 && found[n-1].joins(i) {
			found[n-1].add(i)
		} else {
			found = append(found, run{i, 1})
		}
		if removed == max {
			break
		}
	}
	if backward {
		slices.Reverse(found)
	}
	if len(found) > l.Len()/16 {
		l.keepAllBut(found, each)
		return removed
	}
	// Go from the end, so that the places before stay valid.
	for _, r := range slices.Backward(found) {
		each()
		l.Delete(r.first, r.count)
	}
	return removed
}

// keepAllBut makes a new list without some runs, which are in order. For many runs that takes less
// time than removing one after the other.
func (l *List) keepAllBut(gone []run, each func()) {
	kept := List{}
	if !l.Packed() {
		kept.large = &pack.Tree{}
	}
	for i, record := range l.recordsFrom(0) {
		for len(gone) > 0 && i >= gone[0].first+gone[0].count {
			gone = gone[1:]
		}
		if len(gone) > 0 && i >= gone[0].first {
			continue
		}
		each()
		kept.elementBytes += recordListpackBytes(record)
		if kept.large != nil {
			kept.large.Append(record)
		} else {
			kept.small.Append(record)
		}
	}
	*l = kept
}

// run is a run of consecutive places.
type run struct{ first, count int }

func (r *run) joins(i int) bool { return i == r.first+r.count || i == r.first-1 }

func (r *run) add(i int) {
	r.first = min(r.first, i)
	r.count++
}
