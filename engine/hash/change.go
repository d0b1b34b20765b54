package hash

import (
	"bytes"

	"lockstep/engine/pack"
)

// Reserve makes a hash large if it could not stay small with these fields and values, alternating,
// added to it.
func (h *Hash) Reserve(texts [][]byte, limits Limits) {
	if h.large != nil {
		return
	}
	if int64(len(texts)/2) > limits.EntriesMax {
		h.enlarge()
		return
	}
	sum := h.small.Bytes()
	for _, text := range texts {
		sum += len(text)
		if int64(len(text)) > limits.ValueBytesMax || sum > packBytesMax {
			h.enlarge()
			return
		}
	}
}

// Set gives a field a value and an expiry, and reports whether the field is new. Both texts are
// copied; they must not point into the hash.
func (h *Hash) Set(f Field, limits Limits) (created bool) {
	if h.large == nil && int64(max(len(f.Name), len(f.Value))) > limits.ValueBytesMax {
		h.enlarge()
	}
	if h.large != nil {
		return h.large.set(f)
	}
	created = h.setSmall(f)
	if int64(h.Len()) > limits.EntriesMax {
		h.enlarge()
	}
	return created
}

func (h *Hash) setSmall(f Field) (created bool) {
	if f.ExpireAtMs != 0 {
		h.makeTimed()
	}
	i := h.small.Index(f.Name, 0, h.step())
	switch {
	case i < 0:
		h.insertSmall(f)
		return true
	case !h.timed || h.smallAt(i).ExpireAtMs == f.ExpireAtMs:
		h.small.Replace(i+1, f.Value)
	default:
		h.small.Delete(i, h.step())
		h.insertSmall(f)
	}
	return false
}

// insertSmall adds a field in its place: behind the fields that expire earlier or at the same time.
func (h *Hash) insertSmall(f Field) {
	i := h.small.Len()
	if f.ExpireAtMs != 0 {
		rank := 0
		for other := range h.All() {
			if other.ExpireAtMs == 0 || other.ExpireAtMs > f.ExpireAtMs {
				break
			}
			rank++
		}
		i = rank * h.step()
	}
	h.small.Insert(i, f.Name)
	h.small.Insert(i+1, f.Value)
	if h.timed {
		h.small.Insert(i+2, appendTime(nil, f.ExpireAtMs))
	}
}

// makeTimed gives every field of a small hash a record for its expiry.
func (h *Hash) makeTimed() {
	if h.timed {
		return
	}
	var timed pack.Pack
	for i, record := range h.small.From(0) {
		timed.Append(record)
		if i%2 == 1 {
			timed.Append(nil)
		}
	}
	h.small, h.timed = timed, true
}

// enlarge makes a small hash large.
func (h *Hash) enlarge() {
	n := NewLarge()
	for f := range h.All() {
		n.large.set(f)
	}
	*h = *n
}

func (l *large) set(f Field) (created bool) {
	var buf [2 * frontBytes]byte
	record := appendField(buf[:0], f)
	front := pack.HashBytes + len(f.Name) + lengthBytes(len(f.Name))
	old := l.fields.Get(record[:front])
	if old == nil {
		l.addTime(f)
	} else if was := cutField(old); was.ExpireAtMs != f.ExpireAtMs {
		l.dropTime(was)
		l.addTime(f)
	}
	return !l.fields.Put(record, front)
}

// lengthBytes is the number of bytes of a length in pack.AppendHashed.
func lengthBytes(n int) int {
	width := 1
	for n >>= 7; n > 0; n >>= 7 {
		width++
	}
	return width
}

func (l *large) addTime(f Field) {
	if f.ExpireAtMs != 0 {
		l.times.PutRecord(appendTimed(nil, f))
	}
}

func (l *large) dropTime(f Field) {
	if f.ExpireAtMs != 0 {
		l.times.RemoveRecord(appendTimed(nil, f))
	}
}

// SetExpiry changes the expiry of an existing field, 0 for none.
func (h *Hash) SetExpiry(name []byte, atMs int64) {
	if h.large == nil && atMs != 0 {
		h.makeTimed()
	}
	f, ok := h.Get(name)
	if !ok || f.ExpireAtMs == atMs {
		return
	}
	f = Field{name, bytes.Clone(f.Value), atMs}
	if h.large != nil {
		h.large.set(f)
		return
	}
	h.setSmall(f)
}

// Delete removes a field and reports whether it existed.
func (h *Hash) Delete(name []byte) bool {
	if h.large == nil {
		i := h.small.Index(name, 0, h.step())
		if i >= 0 {
			h.small.Delete(i, h.step())
		}
		return i >= 0
	}
	var buf [frontBytes]byte
	front := pack.AppendHashed(buf[:0], name)
	if record := h.large.fields.Get(front); record != nil {
		h.large.dropTime(cutField(record))
	}
	return h.large.fields.Remove(front)
}
