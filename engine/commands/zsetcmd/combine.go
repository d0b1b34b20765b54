package zsetcmd

import (
	"bytes"
	"iter"
	"math"
	"slices"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/zset"
)

// memberSource is a plain set. Its members may be combined with those of sorted sets; each has the
// score 1.
type memberSource interface {
	Len() int
	Has(member []byte) bool
	// All walks over the members, in an order that is a function of the set. Each member is valid
	// until the next.
	All() iter.Seq[[]byte]
}

// combineSource is one of the sets to combine: a sorted one, a plain one, or neither if the key
// does not exist.
type combineSource struct {
	sorted *zset.Set
	plain  memberSource
	weight float64
}

func (s *combineSource) len() int {
	switch {
	case s.sorted != nil:
		return s.sorted.Len()
	case s.plain != nil:
		return s.plain.Len()
	}
	return 0
}

func (s *combineSource) score(member []byte) (float64, bool) {
	switch {
	case s.sorted != nil:
		return s.sorted.Score(member)
	case s.plain != nil:
		return 1, s.plain.Has(member)
	}
	return 0, false
}

func (s *combineSource) entries(yield func(zset.Entry) bool) {
	if s.sorted != nil {
		for _, e := range s.sorted.From(0) {
			if !yield(e) {
				return
			}
		}
	} else if s.plain != nil {
		for member := range s.plain.All() {
			if !yield(zset.Entry{Member: bytes.Clone(member), Score: 1}) {
				return
			}
		}
	}
}

// aggregate is how the scores of one member in several sets are combined.
type aggregate uint8

const (
	aggregateSum aggregate = iota
	aggregateMin
	aggregateMax
)

func (a aggregate) of(x, y float64) float64 {
	switch {
	case a == aggregateMin && y < x, a == aggregateMax && y > x:
		return y
	case a != aggregateSum:
		return x
	}
	return noNaN(x + y)
}

// noNaN returns the number, or 0 if infinities have made it NaN.
func noNaN(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return f
}

// combineKind is how the sets are combined.
type combineKind uint8

const (
	combineUnion combineKind = iota
	combineInter
	combineDiff
	combineCount
)

// combineQuery is a query of ZUNION and its relatives.
type combineQuery struct {
	kind       combineKind
	sources    []combineSource
	aggregate  aggregate
	withScores bool
	limit      int64 // of combineCount; 0 for no limit
}

// parse reads the arguments from the number of keys on. It answers the error itself.
func (q *combineQuery) parse(c *command.Ctx, called string, args [][]byte, store bool) bool {
	n, ok := c.IntArg(args[0])
	switch {
	case !ok:
		return false
	case n < 1:
		c.Out.Error(errNoInputKey(called))
		return false
	case n > int64(len(args)-1):
		c.Out.Error(command.ErrSyntax)
		return false
	}
	for _, key := range args[1 : 1+n] {
		source, ok := readSource(c, key)
		if !ok {
			return false
		}
		q.sources = append(q.sources, source)
	}
	for args = args[1+n:]; len(args) > 0; {
		if args = q.option(c, args, store); args == nil {
			return false
		}
	}
	if q.kind != combineDiff {
		// The result of a sum depends on the order of its parts.
		slices.SortStableFunc(q.sources, func(a, b combineSource) int { return a.len() - b.len() })
	}
	return c.Steps(q.steps())
}

// steps is how many members are visited or looked up, at most.
func (q *combineQuery) steps() (sum int64) {
	if q.kind != combineUnion {
		return int64(q.sources[0].len()) * int64(len(q.sources))
	}
	for i := range q.sources {
		sum += int64(q.sources[i].len())
	}
	return sum
}

func readSource(c *command.Ctx, key []byte) (combineSource, bool) {
	source := combineSource{weight: 1}
	e := c.Read(key)
	if e == nil {
		return source, true
	}
	switch e.Kind() {
	case engine.KindSortedSet:
		source.sorted = e.Object().(*zset.Set)
	case engine.KindSet:
		source.plain = e.Object().(memberSource)
	default:
		c.Out.Error(command.ErrWrongType)
		return source, false
	}
	return source, true
}

// option reads one option and returns the arguments behind it, which are not nil. It answers the
// error itself.
func (q *combineQuery) option(c *command.Ctx, args [][]byte, store bool) [][]byte {
	weighed := q.kind == combineUnion || q.kind == combineInter
	switch {
	case weighed && len(args) > len(q.sources) && command.EqualFold(args[0], "weights"):
		for i := range q.sources {
			weight, ok := DoubleArg(c, args[1+i], ErrWeight)
			if !ok {
				return nil
			}
			q.sources[i].weight = weight
		}
		return args[1+len(q.sources):]
	case weighed && len(args) >= 2 && command.EqualFold(args[0], "aggregate"):
		switch {
		case command.EqualFold(args[1], "sum"):
			q.aggregate = aggregateSum
		case command.EqualFold(args[1], "min"):
			q.aggregate = aggregateMin
		case command.EqualFold(args[1], "max"):
			q.aggregate = aggregateMax
		default:
			c.Out.Error(command.ErrSyntax)
			return nil
		}
		return args[2:]
	case q.kind != combineCount && !store && command.EqualFold(args[0], "withscores"):
		q.withScores = true
		return args[1:]
	case q.kind == combineCount && len(args) >= 2 && command.EqualFold(args[0], "limit"):
		var ok bool
		if q.limit, ok = command.ParseInt(args[1]); !ok || q.limit < 0 {
			c.Out.Error(command.ErrLimit)
			return nil
		}
		return args[2:]
	}
	c.Out.Error(command.ErrSyntax)
	return nil
}

