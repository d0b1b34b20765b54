package command

import "math"

// Merge says that a command runs on every shard, each for itself and at its own
// moment, and what becomes of their replies. Scope says what it locks within
// each. A command without it runs on one shard: that of its keys or, if it has
// none, the first.
type Merge uint8

const (
	// MergeNone: the command runs on one shard.
	MergeNone Merge = iota
	// MergeSame: all shards answer the same, and so the first speaks for them
	// (FLUSHALL: OK; SCRIPT LOAD: the digest).
	MergeSame
	// MergeSum: integers, added up (DBSIZE).
	MergeSum
	// MergeConcat: arrays, one behind the other in the order of shards (KEYS).
	MergeConcat
	// MergeLeast: arrays of integers of one length; each is the least that any
	// shard answered (SCRIPT EXISTS).
	MergeLeast
	// MergeAny: the first reply that is no error (SCRIPT KILL); if all are, the
	// first that is not NOTBUSY, for that says no more than the others.
	MergeAny
	// MergeBusy: the first of a shard where a function runs, or the first of all
	// (FUNCTION STATS).
	MergeBusy
	// MergeDigest: digests of the parts of each database, folded into one
	// (DEBUG DIGEST)
	MergeDigest
	// MergeCursor: one shard after the other, the cursor says which (SCAN).
	MergeCursor
	// MergeChance: the reply of one shard, drawn by how many keys it has
	// (RANDOMKEY).
	MergeChance
)

// SplitCursor takes a cursor over many shards apart: the shard it stands in and
// that shard's own cursor, which is the greater part of the number.
func SplitCursor(cursor uint64, shards int) (shard int, own uint64) {
	return int(cursor % uint64(shards)), cursor / uint64(shards)
}

// JoinCursor is the cursor to go on with when a shard answered its own; when
// that is at its end, the next shard's beginning; 0 behind the last shard.
func JoinCursor(shard int, own uint64, shards int) uint64 {
	switch n := uint64(shards); {
	case own > (math.MaxUint64-n)/n:
		// No shard gives such a cursor: it would be behind every key.
		return 0
	case own != 0:
		return own*n + uint64(shard)
	case shard+1 < shards:
		return uint64(shard + 1)
	}
	return 0
}

// ScanCount is the COUNT of a SCAN, as far as it makes sense.
func ScanCount(args [][]byte) int64 {
	count := int64(scanDefault)
	for i := 2; i+1 < len(args); i += 2 {
		if n, ok := ParseInt(args[i+1]); ok && EqualFold(args[i], "count") {
			count = n
		}
	}
	return count
}
