package list

import (
	"math"

	"lockstep/engine/pack"
)

// packedBytesSafe is the length of a listpack beyond which Redis packs no list,
// whatever number of elements it may have.
const packedBytesSafe = 8 << 10

// Limit is what a packed list may be: list-max-listpack-size.
type Limit int64

// bytes and elements are the limits of a listpack; one of them is out of reach.
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

// exceededBy reports whether a listpack of so many bytes and elements is too
// long.
func (limit Limit) exceededBy(listpackBytes, elements int) bool {
	if limit < 0 {
		return listpackBytes > limit.bytes()
	}
	return listpackBytes > packedBytesSafe || elements > limit.elements()
}

// Reserve makes a packed list large if with so many more elements, of so many
// bytes in all, it would be too long. As in Redis the bytes are those of the
// texts alone.
func (l *List) Reserve(limit Limit, moreBytes, more int) {
	if l.Packed() && limit.exceededBy(l.ListpackBytes()+moreBytes, l.Len()+more) {
		l.enlarge()
	}
}

// enlarge takes the large form.
func (l *List) enlarge() {
	t := &pack.Tree{}
	for _, record := range l.small.From(0) {
		t.Append(record)
	}
	l.large, l.small = t, pack.Pack{}
}

// Shrink packs a large list of at most half the limit.
func (l *List) Shrink(limit Limit) { l.shrinkTo(limit, 2) }

// Settle packs a large list that is within the limit, as Redis does with one
// that was restored.
func (l *List) Settle(limit Limit) { l.shrinkTo(limit, 1) }

// shrinkTo packs a large list of at most a part of the limit.
func (l *List) shrinkTo(limit Limit, part int) {
	bytes, n := limit.bytes()/part, l.Len()
	if limit >= 0 && n > 1 {
		// No node of Redis's with several elements is longer.
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

// Pack takes the small form, whatever the length: as a snapshot says.
func (l *List) Pack() {
	if !l.Packed() {
		l.pack()
	}
}
