package command

import (
	"lockstep/engine/command/arg"
)

// HyperLogLogFamily are the commands on HyperLogLogs. Handlers stand in
// hyperloglog_*.go; what a HyperLogLog is, in package hll.
var HyperLogLogFamily = []*Spec{
	{
		Name: "pfadd", Arity: -2, Flags: Write | DenyOOM | Fast, Cats: CatHyperLogLog,
		Keys: OneKey(KeyRW | KeyInsert), Run: runPFAdd,
		Group: "hyperloglog", Since: "2.8.9",
		Summary: "Adds elements to a HyperLogLog.", Complexity: "O(1) for each element",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("element", "string").Opt().Many()},
	},
	{
		Name: "pfcount", Arity: -2, Flags: ReadOnly | Heavy, Cats: CatHyperLogLog,
		Keys: []KeySpec{{Flags: KeyRW | KeyAccess, First: 1, Last: -1, Step: 1, ModeOf: SharedKey}}, Run: runPFCount,
		Group: "hyperloglog", Since: "2.8.9",
		Summary: "Estimates how many different elements were added to HyperLogLogs.", Complexity: "O(N) with N the number of keys, 16384 registers each",
		Args: []arg.Arg{arg.Key("key", 1).Many()},
	},
	{
		Name: "pfmerge", Arity: -2, Flags: Write | DenyOOM | Heavy, Cats: CatHyperLogLog,
		Keys: StoreKeys(KeyRW | KeyAccess | KeyInsert), Run: runPFMerge,
		Group: "hyperloglog", Since: "2.8.9",
		Summary: "Adds to a HyperLogLog all that was added to others.", Complexity: "O(N) with N the number of keys, 16384 registers each",
		Args: []arg.Arg{arg.Key("destkey", 1), arg.Key("sourcekey", 2).Many()},
	},
	{
		Name: "pfdebug", System: true, Arity: 3, Flags: Write | DenyOOM | Admin | Heavy, Cats: CatHyperLogLog,
		Keys: SecondKey(KeyRW | KeyAccess), Run: runPFDebug,
		Group: "hyperloglog", Since: "2.8.9",
		Summary: "Looks into a HyperLogLog.", Complexity: "O(1), 16384 registers",
		Args: []arg.Arg{arg.Of("subcommand", "string"), arg.Key("key", 1)},
	},
	{
		Name: "pfselftest", System: true, Arity: 1, Flags: Admin | Heavy, Cats: CatHyperLogLog,
		Run:   runPFSelfTest,
		Group: "hyperloglog", Since: "2.8.9",
		Summary: "Checks that HyperLogLogs count as they should.", Complexity: "O(1), some tens of milliseconds",
	},
}
