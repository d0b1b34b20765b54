package hash

import (
	"bytes"
	"encoding/binary"

	"lockstep/engine/pack"
)

// FirstExpiryMs implements engine.Perishable.
func (h *Hash) FirstExpiryMs() int64 {
	switch {
	case h.large != nil:
		if h.large.times.Len() > 0 {
			return timeOf(h.large.times.At(0))
		}
	case h.timed && h.small.Len() > 0:
		return readTime(h.small.At(2))
	}
	return 0
}

// LastExpiryMs implements engine.Perishable.
func (h *Hash) LastExpiryMs() int64 {
	n := h.Len()
	switch {
	case n == 0:
	case h.large != nil:
		if h.large.times.Len() == n {
			return timeOf(h.large.times.At(n - 1))
		}
	case h.timed:
		// Fields without an expiry are behind the others.
		return readTime(h.small.At(h.small.Len() - 1))
	}
	return 0
}

// LenAt is the number of fields that have not expired at nowMs.
func (h *Hash) LenAt(nowMs int64) int { return h.Len() - h.gone(nowMs) }

// gone counts the fields that have expired.
func (h *Hash) gone(nowMs int64) int {
	if first := h.FirstExpiryMs(); first == 0 || first > nowMs {
		return 0
	}
	if h.large != nil {
		return h.large.times.Rank(appendTime(nil, nowMs+1))
	}
	n := 0
	for f := range h.All() {
		if !f.GoneAt(nowMs) {
			break
		}
		n++
	}
	return n
}

// Purge removes up to limit fields that have expired at nowMs, and returns how many.
func (h *Hash) Purge(nowMs int64, limit int) int {
	n := min(h.gone(nowMs), limit)
	switch {
	case n == 0:
	case h.large == nil:
		h.small.Delete(0, n*h.step())
	default:
		h.large.purge(n)
	}
	return n
}

// purge removes the n fields that expire first.
func (l *large) purge(n int) {
	// Filling a new tree in order is much faster than finding its records one by one.
	const fewOf = 8
	if n > l.fields.Len()/fewOf {
		l.sweep(n)
		return
	}
	var front []byte
	for i, record := range l.times.From(0) {
		if i == n {
			break
		}
		front = pack.AppendHashed(front[:0], record[timeBytes:])
		l.fields.Remove(front)
	}
	l.times.Delete(0, n)
}

// sweep is purge by making a new tree of fields.
func (l *large) sweep(n int) {
	last := bytes.Clone(l.times.At(n - 1))
	kept := &pack.Tree{}
	var buf []byte
	for _, record := range l.fields.From(0) {
		f := cutField(record)
		if f.ExpireAtMs != 0 {
			buf = appendTimed(buf[:0], f)
			if bytes.Compare(buf, last) <= 0 {
				continue
			}
		}
		kept.Append(record)
	}
	l.fields = kept
	l.times.Delete(0, n)
}

const timeBytes = 8

// appendTimed appends a record of the tree of times.
func appendTimed(dst []byte, f Field) []byte {
	return append(appendTime(dst, f.ExpireAtMs), f.Name...)
}

func timeOf(record []byte) int64 { return int64(binary.BigEndian.Uint64(record)) }
