package hashcmd

import (
	"math"

	"lockstep/engine/command"
	"lockstep/engine/hash"
)

// hashPicksMax is the most fields, drawn with repetitions, that HRANDFIELD answers. Redis tries to
// answer any number.
const hashPicksMax = 1 << 20

func runHRandField(c *command.Ctx, args [][]byte) {
	if len(args) == 2 {
		randomField(c, args[1])
		return
	}
	count, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	if count == math.MinInt64 {
		c.Out.Error(command.ErrNotInt64)
		return
	}
	withValues := len(args) == 4 && command.EqualFold(args[3], "withvalues")
	if len(args) > 3 && !withValues {
		c.Out.Error(command.ErrSyntax)
		return
	}
	if withValues && (count < -math.MaxInt64/2 || count > math.MaxInt64/2) || count < -hashPicksMax {
		c.Out.Error(command.ErrOutOfRange)
		return
	}
	h, ok := readHash(c, args[1])
	if !ok || !goneSteps(c, h) {
		return
	}
	out := pickWriter{c, withValues}
	n := lenOf(c, h)
	switch {
	case n == 0 || count == 0:
		c.Out.Array(0)
	case count >= int64(n):
		out.header(n)
		eachField(c, h, out.field)
	default:
		randomFields(c, h, n, int(count), &out)
	}
}

func randomField(c *command.Ctx, key []byte) {
	h, ok := readHash(c, key)
	if !ok || !goneSteps(c, h) {
		return
	}
	n := lenOf(c, h)
	if n == 0 {
		c.Out.Null()
		return
	}
	c.Out.Bulk(fieldsByRank(c, h, n)(c.Chance().Below(n)).Name)
}

// randomFields answers count of the n fields, with repetitions if it is
// negative.
func randomFields(c *command.Ctx, h *hash.Hash, n, count int, out *pickWriter) {
	at, chance := fieldsByRank(c, h, n), c.Chance()
	if count < 0 {
		out.header(-count)
		for range -count {
			c.Member()
			out.field(at(chance.Below(n)))
		}
		return
	}
	out.header(count)
	// Robert Floyd's sample: each set of count ranks is as likely as any other.
	drawn := make(map[int]struct{}, count)
	for top := n - count; top < n; top++ {
		c.Member()
		rank := chance.Below(top + 1)
		if _, again := drawn[rank]; again {
			rank = top
		}
		drawn[rank] = struct{}{}
		out.field(at(rank))
	}
}

// fieldsByRank returns a function that returns one of the n fields of a hash by
// its rank.
func fieldsByRank(c *command.Ctx, h *hash.Hash, n int) func(rank int) hash.Field {
	if h.Large() && h.Len() == n {
		return h.At
	}
	fields := make([]hash.Field, 0, n)
	eachField(c, h, func(f hash.Field) { fields = append(fields, f) })
	return func(rank int) hash.Field { return fields[rank] }
}

// goneSteps counts the steps for walking over a hash that has expired fields not removed yet: the
// walk visits them and answers nothing for them. The hash may be nil.
func goneSteps(c *command.Ctx, h *hash.Hash) bool {
	return h == nil || h.Len() == lenOf(c, h) || c.Steps(int64(h.Len())/command.StepKeys)
}

// pickWriter answers fields as HRANDFIELD does.
type pickWriter struct {
	c          *command.Ctx
	withValues bool
}

func (w *pickWriter) header(n int) {
	if w.withValues && w.c.Out.Proto != 3 {
		n *= 2
	}
	w.c.Out.Array(n)
}

func (w *pickWriter) field(f hash.Field) {
	if w.withValues && w.c.Out.Proto == 3 {
		w.c.Out.Array(2)
	}
	w.c.Out.Bulk(f.Name)
	if w.withValues {
		w.c.Out.Bulk(f.Value)
	}
}
