package meta

// Layout returns the layout of a cluster that was created so.
func (c *Creation) Layout() Layout {
	shards := layShards(c.Shards())
	return Layout{table: slotTable(shards), shards: len(shards)}
}
