package command

import (
	"math"
	"math/big"
	"slices"

	"lockstep/engine"
	"lockstep/engine/list"
	"lockstep/engine/stream"
	"lockstep/engine/zset"
)

// A blocking command waits at the leader, outside the engine: its handler tries
// once and answers null when it finds nothing, which no success answers. So a
// null asks for another try when a key is filled.

// Waiting says what a blocking command waits for.
type Waiting struct {
	// Kind is the kind of value that is to be under one of the keys.
	Kind engine.Kind
	// TimeoutMs tells for how long at most, 0: for ever. waits is false for
	// arguments with which the command does not wait.
	TimeoutMs func(args [][]byte) (ms int64, waits bool)
	// LatestIDs, when set, finds the arguments that stand for the last IDs of streams at the moment of the call, and those
	// streams' keys. The gateway puts the IDs there, for the command may be tried several times.
	LatestIDs func(args [][]byte) (places []int, keys [][]byte)
	// Group, when set, is the group of a stream that the client reads as one of.
	Group func(args [][]byte) []byte
}

// BlockMs tells whether a command with these arguments waits for keys to be
// filled, and for how long at most; 0: for ever. Arguments that are wrong do not
// wait: the handler answers the error.
func BlockMs(s *Spec, args [][]byte) (ms int64, blocks bool) {
	if s.Waits == nil {
		return 0, false
	}
	return s.Waits.TimeoutMs(args)
}

// timeoutAtEnd is the TimeoutMs of BLPOP and others whose last argument it is.
func timeoutAtEnd(args [][]byte) (ms int64, waits bool) { return blockSec(args[len(args)-1]) }

// timeoutOfPop is the TimeoutMs of BLMPOP and BZMPOP.
func timeoutOfPop(ends [2]string) func(args [][]byte) (ms int64, waits bool) {
	return func(args [][]byte) (ms int64, waits bool) {
		if _, problem := parseCountedPop(args[2:], ends); problem != "" {
			return 0, false
		}
		return blockSec(args[1])
	}
}

const (
	// blockMsMax is the longest time to wait, a century and more; who would wait longer
	// waits for ever.
	blockMsMax = 1 << 42
	// blockMsRefused is where times begin that lie beyond every clock, which the
	// handler refuses.
	blockMsRefused = math.MaxInt64 - blockMsMax
)

// blockSec reads a timeout in seconds, which may have a fraction. What is not
// nothing waits a millisecond at least.
func blockSec(text []byte) (ms int64, ok bool) {
	f, ok := timeoutOf(text)
	switch {
	case !ok, isNegative(f), f.Cmp(new(big.Float).SetInt64(blockMsRefused)) >= 0:
		return 0, false
	case f.Cmp(big.NewFloat(blockMsMax)) > 0:
		return 0, true
	}
	ms, rounded := f.Int64()
	if rounded == big.Below {
		ms++
	}
	return ms, true
}

// timeoutOption is the TimeoutMs of XREAD and XREADGROUP: BLOCK, among the options
// before STREAMS; the last one counts.
func timeoutOption(args [][]byte) (ms int64, waits bool) {
	for i := 1; i+1 < len(args); i++ {
		switch {
		case equalFold(args[i], "block"):
			i++
			if ms, waits = parseInt(args[i]); !waits || ms < 0 || ms >= blockMsRefused {
				return 0, false
			}
			if ms > blockMsMax {
				ms = 0
			}
		case equalFold(args[i], "count"):
			i++
		case equalFold(args[i], "group"):
			// Groups and consumers may be called like an option.
			i += 2
		case !equalFold(args[i], "noack"):
			return ms, waits
		}
	}
	return ms, waits
}

// BlockKeys returns the keys that a blocking command waits for: those it takes
// from, not those it puts something into.
func BlockKeys(s *Spec, args [][]byte) [][]byte {
	var buf [8]KeyRef
	var keys [][]byte
	for _, k := range s.AppendKeys(buf[:0], args) {
		if k.Flags&KeyInsert == 0 {
			keys = append(keys, args[k.Pos])
		}
	}
	return keys
}

// BlockKind is the kind of value that a blocking command waits for.
func BlockKind(args [][]byte) engine.Kind {
	s, _ := Lookup(args)
	if s == nil || s.Waits == nil {
		return engine.KindString
	}
	return s.Waits.Kind
}

// BlockGroup is the group that a blocking command reads as one of; nil: it reads as none.
func BlockGroup(args [][]byte) (group []byte) {
	if s, _ := Lookup(args); s != nil && s.Waits != nil && s.Waits.Group != nil {
		return s.Waits.Group(args)
	}
	return nil
}

// groupOption is the Group of XREADGROUP.
func groupOption(args [][]byte) (group []byte) {
	for i := 1; i+1 < len(args); i++ {
		switch {
		case equalFold(args[i], "group"):
			group = args[i+1]
			i += 2
		case equalFold(args[i], "block"), equalFold(args[i], "count"):
			i++
		case equalFold(args[i], "streams"):
			return group
		}
	}
	return group
}

// Awaited tells whether a blocking command may find something: what Offers says of
// one of its keys.
func Awaited(c *Ctx, s *Spec, args [][]byte) bool {
	group := BlockGroup(args)
	return slices.ContainsFunc(BlockKeys(s, args), func(key []byte) bool {
		return Offers(c.Peek(key), s.Waits.Kind, group) > 0
	})
}

// Offers is how many elements a key's entry, nil if there is none, has for clients
// that wait for a kind of value. Those that read as one of a group are to be told that
// there is no such stream or group: then it is more than there can be clients.
func Offers(e *engine.Entry, kind engine.Kind, group []byte) int {
	switch {
	case kind == engine.KindStream:
		return undelivered(e, group)
	case e == nil || e.Kind() != kind:
		return 0
	case kind == engine.KindList:
		return e.Object().(*list.List).Len()
	}
	return e.Object().(*zset.Set).Len()
}

// undelivered is how many entries a stream has that are new to a group, or about so
// many, but at least one if there are any.
func undelivered(e *engine.Entry, name []byte) int {
	if e == nil || e.Kind() != engine.KindStream {
		return math.MaxInt
	}
	s := e.Object().(*stream.Stream)
	g := s.FindGroup(name)
	switch {
	case g == nil:
		return math.MaxInt
	case !s.HasBehind(g.Last()):
		return 0
	}
	n, _ := s.Lag(g)
	return int(max(n, 1))
}
