package member

import (
	"strconv"

	"lockstep/cluster/meta"
	"lockstep/cluster/shard"
	"lockstep/engine"
	"lockstep/fsm"
)

// MachineConfig is the configuration that every machine of a shard must have in common, whichever
// program reads its log.
func MachineConfig(c *meta.Creation, group uint32) fsm.Config {
	return fsm.Config{Group: group, Engine: engine.Config{LockSlots: c.LockSlots, Seed: c.Seeds[group]}, Owns: owns(c, group)}
}

// owns returns the test for the hash slots of a shard, or nil if the shard has all of them.
func owns(c *meta.Creation, group uint32) func(hashSlot int) bool {
	layout := c.Layout()
	if layout.Shards() == 1 {
		return nil
	}
	return func(hashSlot int) bool { return layout.ShardOfSlot(uint16(hashSlot)) == int(group) }
}

// MetaMachine is the shard.StateMachine in front of a meta.Machine.
type MetaMachine struct{ *meta.Machine }

// Snapshot implements shard.StateMachine.
func (a MetaMachine) Snapshot() (shard.Snapshot, error) { return a.Machine.Snapshot() }

// GroupName is the name of a group in reports and orders: "meta", or the number of the shard.
func GroupName(g uint32) string {
	if g == meta.GroupID {
		return "meta"
	}
	return strconv.FormatUint(uint64(g), 10)
}
