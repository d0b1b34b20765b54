package command

// Commands that clients cannot send: the gateway makes them, and proto/client
// refuses them from outside (Spec.Internal).
var internalFamily = []*Spec{
	{
		Name: "lockstep.versions", Arity: -2, Flags: ReadOnly, Keys: []KeySpec{{Flags: KeyRO, First: 1, Last: -1, Step: 1}},
		Run: runVersions, Group: "internal", Summary: "Answers the versions of keys, for WATCH.",
	},
}

// Internal tells whether the command is for Lockstep itself alone.
func (s *Spec) Internal() bool { return s.Group == "internal" }

// runVersions answers, for each key, its version (0: no such key) and the
// number of the last txn executed: fsm.Watch's Version and SeenAt.
func runVersions(c *Ctx, args [][]byte) {
	c.Out.Array(2 * (len(args) - 1))
	for _, key := range args[1:] {
		var version uint64
		if e := c.Peek(key); e != nil {
			version = e.Version
		}
		c.Out.Int(int64(version))
		c.Out.Int(int64(c.TxnNo))
	}
}
