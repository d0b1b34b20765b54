package zsetcmd

import (
	"math"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/zset"
)

// ReadSortedSet returns the sorted set under key, or nil if there is none. If the key holds another
// kind of value it answers WRONGTYPE and returns false.
func ReadSortedSet(c *command.Ctx, key []byte) (*zset.Set, bool) {
	return command.ReadAs[*zset.Set](c, key, engine.KindSortedSet)
}

func writeSortedSet(c *command.Ctx, key []byte) (*zset.Set, *engine.Entry, bool) {
	return command.WriteAs[*zset.Set](c, key, engine.KindSortedSet)
}

// changeSortedSet is edit for a sorted set that exists.
func changeSortedSet(c *command.Ctx, key []byte, e *engine.Entry, change func(*zset.Set)) {
	command.Edit(c, key, engine.KindSortedSet, e, zset.New, change)
}

// AddOptions are the options of ZADD.
type AddOptions struct{ NX, XX, gt, lt, ch, incr bool }

// parse reads the options and returns the arguments behind them.
func (o *AddOptions) parse(args [][]byte) [][]byte {
	for ; len(args) > 0; args = args[1:] {
		switch a := args[0]; {
		case command.EqualFold(a, "nx"):
			o.NX = true
		case command.EqualFold(a, "xx"):
			o.XX = true
		case command.EqualFold(a, "ch"):
			o.ch = true
		case command.EqualFold(a, "incr"):
			o.incr = true
		case command.EqualFold(a, "gt"):
			o.gt = true
		case command.EqualFold(a, "lt"):
			o.lt = true
		default:
			return args
		}
	}
	return args
}

// problem returns the error for options that exclude each other, or that do not fit the number of
// arguments behind them.
func (o *AddOptions) problem(rest int) string {
	switch {
	case rest == 0 || rest%2 != 0:
		return command.ErrSyntax
	case o.NX && o.XX:
		return ErrZAddNXXX
	case o.gt && o.NX, o.lt && o.NX, o.gt && o.lt:
		return ErrZAddGTLT
	case o.incr && rest > 2:
		return ErrZAddIncr
	}
	return ""
}

// zaddOutcome is the effect of ZADD on one member.
type zaddOutcome uint8

const (
	zaddRefused zaddOutcome = iota // the options forbid it
	zaddSame                       // the member has that score already
	zaddUpdated
	zaddAdded
)

// outcome returns the effect on a member, and the score that the member then has, which may be NaN.
// The set may be nil.
func (o *AddOptions) outcome(s *zset.Set, e zset.Entry) (zaddOutcome, float64) {
	var old float64
	exists := false
	if s != nil {
		old, exists = s.Score(e.Member)
	}
	if !exists {
		if o.XX {
			return zaddRefused, 0
		}
		return zaddAdded, e.Score
	}
	if o.NX {
		return zaddRefused, 0
	}
	score := e.Score
	if o.incr {
		score += old
	}
	switch {
	case o.lt && score >= old, o.gt && score <= old:
		return zaddRefused, 0
	case score == old:
		return zaddSame, score
	}
	return zaddUpdated, score
}

func runZAdd(c *command.Ctx, args [][]byte)    { Add(c, args, AddOptions{}) }
func runZIncrBy(c *command.Ctx, args [][]byte) { Add(c, args, AddOptions{incr: true}) }

// Add adds members with their scores to the sorted set under a key, as ZADD does, and answers.
func Add(c *command.Ctx, args [][]byte, o AddOptions) {
	key, rest := args[1], o.parse(args[2:])
	if problem := o.problem(len(rest)); problem != "" {
		c.Out.Error(problem)
		return
	}
	entries := make([]zset.Entry, 0, len(rest)/2)
	for ; len(rest) > 0; rest = rest[2:] {
		c.Item()
		score, ok := DoubleArg(c, rest[0], command.ErrNotFloat)
		if !ok {
			return
		}
		entries = append(entries, zset.Entry{Member: rest[1], Score: score})
	}
	s, e, ok := writeSortedSet(c, key)
	if !ok {
		return
	}
	if o.incr {
		zaddIncr(c, key, s, e, entries[0], &o)
		return
	}
	added, updated := zaddAll(c, key, s, e, entries, &o)
	if o.ch {
		added += updated
	}
	c.Out.Int(int64(added))
}

// zaddIncr is ZADD with INCR.
func zaddIncr(c *command.Ctx, key []byte, s *zset.Set, e *engine.Entry, entry zset.Entry, o *AddOptions) {
	outcome, score := o.outcome(s, entry)
	switch {
	case outcome == zaddRefused:
		c.Out.Null()
		return
	case math.IsNaN(score):
		c.Out.Error(ErrScoreNaN)
		return
	}
	zaddAll(c, key, s, e, []zset.Entry{entry}, o)
	c.Out.Double(score)
}

// zaddAll gives members their scores. A key that does not change is not touched, so that WATCH sees
// no change.
func zaddAll(c *command.Ctx, key []byte, s *zset.Set, e *engine.Entry, entries []zset.Entry, o *AddOptions) (added, updated int) {
	first := 0
	for ; first < len(entries); first++ {
		c.Member()
		if outcome, _ := o.outcome(s, entries[first]); outcome >= zaddUpdated {
			break
		}
	}
	if first == len(entries) {
		return 0, 0
	}
	event := "zadd"
	if o.incr {
		event = "zincr"
	}
	limits := SetLimits(c.Settings)
	fresh := func() *zset.Set { return newSortedSet(len(entries), len(entries[0].Member), limits) }
	command.Edit(c, key, engine.KindSortedSet, e, fresh, func(s *zset.Set) {
		for _, entry := range entries[first:] {
			c.Member()
			outcome, score := o.outcome(s, entry)
			switch outcome {
			case zaddAdded:
				added++
			case zaddUpdated:
				updated++
			default:
				continue
			}
			s.Put(entry.Member, score, limits)
		}
		c.Notify(command.EventSortedSet, event, key)
	})
	return added, updated
}

// newSortedSet makes an empty set for so many members, of which the first has memberBytes bytes.
// Like Redis 7.2 it decides in advance whether the set will be large.
func newSortedSet(entries, memberBytes int, limits zset.Limits) *zset.Set {
	if int64(entries) > limits.EntriesMax || int64(memberBytes) > limits.MemberBytesMax {
		return zset.NewLarge()
	}
	return zset.New()
}
