package hash

import (
	"cmp"
	"slices"
)

// NewSmall returns a small hash of fields, which are different, in their order, with
// room for expiries if it is timed; then they are put in the order of those.
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

// Fit makes a hash large that has too many fields to be small.
func (h *Hash) Fit(limits Limits) {
	if h.large == nil && int64(h.Len()) > limits.EntriesMax {
		h.enlarge()
	}
}

// FitTexts makes a hash large that has too long a text to be small.
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
