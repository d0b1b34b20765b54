package command

import (
	"math"
	"math/big"

	"lockstep/engine"
)

// A blocking command waits at the leader, outside the engine. Its handler tries once and answers
// null if it finds nothing. No successful reply is null. So null means that the command must run
// again when a key is filled.

// Waiting says how a blocking command waits.
type Waiting struct {
	// Kind is the kind of value that one of the keys must hold.
	Kind engine.Kind
	// TimeoutMs returns the longest time to wait, 0 for ever. waits is false if the command does
	// not wait with these arguments.
	TimeoutMs func(args [][]byte) (ms int64, waits bool)
	// LatestIDs, if set, finds the arguments that stand for the last IDs of streams at the moment
	// of the call, and the keys of those streams. The gateway puts the IDs there, because the
	// command may run several times.
	LatestIDs func(args [][]byte) (places []int, keys [][]byte)
	// Group, if set, returns the group of a stream that the client reads as.
	Group func(args [][]byte) []byte
}

// BlockMs reports whether a command with these arguments waits for keys to be filled, and for how
// long at most, 0 for ever. With wrong arguments a command does not wait: the handler answers the
// error.
func BlockMs(s *Spec, args [][]byte) (ms int64, blocks bool) {
	if s.Waits == nil {
		return 0, false
	}
	return s.Waits.TimeoutMs(args)
}

// TimeoutAtEnd is the TimeoutMs of BLPOP and others whose last argument is the timeout.
func TimeoutAtEnd(args [][]byte) (ms int64, waits bool) { return blockSec(args[len(args)-1]) }

// TimeoutOfPop is the TimeoutMs of BLMPOP and BZMPOP.
func TimeoutOfPop(ends [2]string) func(args [][]byte) (ms int64, waits bool) {
	return func(args [][]byte) (ms int64, waits bool) {
		if _, problem := ParseCountedPop(args[2:], ends); problem != "" {
			return 0, false
		}
		return blockSec(args[1])
	}
}

const (
	// blockMsMax is the longest time to wait, more than a century. A client that asks for more
	// waits for ever.
	blockMsMax = 1 << 42
	// blockMsRefused is the first time that is too late for any clock. The handler refuses such
	// times.
	blockMsRefused = math.MaxInt64 - blockMsMax
)

// blockSec reads a timeout in seconds, which may have a fraction. A timeout above zero waits at
// least a millisecond.
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

// TimeoutOption is the TimeoutMs of XREAD and XREADGROUP: the last BLOCK among the options before
// STREAMS.
func TimeoutOption(args [][]byte) (ms int64, waits bool) {
	for i := 1; i+1 < len(args); i++ {
		switch {
		case EqualFold(args[i], "block"):
			i++
			if ms, waits = ParseInt(args[i]); !waits || ms < 0 || ms >= blockMsRefused {
				return 0, false
			}
			if ms > blockMsMax {
				ms = 0
			}
		case EqualFold(args[i], "count"):
			i++
		case EqualFold(args[i], "group"):
			// Groups and consumers may have the name of an option.
			i += 2
		case !EqualFold(args[i], "noack"):
			return ms, waits
		}
	}
	return ms, waits
}

// BlockKeys returns the keys that a blocking command waits for: those that it takes elements from,
// not those that it adds elements to.
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
