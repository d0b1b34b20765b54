package command

import (
	"math"
	"math/big"

	"lockstep/engine"
)

// A blocking command waits at the leader, outside the engine: its handler tries
// once and answers null when it finds nothing, which no success answers. So a
// null asks for another try when a key is filled.

// BlockMs tells whether a command with these arguments waits for keys to be
// filled, and for how long at most; 0: for ever. Arguments that are wrong do not
// wait: the handler answers the error.
func BlockMs(s *Spec, args [][]byte) (ms int64, blocks bool) {
	if s.Flags&Blocking == 0 || s.Scope != ScopeKeys {
		return 0, false
	}
	switch s.Name {
	case "blpop", "brpop", "blmove", "brpoplpush", "bzpopmin", "bzpopmax":
		at := len(args) - 1
		return blockSec(args[at])
	case "blmpop":
		ms, blocks = blockSec(args[1])
		return ms, blocks && popsRight(args[2:], "left", "right")
	case "bzmpop":
		ms, blocks = blockSec(args[1])
		return ms, blocks && popsRight(args[2:], "min", "max")
	case "xread", "xreadgroup":
		return blockOption(args)
	}
	return 0, false
}

// popsRight tells whether the arguments of BLMPOP or BZMPOP, from the number of
// keys on, are right: keys, one of the ends, and perhaps a count.
func popsRight(args [][]byte, oneEnd, other string) bool {
	n, ok := parseInt(args[0])
	if !ok || n < 1 || n >= int64(len(args)-1) {
		return false
	}
	if end := args[1+n]; !equalFold(end, oneEnd) && !equalFold(end, other) {
		return false
	}
	args = args[2+n:]
	if len(args) == 0 {
		return true
	}
	if len(args) != 2 || !equalFold(args[0], "count") {
		return false
	}
	count, ok := parseInt(args[1])
	return ok && count > 0
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

// blockOption finds BLOCK among the options before STREAMS; the last one counts.
func blockOption(args [][]byte) (ms int64, blocks bool) {
	for i := 1; i+1 < len(args); i++ {
		switch {
		case equalFold(args[i], "block"):
			i++
			if ms, blocks = parseInt(args[i]); !blocks || ms < 0 || ms >= blockMsRefused {
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
			return ms, blocks
		}
	}
	return ms, blocks
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
	switch {
	case s == nil:
		return engine.KindString
	case s.Name == "xread" || s.Name == "xreadgroup":
		return engine.KindStream
	case s.Name == "bzpopmin" || s.Name == "bzpopmax" || s.Name == "bzmpop":
		return engine.KindSortedSet
	}
	return engine.KindList
}
