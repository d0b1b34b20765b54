package command

import (
	"math"
	"math/big"
	"strconv"

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

// blockSec reads a timeout in seconds, which may have a fraction. What is not
// nothing waits a millisecond at least.
func blockSec(text []byte) (ms int64, ok bool) {
	var sec float64
	if len(text) < extendedTextMax {
		f, _, err := big.ParseFloat(string(text), 10, 64, big.ToNearestEven)
		if err != nil || f.Sign() < 0 || f.IsInf() {
			return 0, false
		}
		sec, _ = f.Float64()
	} else {
		// The handler refuses it, where the command gets that far. Exact arithmetic
		// would take hours for some megabytes of digits.
		var err error
		if sec, err = strconv.ParseFloat(string(text), 64); err != nil || !(sec >= 0) || math.IsInf(sec, 0) {
			return 0, false
		}
	}
	if sec*1000 > math.MaxInt64/2 {
		return 0, false
	}
	return int64(math.Ceil(sec * 1000)), true
}

// blockOption finds BLOCK among the options before STREAMS.
func blockOption(args [][]byte) (ms int64, ok bool) {
	for i := 1; i+1 < len(args) && !equalFold(args[i], "streams"); i++ {
		if equalFold(args[i], "block") {
			ms, ok = parseInt(args[i+1])
			return ms, ok && ms >= 0
		}
	}
	return 0, false
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
