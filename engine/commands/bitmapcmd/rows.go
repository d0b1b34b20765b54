// Package bitmapcmd is the commands on the bits of strings: SETBIT, BITCOUNT, BITOP, BITFIELD and
// their like.
//
// Rows has a row for each command. Package bitmap does the work on the bits. A far bit makes a long
// string out of few bytes, so each row says how much a call grows its key (Spec.Grows), and a handler counts
// the zeros that it is about to write (Ctx.CopySteps) before it writes them.
package bitmapcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// argBitUnit says whether indexes count bytes or bits.
var argBitUnit = arg.OneOf("index_unit", arg.Token("byte", "BYTE"), arg.Token("bit", "BIT")).AddedIn("7.0.0").Opt()

// argField is the type and the offset of a field, behind a token.
func argField(name string, more ...arg.Arg) arg.Arg {
	return arg.Block(name, append([]arg.Arg{arg.Of("encoding", "string"), arg.Of("offset", "integer")}, more...)...)
}

// Rows are the commands on bitmaps.
var Rows = []*command.Spec{
	{
		Name: "setbit", Arity: 4, Flags: command.Write | command.DenyOOM, Cats: command.CatBitmap,
		Keys: command.OneKey(command.KeyRW | command.KeyAccess | command.KeyUpdate), Run: runSetBit, HeavyIf: farBits, Grows: setBitGrowth,
		Group: "bitmap", Since: "2.2.0",
		Summary: "Sets a bit of the string a key holds and returns what it was.", Complexity: "O(1), plus the zero bytes filled in",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("offset", "integer"), arg.Of("value", "integer")},
	},
	{
		Name: "getbit", Arity: 3, Flags: command.ReadOnly | command.Fast, Cats: command.CatBitmap,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runGetBit,
		Group: "bitmap", Since: "2.2.0",
		Summary: "Returns a bit of the string a key holds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("offset", "integer")},
	},
	{
		Name: "bitcount", Arity: -2, Flags: command.ReadOnly | command.Heavy, Cats: command.CatBitmap,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runBitCount,
		Group: "bitmap", Since: "2.6.0",
		Summary: "Counts the ones in the string a key holds, or in part of it.", Complexity: "O(N) with N the length of the part",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Block("index", arg.Of("start", "integer"), arg.Of("end", "integer"), argBitUnit).Opt(),
		},
	},
	{
		Name: "bitpos", Arity: -3, Flags: command.ReadOnly | command.Heavy, Cats: command.CatBitmap,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runBitPos,
		Group: "bitmap", Since: "2.8.7",
		Summary: "Finds the first one, or the first zero, in the string a key holds.", Complexity: "O(N) with N the length of the part",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Of("bit", "integer"),
			arg.Block("index",
				arg.Of("start", "integer"),
				arg.Block("end_index", arg.Of("end", "integer"), argBitUnit).Opt(),
			).Opt(),
		},
	},
	{
		Name: "bitop", Arity: -4, Flags: command.Write | command.DenyOOM | command.Heavy, Cats: command.CatBitmap,
		Keys: []command.KeySpec{
			{Flags: command.KeyOW | command.KeyUpdate, First: 2, Last: 2, Step: 1},
			{Flags: command.KeyRO | command.KeyAccess, First: 3, Last: -1, Step: 1},
		},
		Run:   runBitOp,
		Group: "bitmap", Since: "2.6.0",
		Summary: "Combines strings bit by bit and stores the result.", Complexity: "O(N) with N the length of the longest string, for each string",
		Args: []arg.Arg{arg.Of("operation", "string"), arg.Key("destkey", 1), arg.Key("key", 2).Many()},
	},
	{
		Name: "bitfield", Arity: -2, Flags: command.Write | command.DenyOOM, Cats: command.CatBitmap,
		Keys:       []command.KeySpec{{Flags: command.KeyRW | command.KeyAccess | command.KeyUpdate | command.KeyVariableFlags, First: 1, Last: 1, Step: 1, ModeOf: bitFieldMode}},
		KeyFlagsOf: flagsOfBitField,
		Run:        runBitField, HeavyIf: farBits, Grows: bitFieldGrowth,
		Group: "bitmap", Since: "3.2.0",
		Summary: "Reads and changes integers of any width in the string a key holds.", Complexity: "O(1) for each operation, plus the zero bytes filled in",
		Args: []arg.Arg{arg.Key("key", 1), arg.OneOf("operation",
			argField("encoding_offset").After("GET"),
			arg.Block("write",
				arg.OneOf("wrap_sat_fail", arg.Token("wrap", "WRAP"), arg.Token("sat", "SAT"), arg.Token("fail", "FAIL")).After("OVERFLOW").Opt(),
				arg.OneOf("write_operation",
					argField("encoding_offset_value", arg.Of("value", "integer")).After("SET"),
					argField("encoding_offset_increment", arg.Of("increment", "integer")).After("INCRBY"),
				),
			),
		).Opt().Many()},
	},
	{
		Name: "bitfield_ro", Arity: -2, Flags: command.ReadOnly | command.Fast, Cats: command.CatBitmap,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runBitFieldRO,
		Group: "bitmap", Since: "6.0.0",
		Summary: "Reads integers of any width in the string a key holds.", Complexity: "O(1) for each operation",
		Args: []arg.Arg{arg.Key("key", 1), argField("encoding_offset").After("GET").Opt().ManyEach()},
	},
}
