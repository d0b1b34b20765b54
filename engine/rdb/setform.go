package rdb

import (
	"encoding/binary"
)

// A set that Redis 7.2 would keep as a listpack is written as TypeSet, which
// Redis 7.0 reads too and does not make a difference from other sets: it goes
// by the size. To find it again as it was, its length is written in the longest
// form there is. Redis reads lengths of every form, and writes the shortest.

// LongLength writes a length in eight bytes, whatever it is.
func (v *Value) LongLength(n uint64) {
	v.buf = binary.BigEndian.AppendUint64(append(v.buf, length64), n)
}

// LengthForm reads a length and tells whether it was written by LongLength.
func (s *Source) LengthForm() (n uint64, long bool, err error) {
	if err := s.more(1); err != nil {
		return 0, false, err
	}
	first := s.buf[s.at]
	n, err = s.Length()
	return n, first == length64 && n>>32 == 0, err
}
