package keycmd

import (
	"math"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/hashslot"
)

// InternalRows are commands that clients cannot send. Gateways and leaders make them, and
// proto/client refuses them from clients (Spec.Internal).
var InternalRows = []*command.Spec{
	{
		Name: "lockstep.versions", Arity: -2, Flags: command.ReadOnly, Keys: command.AllKeys(command.KeyRO),
		Run: runVersions, Group: "internal", Summary: "Answers the versions of keys, for WATCH.",
	},
	{
		Name: "lockstep.dump", Arity: 2, Flags: command.ReadOnly | command.Heavy, Keys: command.OneKey(command.KeyRO),
		Run: runDumpToMigrate, Group: "internal", Summary: "Answers a key's version, time to live and dump, for MIGRATE.",
	},
	{
		Name: "lockstep.expire", Arity: -3, Flags: command.Write, Keys: []command.KeySpec{{Flags: command.KeyRM | command.KeyDelete, First: 2, Last: -1, Step: 2}},
		Run: runExpireDue, Group: "internal", Summary: "Deletes those of the keys, each behind its database, that are due, and due fields of hashes; counts them.",
	},
	{
		Name: "lockstep.evict", Arity: -4, Flags: command.Write, Keys: []command.KeySpec{{Flags: command.KeyRM | command.KeyDelete, First: 2, Last: -1, Step: 3}},
		Run: runEvict, Group: "internal", Summary: "Deletes those of the keys, each between its database and its version, that are still of that version; counts them.",
	},
	{
		Name: "lockstep.digest", Arity: 1, Flags: command.ReadOnly | command.Heavy, Scope: command.ScopeScan, Merge: command.MergeDigest,
		Run: runDigest, Group: "internal", Summary: "Answers the digests of the shard's keys, a database each, for DEBUG DIGEST.",
	},
	{
		Name: "lockstep.digest-value", Arity: -2, Flags: command.ReadOnly | command.Heavy, Keys: command.AllKeys(command.KeyRO),
		Run: runDigestValue, Group: "internal", Summary: "Answers the digests of keys, for DEBUG DIGEST-VALUE.",
	},
	{
		Name: "lockstep.countkeysinslot", Arity: 2, Flags: command.ReadOnly, Scope: command.ScopeScan,
		Run: runCountKeysInSlot, Group: "internal", Summary: "Counts the keys of a hash slot, for CLUSTER COUNTKEYSINSLOT.",
	},
	{
		Name: "lockstep.getkeysinslot", Arity: 3, Flags: command.ReadOnly | command.Heavy, Scope: command.ScopeScan,
		Run: runGetKeysInSlot, Group: "internal", Summary: "Answers some keys of a hash slot, for CLUSTER GETKEYSINSLOT.",
	},
	{
		Name: "lockstep.present", Arity: 1, Flags: command.ReadOnly, Scope: command.ScopeScan, Merge: command.MergeSame,
		Run: func(c *command.Ctx, _ [][]byte) { c.Out.OK() }, Group: "internal", Summary: "Answers OK where the shard has a leader, before a command that writes on every shard.",
	},
	{
		Name: "lockstep.keycounts", Arity: 1, Flags: command.ReadOnly, Scope: command.ScopeScan, Merge: command.MergeConcat,
		Run: runKeyCounts, Group: "internal", Summary: "Counts the keys of each database, for INFO of a node without a replica of the shard.",
	},
	{
		Name: "lockstep.set", Arity: 3, Flags: command.Write,
		Run: runSetSetting, Group: "internal", Summary: "Changes a replicated setting.",
	},
	{
		Name: "lockstep.day", Arity: 2, Flags: command.Write,
		Run: runSetSetting, Group: "internal", Summary: "Sets how many milliseconds the time of day is ahead of the log time.",
	},
}

// runSetSetting only answers. The machine changes a setting, or the time of day, at the place of
// its entry in the log, before it runs anything of that entry.
func runSetSetting(c *command.Ctx, _ [][]byte) { c.Out.OK() }

