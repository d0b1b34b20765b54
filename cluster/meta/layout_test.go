package meta

import (
	"testing"

	"lockstep/engine/hashslot"
)

func TestEveryHashSlotHasOneShard(t *testing.T) {
	if NewMachine().View().ShardOfSlot(5) != 0 {
		t.Fatal("before creation")
	}
	for _, n := range []int{1, 2, 3, 7, 64, 200, MaxShards} {
		v, c := created(t, n).m.View(), testCreation(n)
		next := 0
		for i, s := range v.Shards {
			if int(s.FirstSlot) != next || s.LastSlot < s.FirstSlot || int(s.ID) != i {
				t.Fatalf("%d shards: shard %d has slots %d to %d", n, i, s.FirstSlot, s.LastSlot)
			}
			next = int(s.LastSlot) + 1
		}
		if next != hashslot.Count || v.Layout().Shards() != n || c.Layout().Shards() != n {
			t.Fatalf("%d shards end at slot %d", n, next)
		}
		told, asked := v.Layout(), c.Layout()
		for slot := range uint16(hashslot.Count) {
			i := v.ShardOfSlot(slot)
			if s := v.Shards[i]; slot < s.FirstSlot || slot > s.LastSlot {
				t.Fatalf("%d shards: slot %d is said to be in shard %d", n, slot, i)
			}
			if told.ShardOfSlot(slot) != i || asked.ShardOfSlot(slot) != i {
				t.Fatalf("%d shards: layouts differ at slot %d", n, slot)
			}
		}
	}
}
