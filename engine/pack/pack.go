package pack

import (
	"bytes"
	"encoding/binary"
)

// Pack is a flat run of records. The zero Pack is empty. A copy of the struct
// shares the memory: use Clone.
type Pack struct {
	data []byte
	n    int
}

// Len is the number of records.
func (p *Pack) Len() int { return p.n }

// Bytes is the number of bytes of the records and their lengths.
func (p *Pack) Bytes() int { return len(p.data) }

// MemoryBytes is the allocated memory, without the struct itself.
func (p *Pack) MemoryBytes() int { return cap(p.data) }

// Clone returns a copy that shares nothing.
func (p *Pack) Clone() Pack { return Pack{append([]byte(nil), p.data...), p.n} }

// At returns record i, 0 being the first.
func (p *Pack) At(i int) []byte {
	record, _ := next(p.data, seek(p.data, i))
	return record
}

// Insert adds a record as record i, and moves the records behind it.
func (p *Pack) Insert(i int, record []byte) {
	p.data = splice(p.data, p.offset(i), 0, record)
	p.n++
}

// Append adds a record at the end.
func (p *Pack) Append(record []byte) { p.Insert(p.n, record) }

// Replace gives record i other bytes.
func (p *Pack) Replace(i int, record []byte) {
	at := p.offset(i)
	_, end := next(p.data, at)
	p.data = splice(p.data, at, end-at, record)
}

// Delete removes count records from record i on.
func (p *Pack) Delete(i, count int) {
	at := p.offset(i)
	end := at + seek(p.data[at:], count)
	if i+count == p.n {
		end = len(p.data)
	}
	p.data = cut(p.data, at, end)
	p.n -= count
}

// Index returns the place of the first record that equals the bytes, among record i and every
// step-th record after it, or -1.
func (p *Pack) Index(record []byte, i, step int) int {
	at := p.offset(i)
	for ; i < p.n; i++ {
		found, end := next(p.data, at)
		if i%step == 0 && bytes.Equal(found, record) {
			return i
		}
		at = end
	}
	return -1
}

// Rank is the number of records before the bytes, in a pack in byte order.
func (p *Pack) Rank(probe []byte) int {
	rank, _ := rankIn(p.data, p.n, probe)
	return rank
}

func (p *Pack) offset(i int) int {
	if i == p.n {
		return len(p.data)
	}
	return seek(p.data, i)
}

// next returns the record at an offset and the offset behind it.
func next(data []byte, at int) (record []byte, end int) {
	// Nearly all records are short.
	if n := int(data[at]); n < 0x80 {
		at++
		return data[at : at+n : at+n], at + n
	}
	n, width := binary.Uvarint(data[at:])
	at += width
	end = at + int(n)
	return data[at:end:end], end
}

// seek is the offset of record i.
func seek(data []byte, i int) int {
	at := 0
	for ; i > 0; i-- {
		if n := int(data[at]); n < 0x80 {
			at += 1 + n
			continue
		}
		n, width := binary.Uvarint(data[at:])
		at += width + int(n)
	}
	return at
}

// rankIn is the number of the n records, in byte order, that are before the probe, and the offset
// of the first record that is not.
func rankIn(data []byte, n int, probe []byte) (rank, at int) {
	want := front(probe)
	for ; rank < n; rank++ {
		// Most records differ in their first bytes. Calling a comparison takes longer.
		if l := int(data[at]); l >= 8 && l < 0x80 {
			have := binary.BigEndian.Uint64(data[at+1:])
			if have < want {
				at += 1 + l
				continue
			}
			if have > want {
				break
			}
		}
		record, end := next(data, at)
		if bytes.Compare(record, probe) >= 0 {
			break
		}
		at = end
	}
	return rank, at
}

func recordBytes(record []byte) int {
	n := 1 + len(record)
	for length := len(record) >> 7; length > 0; length >>= 7 {
		n++
	}
	return n
}

// splice replaces old bytes at an offset by a record.
func splice(data []byte, at, old int, record []byte) []byte {
	width := recordBytes(record)
	length := len(data) + width - old
	if length > cap(data) {
		grown := make([]byte, length, capacity(length))
		copy(grown, data[:at])
		copy(grown[at+width:], data[at+old:])
		data = grown
	} else {
		tail := data[at+old:]
		data = data[:max(length, len(data))]
		copy(data[at+width:], tail)
		data = data[:length]
	}
	lengthBytes := binary.PutUvarint(data[at:], uint64(len(record)))
	copy(data[at+lengthBytes:], record)
	return data
}

// cut removes bytes, and releases memory if much of it is unused.
func cut(data []byte, at, end int) []byte {
	data = append(data[:at], data[end:]...)
	if cap(data) > 2*capacity(len(data)) {
		return append(make([]byte, 0, capacity(len(data))), data...)
	}
	return data
}

// capacity is how much memory a pack of a length gets: an eighth more, so that most of the memory
// is used.
func capacity(length int) int { return (length + length/8 + 16) &^ 15 }
