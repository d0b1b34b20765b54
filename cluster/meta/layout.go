package meta

import (
	"fmt"

	"lockstep/engine/hashslot"
)

// Layout says which shard owns which hash slots. This part of a view never changes after the
// cluster's creation.
type Layout struct {
	table  *[hashslot.Count]uint16
	shards int
}

// Layout returns the cluster's layout.
func (v *View) Layout() Layout { return Layout{table: v.shardOfSlot, shards: len(v.Shards)} }

// Layout returns the layout of a cluster that was created with c.
func (c *Creation) Layout() Layout {
	shards := layShards(c.Shards())
	return Layout{table: slotTable(shards), shards: len(shards)}
}

// ShardOfSlot returns the number of the shard that owns a hash slot.
func (l Layout) ShardOfSlot(slot uint16) int { return int(l.table[slot]) }

// Shards returns the number of shards.
func (l Layout) Shards() int { return l.shards }

func slotTable(shards []Shard) *[hashslot.Count]uint16 {
	table := new([hashslot.Count]uint16)
	for i, s := range shards {
		for slot := int(s.FirstSlot); slot <= int(s.LastSlot); slot++ {
			table[slot] = uint16(i)
		}
	}
	return table
}

// checkShards refuses a list of shards that no cluster can have.
func checkShards(shards []Shard) error {
	for i, s := range shards {
		if s.ID != uint32(i) || s.FirstSlot > s.LastSlot || int(s.LastSlot) >= hashslot.Count {
			return fmt.Errorf("%w: shard %d with slots %d to %d", ErrCorrupt, s.ID, s.FirstSlot, s.LastSlot)
		}
	}
	return nil
}

// layShards divides the hash slots among n shards: contiguous ranges whose
// lengths differ by at most one.
func layShards(n int) []Shard {
	shards := make([]Shard, n)
	for i := range shards {
		first := i * hashslot.Count / n
		last := (i+1)*hashslot.Count/n - 1
		shards[i] = Shard{ID: uint32(i), FirstSlot: uint16(first), LastSlot: uint16(last)}
	}
	return shards
}
