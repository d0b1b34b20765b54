package command

import (
	"lockstep/engine/command/arg"
)

// argBitUnit says whether places are counted in bytes or in bits.
var argBitUnit = arg.OneOf("index_unit", arg.Token("byte", "BYTE"), arg.Token("bit", "BIT")).AddedIn("7.0.0").Opt()

// argField is where a field stands and of what type it is, behind a token.
func argField(name string, more ...arg.Arg) arg.Arg {
	return arg.Block(name, append([]arg.Arg{arg.Of("encoding", "string"), arg.Of("offset", "integer")}, more...)...)
}

// BitmapFamily are the commands on bitmaps. Handlers stand in bitmaps_*.go; what
// they compute, in package bitmap.
var BitmapFamily = []*Spec{
	{
		Name: "setbit", Arity: 4, Flags: Write | DenyOOM, Cats: CatBitmap,
		Keys: OneKey(KeyRW | KeyAccess | KeyUpdate), Run: runSetBit, HeavyIf: farBits, Grows: setBitGrowth,
		Group: "bitmap", Since: "2.2.0",
		Summary: "Sets a bit of the string a key holds and returns what it was.", Complexity: "O(1), plus the zero bytes filled in",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("offset", "integer"), arg.Of("value", "integer")},
	},
	{
		Name: "getbit", Arity: 3, Flags: ReadOnly | Fast, Cats: CatBitmap,
		Keys: OneKey(KeyRO | KeyAccess), Run: runGetBit,
		Group: "bitmap", Since: "2.2.0",
		Summary: "Returns a bit of the string a key holds.", Complexity: "O(1)",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("offset", "integer")},
	},
	{
		Name: "bitcount", Arity: -2, Flags: ReadOnly | Heavy, Cats: CatBitmap,
		Keys: OneKey(KeyRO | KeyAccess), Run: runBitCount,
		Group: "bitmap", Since: "2.6.0",
		Summary: "Counts the ones in the string a key holds, or in part of it.", Complexity: "O(N) with N the length of the part",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.Block("index", arg.Of("start", "integer"), arg.Of("end", "integer"), argBitUnit).Opt(),
		},
	},
	{
		Name: "bitpos", Arity: -3, Flags: ReadOnly | Heavy, Cats: CatBitmap,
		Keys: OneKey(KeyRO | KeyAccess), Run: runBitPos,
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
		Name: "bitop", Arity: -4, Flags: Write | DenyOOM | Heavy, Cats: CatBitmap,
		Keys: []KeySpec{
			{Flags: KeyOW | KeyUpdate, First: 2, Last: 2, Step: 1},
			{Flags: KeyRO | KeyAccess, First: 3, Last: -1, Step: 1},
		},
		Run:   runBitOp,
		Group: "bitmap", Since: "2.6.0",
		Summary: "Combines strings bit by bit and stores the result.", Complexity: "O(N) with N the length of the longest string, for each string",
		Args: []arg.Arg{arg.Of("operation", "string"), arg.Key("destkey", 1), arg.Key("key", 2).Many()},
	},
	{
		Name: "bitfield", Arity: -2, Flags: Write | DenyOOM, Cats: CatBitmap,
		Keys:       []KeySpec{{Flags: KeyRW | KeyAccess | KeyUpdate | KeyVariableFlags, First: 1, Last: 1, Step: 1, ModeOf: bitFieldMode}},
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
		Name: "bitfield_ro", Arity: -2, Flags: ReadOnly | Fast, Cats: CatBitmap,
		Keys: OneKey(KeyRO | KeyAccess), Run: runBitFieldRO,
		Group: "bitmap", Since: "6.0.0",
		Summary: "Reads integers of any width in the string a key holds.", Complexity: "O(1) for each operation",
		Args: []arg.Arg{arg.Key("key", 1), argField("encoding_offset").After("GET").Opt().ManyEach()},
	},
}
