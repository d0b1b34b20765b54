package command

import (
	"bytes"

	"lockstep/engine/rdb"
)

// Sizes is what is known of values before a call runs.
type Sizes struct {
	// Value is the memory that a key's value takes, in bytes; known is false where
	// that cannot be told at the moment. Nil: it never can.
	Value func(key []byte) (bytes int64, known bool)
	// AllBytes is the memory of all values: none takes more.
	AllBytes int64
	// ValueBytesMax is the greatest length of a string.
	ValueBytesMax int64
}

// least is what a key's value takes at least.
func (s *Sizes) least(key []byte) int64 {
	if s.Value != nil {
		if n, known := s.Value(key); known {
			return n
		}
	}
	return 0
}

// most is what a key's value takes at most.
func (s *Sizes) most(key []byte) int64 {
	if s.Value != nil {
		if n, known := s.Value(key); known {
			return n
		}
	}
	return s.AllBytes
}

// GrowthBytes bounds, about, the memory that a call may need beyond that of its
// arguments: what it fills with zeros, unpacks, or stores of what it reads. What
// a program does, or SORT gets by patterns, cannot be told before.
func (s *Spec) GrowthBytes(args [][]byte, sizes *Sizes) int64 {
	switch {
	case !s.Is(DenyOOM):
		return 0
	case s.Grows != nil:
		return max(s.Grows(args, sizes), 0)
	case len(s.Keys) < 2:
		return 0
	}
	var buf [8]KeyRef
	read, stores := int64(0), false
	for _, k := range s.AppendKeys(buf[:0], args) {
		if k.Flags&KeyRO == 0 {
			stores = true
		} else {
			read += sizes.most(args[k.Pos])
		}
	}
	if !stores {
		return 0
	}
	return read
}

// textGrowth is what a string grows by that is to be end bytes long; a string
// that grows is given room for more.
func textGrowth(key []byte, end int64, sizes *Sizes) int64 {
	const (
		roomBytesMax = 1 << 20
		// entryBytes is more than a string takes beside its text and its key.
		entryBytes = 256
	)
	have := max(sizes.least(key)-int64(len(key))-entryBytes, 0)
	if end <= have || end > sizes.ValueBytesMax {
		return 0
	}
	return end + min(end, roomBytesMax) - have
}

func setRangeGrowth(args [][]byte, sizes *Sizes) int64 {
	at, ok := parseInt(args[2])
	if !ok || at < 0 || at > sizes.ValueBytesMax || len(args[3]) == 0 {
		return 0
	}
	return textGrowth(args[1], at+int64(len(args[3])), sizes)
}

// appendGrowth is the room that APPEND makes for more, which is as much as there
// is already, up to a bound.
func appendGrowth(args [][]byte, sizes *Sizes) int64 {
	const roomBytesMax = 1 << 20
	return min(sizes.most(args[1])+int64(len(args[2])), roomBytesMax)
}

func setBitGrowth(args [][]byte, sizes *Sizes) int64 {
	at, ok := parseInt(args[2])
	if !ok || at < 0 {
		return 0
	}
	return textGrowth(args[1], at>>3+1, sizes)
}

// bitFieldGrowth takes every number in the arguments of a SET or INCRBY for a
// place: whatever is the greatest bounds the end.
func bitFieldGrowth(args [][]byte, sizes *Sizes) int64 {
	const widestBits = 64
	end := int64(0)
	for i := 2; i+3 < len(args); i++ {
		if !equalFold(args[i], "set") && !equalFold(args[i], "incrby") {
			continue
		}
		place, numbered := bytes.CutPrefix(args[i+2], []byte("#"))
		at, ok := parseInt(place)
		if !ok || at < 0 {
			continue
		}
		if numbered {
			width := int64(widestBits)
			if len(args[i+1]) > 1 {
				if n, ok := parseInt(args[i+1][1:]); ok && 0 < n && n < widestBits {
					width = n
				}
			}
			at *= width // what wraps around is refused or near, as the handler has it
		}
		if at >= 0 && at>>3 < sizes.ValueBytesMax {
			end = max(end, (at+widestBits)>>3+1)
		}
	}
	return textGrowth(args[1], min(end, sizes.ValueBytesMax), sizes)
}

// restoreGrowth is what a payload may unpack to.
func restoreGrowth(args [][]byte, _ *Sizes) int64 { return rdb.UnpackedBytes(args[3]) }
