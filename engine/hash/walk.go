package hash

import (
	"encoding/binary"
	"iter"

	"lockstep/engine/pack"
)

// All walks over all fields, expired or not, in the order of the hash. The hash must not change
// during the walk.
func (h *Hash) All() iter.Seq[Field] {
	if h.large != nil {
		return func(yield func(Field) bool) {
			for _, record := range h.large.fields.From(0) {
				if !yield(cutField(record)) {
					return
				}
			}
		}
	}
	return h.allSmall
}

func (h *Hash) allSmall(yield func(Field) bool) {
	var f Field
	step := h.step()
	for i, record := range h.small.From(0) {
		switch i % step {
		case 0:
			f = Field{Name: record}
		case 1:
			f.Value = record
		case 2:
			f.ExpireAtMs = readTime(record)
		}
		if i%step == step-1 && !yield(f) {
			return
		}
	}
}

// Live is All for the fields that have not expired at nowMs.
func (h *Hash) Live(nowMs int64) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for f := range h.All() {
			if !f.GoneAt(nowMs) && !yield(f) {
				return
			}
		}
	}
}

// Scan visits fields of a large hash, expired or not, in the order of their hashes, from one hash
// on. It visits at least limit fields if there are that many, and never ends between fields with
// the same hash. It returns the hash to continue from, or 0 at the end.
func (h *Hash) Scan(from uint32, limit int, visit func(Field)) (next uint32) {
	var probe [pack.HashBytes]byte
	binary.BigEndian.PutUint32(probe[:], from)
	fields := h.large.fields
	last := from
	for _, record := range fields.From(fields.Rank(probe[:])) {
		hash := binary.BigEndian.Uint32(record)
		if limit <= 0 && hash != last {
			return hash
		}
		visit(cutField(record))
		limit--
		last = hash
	}
	return 0
}
