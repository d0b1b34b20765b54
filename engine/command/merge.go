package command

import "math"

// Merge says that a command runs on every shard, on each separately and at its own moment, and how
// the replies are merged. Scope says what the command locks on each shard. A command without Merge
// runs on one shard: on that of its keys or, if it has no keys, on the first.
type Merge uint8

const (
	// MergeNone: the command runs on one shard.
	MergeNone Merge = iota
	// MergeSame: all shards give the same reply, so the first one counts (FLUSHALL: OK; SCRIPT
	// LOAD: the digest).
	MergeSame
	// MergeSum: integers, added up (DBSIZE).
	MergeSum
	// MergeConcat: arrays, joined in the order of shards (KEYS).
	MergeConcat
	// MergeLeast: arrays of integers of one length. Each result is the least that any shard
	// answered (SCRIPT EXISTS).
	MergeLeast
	// MergeAny: the first reply that is not an error (SCRIPT KILL). If all are errors, the first
	// that is not NOTBUSY, because NOTBUSY says less than the others.
	MergeAny
	// MergeBusy: the first reply of a shard on which a function runs, or else the first of all
	// (FUNCTION STATS).
	MergeBusy
	// MergeDigest: digests of the parts of each database, joined into one (DEBUG DIGEST).
	MergeDigest
	// MergeCursor: one shard after the other. The cursor says which one (SCAN).
	MergeCursor
	// MergeChance: the reply of one shard. A shard is drawn with a probability proportional to its
	// number of keys (RANDOMKEY).
	MergeChance
)

// SplitCursor splits a cursor over many shards into the shard and the shard's own cursor, which is
// the greater part of the number.
func SplitCursor(cursor uint64, shards int) (shard int, own uint64) {
	return int(cursor % uint64(shards)), cursor / uint64(shards)
}

// JoinCursor is the cursor to continue with after a shard answered its own. If the shard is at its
// end, that is the beginning of the next shard, or 0 behind the last one.
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

// ScanCount is the COUNT of a SCAN.
func ScanCount(args [][]byte) int64 {
	count := int64(scanDefault)
	for i := 2; i+1 < len(args); i += 2 {
		if n, ok := ParseInt(args[i+1]); ok && EqualFold(args[i], "count") {
			count = n
		}
	}
	return count
}
