package list

import (
	"math"

	"lockstep/engine/pack"
)

// packedBytesSafe is the length of a listpack beyond which Redis packs no list, whatever the limit
// on elements.
const packedBytesSafe = 8 << 10

// Limit is the limit of a packed list: list-max-listpack-size.
type Limit int64

// bytes and elements are the limits of a listpack. One of them cannot be reached.
func (limit Limit) bytes() int {
	if limit >= 0 {
		return math.MaxInt
	}
	const smallest, largest = 12, 16 // powers of two: 4 KiB, 64 KiB
	return 1 << min(smallest-1-limit, largest)
}

func (limit Limit) elements() int {
	if limit >= 0 {
		return max(int(limit), 1)
	}
	return math.MaxInt
}

// exceededBy reports whether a listpack with so many bytes and elements is too long.
func (limit Limit) exceededBy(listpackBytes, elements int) bool {
	if limit < 0 {
		return listpackBytes > limit.bytes()
	}
	return listpackBytes > packedBytesSafe || elements > limit.elements()
}

// Reserve makes a packed list large if it would be too long with more elements of moreBytes bytes
// in all. As in Redis the bytes are those of the texts alone.
func (l *List) Reserve(limit Limit, moreBytes, more int) {
	if l.Packed() && limit.exceededBy(l.ListpackBytes()+moreBytes, l.Len()+more) {
		l.enlarge()
	}
}

// enlarge converts the list to the large form.
func (l *List) enlarge() {
	t := &pack.Tree{}
	for _, record := range l.small.From(0) {
		t.Append(record)
	}
	l.large, l.small = t, pack.Pack{}
}

// Shrink packs a large list if it has at most half the limit.
func (l *List) Shrink(limit Limit) { l.shrinkTo(limit, 2) }

// Settle packs a large list if it is within the limit, as Redis does with a restored list.
func (l *List) Settle(limit Limit) { l.shrinkTo(limit, 1) }

// shrinkTo packs a large list if it has at most 1/part of the limit.
func (l *List) shrinkTo(limit Limit, part int) {
	bytes, n := limit.bytes()/part, l.Len()
	if limit >= 0 && n > 1 {
		// No node of several elements is longer in Redis.
		bytes = packedBytesSafe
	}
	if l.Packed() || l.ListpackBytes() > bytes || n > limit.elements()/part {
		return
	}
	l.pack()
}

func (l *List) pack() {
	var p pack.Pack
	for _, record := range l.large.From(0) {
		p.Append(record)
	}
	l.small, l.large = p, nil
}

// Pack converts the list to the small form, whatever its length, as a snapshot requires.
func (l *List) Pack() {
	if !l.Packed() {
		l.pack()
	}
}
