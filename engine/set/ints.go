package set

import (
	"encoding/binary"
	"iter"
	"slices"
	"strconv"
	"unsafe"

	"lockstep/engine/decimal"
)

// ints is a sorted array of different numbers, each width bytes long, little-endian. The width
// grows with the numbers that are added and does not shrink.
type ints struct {
	data  []byte
	width int
}

const intsBytes = int(unsafe.Sizeof(ints{}))

// widthOf is the smallest width for n.
func widthOf(n int64) int {
	switch {
	case n == int64(int16(n)):
		return 2
	case n == int64(int32(n)):
		return 4
	}
	return 8
}

func newInts() *ints { return &ints{width: 2} }

// intsOf makes an array of sorted numbers.
func intsOf(sorted []int64) *ints {
	x := newInts()
	if len(sorted) > 0 {
		x.width = max(widthOf(sorted[0]), widthOf(sorted[len(sorted)-1]))
	}
	x.data = make([]byte, 0, len(sorted)*x.width)
	for _, n := range sorted {
		x.data = x.appendNumber(x.data, n)
	}
	return x
}

func (x *ints) clone() *ints { return &ints{slices.Clone(x.data), x.width} }

func (x *ints) memoryBytes() int { return intsBytes + cap(x.data) }

func (x *ints) len() int { return len(x.data) / x.width }

func (x *ints) at(i int) int64 {
	switch b := x.data[i*x.width:]; x.width {
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	default:
		return int64(binary.LittleEndian.Uint64(b))
	}
}

func (x *ints) appendNumber(dst []byte, n int64) []byte {
	switch x.width {
	case 2:
		return binary.LittleEndian.AppendUint16(dst, uint16(n))
	case 4:
		return binary.LittleEndian.AppendUint32(dst, uint32(n))
	default:
		return binary.LittleEndian.AppendUint64(dst, uint64(n))
	}
}

// find returns the place of a number, or the place at which it would be inserted.
func (x *ints) find(n int64) (i int, found bool) {
	low, high := 0, x.len()
	// Most sets grow at the end.
	if high > 0 && x.at(high-1) < n {
		return high, false
	}
	for low < high {
		if mid := int(uint(low+high) / 2); x.at(mid) < n {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < x.len() && x.at(low) == n
}

// insert inserts a number that is not in the set at place i.
func (x *ints) insert(i int, n int64) {
	if width := widthOf(n); width > x.width {
		x.widen(width)
	}
	var number [8]byte
	at := i * x.width
	text := x.appendNumber(number[:0], n)
	if room := len(x.data) + x.width; room > cap(x.data) {
		// Add an eighth, so that most of the memory is used.
		grown := make([]byte, len(x.data), (room+room/8+15)&^15)
		copy(grown, x.data)
		x.data = grown
	}
	x.data = slices.Insert(x.data, at, text...)
}

func (x *ints) widen(width int) {
	wide := &ints{width: width}
	wide.data = make([]byte, 0, (x.len()+1)*width)
	for i := range x.len() {
		wide.data = wide.appendNumber(wide.data, x.at(i))
	}
	*x = *wide
}

func (x *ints) remove(i int) {
	x.data = slices.Delete(x.data, i*x.width, (i+1)*x.width)
	if len(x.data) < cap(x.data)/2 {
		x.data = slices.Clone(x.data)
	}
}

// but walks over the numbers that are not at the given, ascending places.
func (x *ints) but(places []int) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := range x.len() {
			if len(places) > 0 && places[0] == i {
				places = places[1:]
			} else if !yield(x.at(i)) {
				return
			}
		}
	}
}

// longestText is the length of the longest decimal form.
func (x *ints) longestText() int {
	if x.len() == 0 {
		return 0
	}
	var buf [decimal.BytesMax]byte
	first := len(strconv.AppendInt(buf[:0], x.at(0), 10))
	return max(first, len(strconv.AppendInt(buf[:0], x.at(x.len()-1), 10)))
}