// result returns the members of the combination in the order of a sorted set.
func (q *combineQuery) result(c *command.Ctx) []zset.Entry {
	var entries []zset.Entry
	switch q.kind {
	case combineUnion:
		entries = q.union(c)
	case combineDiff:
		entries = q.diff(c)
	default:
		for e := range q.inter(c) {
			entries = append(entries, e)
		}
	}
	SortEntries(c, entries)
	return entries
}

// SortEntries sorts entries into the order of a sorted set.
func SortEntries(c *command.Ctx, entries []zset.Entry) {
	slices.SortFunc(entries, func(a, b zset.Entry) int {
		c.Item()
		return zset.Compare(a, b)
	})
}

// union goes through one set after the other. places holds the place of each member in the result.
func (q *combineQuery) union(c *command.Ctx) []zset.Entry {
	var entries []zset.Entry
	places := map[string]int{}
	for i := range q.sources {
		source := &q.sources[i]
		for e := range source.entries {
			c.Member()
			score := noNaN(source.weight * e.Score)
			if at, ok := places[string(e.Member)]; ok {
				entries[at].Score = q.aggregate.of(entries[at].Score, score)
				continue
			}
			if i < len(q.sources)-1 {
				places[string(e.Member)] = len(entries)
			}
			entries = append(entries, zset.Entry{Member: e.Member, Score: score})
		}
	}
	return entries
}

// inter walks over the members of the smallest set that all others have.
func (q *combineQuery) inter(c *command.Ctx) iter.Seq[zset.Entry] {
	return func(yield func(zset.Entry) bool) {
		first := &q.sources[0]
		for e := range first.entries {
			c.Member()
			score, everywhere := noNaN(first.weight*e.Score), true
			for i := range q.sources[1:] {
				c.Member()
				source := &q.sources[1+i]
				value, ok := source.score(e.Member)
				if !ok {
					everywhere = false
					break
				}
				// The product is rounded before it is added: not every processor would do so by
				// itself.
				score = q.aggregate.of(score, float64(value*source.weight))
			}
			if everywhere && !yield(zset.Entry{Member: e.Member, Score: score}) {
				return
			}
		}
	}
}

func (q *combineQuery) diff(c *command.Ctx) []zset.Entry {
	var entries []zset.Entry
	for e := range q.sources[0].entries {
		c.Member()
		elsewhere := false
		for i := range q.sources[1:] {
			c.Member()
			if _, elsewhere = q.sources[1+i].score(e.Member); elsewhere {
				break
			}
		}
		if !elsewhere {
			entries = append(entries, e)
		}
	}
	return entries
}

// combine answers a combination.
func combine(c *command.Ctx, called string, kind combineKind, args [][]byte) {
	q := combineQuery{kind: kind}
	if !q.parse(c, called, args[1:], false) {
		return
	}
	entries := q.result(c)
	entriesHeader(c, len(entries), q.withScores)
	for _, e := range entries {
		c.Item()
		writeEntry(c, e, q.withScores)
	}
}

// combineStore stores a combination.
func combineStore(c *command.Ctx, called string, kind combineKind, args [][]byte) {
	q := combineQuery{kind: kind}
	if !q.parse(c, called, args[2:], true) {
		return
	}
	result := zset.Build(q.result(c), SetLimits(c.Settings), c.Member)
	c.Store(args[1], engine.KindSortedSet, result, command.EventSortedSet, called)
	c.Out.Int(int64(result.Len()))
}

func runZUnion(c *command.Ctx, args [][]byte) { combine(c, "zunion", combineUnion, args) }
func runZInter(c *command.Ctx, args [][]byte) { combine(c, "zinter", combineInter, args) }
func runZDiff(c *command.Ctx, args [][]byte)  { combine(c, "zdiff", combineDiff, args) }

func runZUnionStore(c *command.Ctx, args [][]byte) {
	combineStore(c, "zunionstore", combineUnion, args)
}
func runZInterStore(c *command.Ctx, args [][]byte) {
	combineStore(c, "zinterstore", combineInter, args)
}
func runZDiffStore(c *command.Ctx, args [][]byte) { combineStore(c, "zdiffstore", combineDiff, args) }

func runZInterCard(c *command.Ctx, args [][]byte) {
	q := combineQuery{kind: combineCount}
	if !q.parse(c, "zintercard", args[1:], false) {
		return
	}
	count := int64(0)
	for range q.inter(c) {
		count++
		if count == q.limit {
			break
		}
	}
	c.Out.Int(count)
}
