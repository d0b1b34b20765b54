// Package hllcmd is the commands on HyperLogLogs: PFADD, PFCOUNT, PFMERGE and those for tests.
//
// Rows has a row for each command. Package hll implements HyperLogLogs and their form in the bytes of
// a string. A client may have written those bytes itself, so a handler checks them before it relies
// on them.
package hllcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// Rows are the commands on HyperLogLogs.
var Rows = []*command.Spec{
	{
		Name: "pfadd", Arity: -2, Flags: command.Write | command.DenyOOM | command.Fast, Cats: command.CatHyperLogLog,
		Keys: command.OneKey(command.KeyRW | command.KeyInsert), Run: runPFAdd,
		Group: "hyperloglog", Since: "2.8.9",
		Summary: "Adds elements to a HyperLogLog.", Complexity: "O(1) for each element",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("element", "string").Opt().Many()},
	},
	{
		Name: "pfcount", Arity: -2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatHyperLogLog,
		Keys: []command.KeySpec{{Flags: command.KeyRW | command.KeyAccess, First: 1, Last: -1, Step: 1, ModeOf: command.SharedKey}}, Run: runPFCount,
		Group: "hyperloglog", Since: "2.8.9",
		Summary: "Estimates how many different elements were added to HyperLogLogs.", Complexity: "O(N) with N the number of keys, 16384 registers each",
		Args: []arg.Arg{arg.Key("key", 1).Many()},
	},
	{
		Name: "pfmerge", Arity: -2, Flags: command.Write | command.DenyOOM | command.Heavy, Cats: command.CatHyperLogLog,
		Keys: command.StoreKeys(command.KeyRW | command.KeyAccess | command.KeyInsert), Run: runPFMerge,
		Group: "hyperloglog", Since: "2.8.9",
		Summary: "Adds to a HyperLogLog all that was added to others.", Complexity: "O(N) with N the number of keys, 16384 registers each",
		Args: []arg.Arg{arg.Key("destkey", 1), arg.Key("sourcekey", 2).Many()},
	},
	{
		Name: "pfdebug", System: true, Arity: 3, Flags: command.Write | command.DenyOOM | command.Admin | command.Heavy, Cats: command.CatHyperLogLog,
		Keys: command.SecondKey(command.KeyRW | command.KeyAccess), Run: runPFDebug,
		Group: "hyperloglog", Since: "2.8.9",
		Summary: "Looks into a HyperLogLog.", Complexity: "O(1), 16384 registers",
		Args: []arg.Arg{arg.Of("subcommand", "string"), arg.Key("key", 1)},
	},
	{
		Name: "pfselftest", System: true, Arity: 1, Flags: command.Admin | command.Heavy, Cats: command.CatHyperLogLog,
		Run:   runPFSelfTest,
		Group: "hyperloglog", Since: "2.8.9",
		Summary: "Checks that HyperLogLogs count as they should.", Complexity: "O(1), some tens of milliseconds",
	},
}