// runVersions answers, for each key, its version (0: no such key) and the
// number of the last txn seen: fsm.Watch's Version and SeenAt.
func runVersions(c *command.Ctx, args [][]byte) {
	c.Out.Array(2 * (len(args) - 1))
	for _, key := range args[1:] {
		var version uint64
		if e := c.Peek(key); e != nil {
			version = e.Version
		}
		c.Out.Int(int64(version))
		c.Out.Int(int64(seenAt(c, key)))
	}
}

// seenAt is the number of the last txn that a client which looks at a key now has seen. TxnNo alone
// may be behind, because an entry counts only when all of it has been applied. A client that has
// the reply of its first txn may watch a key that this txn has deleted, or that existed only for a
// moment.
func seenAt(c *command.Ctx, key []byte) uint64 {
	seen := c.KS.SeenAt(c.Slot(key), c.DB, c.TxnNo)
	if e := c.KS.Find(c.Slot(key), c.DB, key); e != nil {
		seen = max(seen, e.Version)
	}
	return seen
}

// PurgeMax is the most keys and fields that one lockstep.expire removes. The leader finds the rest
// again.
const PurgeMax = 4096

// runExpireDue deletes keys, and fields of hashes, that the leader found due. It checks again by
// the entry's time, because they may have changed since then.
func runExpireDue(c *command.Ctx, args [][]byte) {
	if len(args)%2 == 0 {
		c.Out.Error(command.ErrSyntax)
		return
	}
	n := 0
	for i := 1; i < len(args) && n < PurgeMax; i += 2 {
		db, ok := command.ParseInt(args[i])
		if ok && 0 <= db && db < engine.Databases {
			n += c.ExpireDue(int(db), args[i+1], PurgeMax-n)
		}
	}
	c.Out.Int(int64(n))
}

// hashSlotArg reads a hash slot. It answers the error itself.
func hashSlotArg(c *command.Ctx, arg []byte) (int, bool) {
	n, ok := c.IntArg(arg)
	if ok && (n < 0 || n >= hashslot.Count) {
		c.Out.Error(command.ErrHashSlot)
		return 0, false
	}
	return int(n), ok
}

// walkHashSlot visits the keys of a hash slot until visit returns false. It visits database 0, the
// only one that Redis Cluster knows.
func walkHashSlot(c *command.Ctx, hashSlot int, visit func(e *engine.Entry) bool) error {
	slot := int32(hashSlot % c.KS.LockSlots())
	stop := false
	for at := (command.Place{Slot: slot}); at.Slot == slot && !stop; {
		s, err := walkStretch(c, 0, at, walkChunk, func(e *engine.Entry) bool {
			if !stop && hashslot.Of(e.KeyBytes()) == hashSlot {
				stop = !visit(e)
			}
			return !stop
		})
		if err != nil {
			return err
		}
		at = s.next(at)
	}
	return nil
}

func runCountKeysInSlot(c *command.Ctx, args [][]byte) {
	hashSlot, ok := hashSlotArg(c, args[1])
	if !ok {
		return
	}
	n := 0
	err := walkHashSlot(c, hashSlot, func(*engine.Entry) bool { n++; return true })
	if err != nil {
		failWalk(c, err)
		return
	}
	c.Out.Int(int64(n))
}

func runGetKeysInSlot(c *command.Ctx, args [][]byte) {
	hashSlot, ok := hashSlotArg(c, args[1])
	if !ok {
		return
	}
	limit, ok := c.IntArg(args[2])
	if !ok {
		return
	}
	if limit < 0 || limit > math.MaxInt32 {
		c.Out.Error(ErrKeyCount)
		return
	}
	var keys []string
	if limit > 0 {
		err := walkHashSlot(c, hashSlot, func(e *engine.Entry) bool {
			keys = append(keys, e.Key())
			return len(keys) < int(limit)
		})
		if err != nil {
			failWalk(c, err)
			return
		}
	}
	writeKeys(c, keys)
}
