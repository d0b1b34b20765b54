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

// Waiting says what a blocking command waits for.
type Waiting struct {
	// Kind is the kind of value that is to be under one of the keys.
	Kind engine.Kind
	// TimeoutMs tells for how long at most, 0: for ever. waits is false for
	// arguments with which the command does not wait.
	TimeoutMs func(args [][]byte) (ms int64, waits bool)
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

// timeoutOption is the TimeoutMs of XREAD and XREADGROUP: BLOCK, among the options
// before STREAMS.
func timeoutOption(args [][]byte) (ms int64, waits bool) {
	for i := 1; i+1 < len(args) && !equalFold(args[i], "streams"); i++ {
		if equalFold(args[i], "block") {
			ms, ok := parseInt(args[i+1])
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
	if s == nil || s.Waits == nil {
		return engine.KindString
	}
	return s.Waits.Kind
}
