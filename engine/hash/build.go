package hash

import (
	"cmp"
	"slices"
)

// NewSmall returns a small hash of fields, which must be different, in their order. If timed is set
// it has room for expiries, and the fields are sorted by their expiries.
func NewSmall(fields []Field, timed bool) *Hash {
	if timed {
		slices.SortStableFunc(fields, func(a, b Field) int { return cmp.Compare(uint64(a.ExpireAtMs)-1, uint64(b.ExpireAtMs)-1) })
	}
	h := &Hash{timed: timed}
	var buf [timeBytes]byte
	for _, f := range fields {
		h.small.Append(f.Name)
		h.small.Append(f.Value)
		if timed {
			h.small.Append(appendTime(buf[:0], f.ExpireAtMs))
		}
	}
	return h
}

// Fit makes a hash large if it has too many fields to be small.
func (h *Hash) Fit(limits Limits) {
	if h.large == nil && int64(h.Len()) > limits.EntriesMax {
		h.enlarge()
	}
}

// FitTexts makes a hash large if it has a text that is too long for a small one.
func (h *Hash) FitTexts(limits Limits) {
	if h.large != nil {
		return
	}
	for f := range h.All() {
		if int64(max(len(f.Name), len(f.Value))) > limits.ValueBytesMax {
			h.enlarge()
			return
		}
	}
}
