package commands_test

import (
	"math"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
)

// TestCursorsOverShards splits cursors by shard and joins them again. It also walks from shard to
// shard until the end.
func TestCursorsOverShards(t *testing.T) {
	for _, shards := range []int{1, 2, 7, 256} {
		at, visited := uint64(0), 0
		for {
			shard, own := command.SplitCursor(at, shards)
			if shard != visited || own != 0 {
				t.Fatalf("%d shards: cursor %d is %d of shard %d, not the beginning of shard %d", shards, at, own, shard, visited)
			}
			for _, place := range []uint64{1, 16383<<32 | math.MaxUint32} {
				cursor := command.JoinCursor(shard, place, shards)
				if s, o := command.SplitCursor(cursor, shards); s != shard || o != place {
					t.Fatalf("%d shards: place %d of shard %d came back as %d of %d", shards, place, shard, o, s)
				}
			}
			visited++
			if at = command.JoinCursor(shard, 0, shards); at == 0 {
				break
			}
		}
		if visited != shards {
			t.Fatalf("%d of %d shards were visited", visited, shards)
		}
	}
	if got := command.JoinCursor(3, math.MaxUint64, 4); got != 0 {
		t.Errorf("a cursor beyond all numbers goes on at %d", got)
	}
}

// TestEveryWholeCommandIsMerged: a command that works on a whole keyspace and names no keys must
// say how the replies of the shards are merged. Otherwise it would see one shard only.
func TestEveryWholeCommandIsMerged(t *testing.T) {
	for _, s := range commands.All() {
		whole := (s.Scope == command.ScopeGlobal || s.Scope == command.ScopeScan) && len(s.Keys) == 0
		if ofOneSlot := s.Internal() && s.Arity > 1; whole && s.Merge == command.MergeNone && !ofOneSlot {
			t.Errorf("%s has no Merge", s.Name)
		}
		if s.Merge != command.MergeNone && (len(s.Keys) > 0 || s.Scope == command.ScopeNode) {
			t.Errorf("%s has a Merge and keys, or runs on the node", s.Name)
		}
	}
}
