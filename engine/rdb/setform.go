package rdb

import (
	"encoding/binary"
)

// A set that Redis 7.2 would keep as a listpack is written as TypeSet. Redis 7.0 reads that too,
// and treats it like other sets, because it decides by the size. To restore the form, the set's
// length is written in the longest form that there is. Redis reads lengths in every form, and
// writes the shortest.

// LongLength writes a length in eight bytes, whatever its value.
func (v *Value) LongLength(n uint64) {
	v.buf = binary.BigEndian.AppendUint64(append(v.buf, length64), n)
}

// LengthForm reads a length and reports whether it was written by LongLength.
func (s *Source) LengthForm() (n uint64, long bool, err error) {
	if err := s.more(1); err != nil {
		return 0, false, err
	}
	first := s.buf[s.at]
	n, err = s.Length()
	return n, first == length64 && n>>32 == 0, err
}
