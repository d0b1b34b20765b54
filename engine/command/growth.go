package command

// Sizes is the known sizes of values before a call runs.
type Sizes struct {
	// Value is the memory of a key's value, in bytes. known is false if that is not known at the
	// moment. Value is nil if it is never known.
	Value func(key []byte) (bytes int64, known bool)
	// AllBytes is the memory of all values. No value takes more.
	AllBytes int64
	// ValueBytesMax is the greatest length of a string.
	ValueBytesMax int64
}

// least is the least memory that a key's value can take.
func (s *Sizes) least(key []byte) int64 {
	if s.Value != nil {
		if n, known := s.Value(key); known {
			return n
		}
	}
	return 0
}

// Most is the most memory that a key's value can take.
func (s *Sizes) Most(key []byte) int64 {
	if s.Value != nil {
		if n, known := s.Value(key); known {
			return n
		}
	}
	return s.AllBytes
}

// GrowthBytes bounds, approximately, the memory that a call may need in addition to its arguments:
// for zeros that it writes, for data that it unpacks, or for data that it reads and stores. The
// memory of programs, or of the values that SORT gets by patterns, is not known in advance.
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
			read += sizes.Most(args[k.Pos])
		}
	}
	if !stores {
		return 0
	}
	return read
}

// TextGrowth is the growth of a string that will be end bytes long. A string that grows gets spare
// room.
func TextGrowth(key []byte, end int64, sizes *Sizes) int64 {
	const (
		roomBytesMax = 1 << 20
		// entryBytes is more than the memory of a string without its text and its key.
		entryBytes = 256
	)
	have := max(sizes.least(key)-int64(len(key))-entryBytes, 0)
	if end <= have || end > sizes.ValueBytesMax {
		return 0
	}
	return end + min(end, roomBytesMax) - have
}
