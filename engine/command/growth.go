package command

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

// Most is what a key's value takes at most.
func (s *Sizes) Most(key []byte) int64 {
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
			read += sizes.Most(args[k.Pos])
		}
	}
	if !stores {
		return 0
	}
	return read
}

// TextGrowth is what a string grows by that is to be end bytes long; a string
// that grows is given room for more.
func TextGrowth(key []byte, end int64, sizes *Sizes) int64 {
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
