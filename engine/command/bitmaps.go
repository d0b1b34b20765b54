package command

// argBitUnit says whether places are counted in bytes or in bits.
var argBitUnit = argOneOf("index_unit", argToken("byte", "BYTE"), argToken("bit", "BIT")).since("7.0.0").optional()

// argField is where a field stands and of what type it is, behind a token.
func argField(name string, more ...Arg) Arg {
	return argBlock(name, append([]Arg{arg("encoding", "string"), arg("offset", "integer")}, more...)...)
}

// bitmapFamily are the commands on bitmaps. Handlers stand in bitmaps_*.go; what
// they compute, in package bitmap.
var bitmapFamily = []*Spec{
	{
		Name: "setbit", Arity: 4, Flags: Write | DenyOOM, Cats: CatBitmap,
		Keys: oneKey(KeyRW | KeyAccess | KeyUpdate), Run: runSetBit, HeavyIf: farBits, Grows: setBitGrowth,
		Group: "bitmap", Since: "2.2.0",
		Summary: "Sets a bit of the string a key holds and returns what it was.", Complexity: "O(1), plus the zero bytes filled in",
		Args: []Arg{argKey("key", 1), arg("offset", "integer"), arg("value", "integer")},
	},
	{
		Name: "getbit", Arity: 3, Flags: ReadOnly | Fast, Cats: CatBitmap,
		Keys: oneKey(KeyRO | KeyAccess), Run: runGetBit,
		Group: "bitmap", Since: "2.2.0",
		Summary: "Returns a bit of the string a key holds.", Complexity: "O(1)",
		Args: []Arg{argKey("key", 1), arg("offset", "integer")},
	},
	{
		Name: "bitcount", Arity: -2, Flags: ReadOnly | Heavy, Cats: CatBitmap,
		Keys: oneKey(KeyRO | KeyAccess), Run: runBitCount,
		Group: "bitmap", Since: "2.6.0",
		Summary: "Counts the ones in the string a key holds, or in part of it.", Complexity: "O(N) with N the length of the part",
		Args: []Arg{
			argKey("key", 1),
			argBlock("index", arg("start", "integer"), arg("end", "integer"), argBitUnit).optional(),
		},
	},
	{
		Name: "bitpos", Arity: -3, Flags: ReadOnly | Heavy, Cats: CatBitmap,
		Keys: oneKey(KeyRO | KeyAccess), Run: runBitPos,
		Group: "bitmap", Since: "2.8.7",
		Summary: "Finds the first one, or the first zero, in the string a key holds.", Complexity: "O(N) with N the length of the part",
		Args: []Arg{
			argKey("key", 1),
			arg("bit", "integer"),
			argBlock("index",
				arg("start", "integer"),
				argBlock("end_index", arg("end", "integer"), argBitUnit).optional(),
			).optional(),
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
		Args: []Arg{arg("operation", "string"), argKey("destkey", 1), argKey("key", 2).multiple()},
	},
	{
		Name: "bitfield", Arity: -2, Flags: Write | DenyOOM, Cats: CatBitmap,
		Keys:       []KeySpec{{Flags: KeyRW | KeyAccess | KeyUpdate | KeyVariableFlags, First: 1, Last: 1, Step: 1, ModeOf: bitFieldMode}},
		KeyFlagsOf: flagsOfBitField,
		Run:        runBitField, HeavyIf: farBits, Grows: bitFieldGrowth,
		Group: "bitmap", Since: "3.2.0",
		Summary: "Reads and changes integers of any width in the string a key holds.", Complexity: "O(1) for each operation, plus the zero bytes filled in",
		Args: []Arg{argKey("key", 1), argOneOf("operation",
			argField("encoding_offset").token("GET"),
			argBlock("write",
				argOneOf("wrap_sat_fail", argToken("wrap", "WRAP"), argToken("sat", "SAT"), argToken("fail", "FAIL")).token("OVERFLOW").optional(),
				argOneOf("write_operation",
					argField("encoding_offset_value", arg("value", "integer")).token("SET"),
					argField("encoding_offset_increment", arg("increment", "integer")).token("INCRBY"),
				),
			),
		).optional().multiple()},
	},
	{
		Name: "bitfield_ro", Arity: -2, Flags: ReadOnly | Fast, Cats: CatBitmap,
		Keys: oneKey(KeyRO | KeyAccess), Run: runBitFieldRO,
		Group: "bitmap", Since: "6.0.0",
		Summary: "Reads integers of any width in the string a key holds.", Complexity: "O(1) for each operation",
		Args: []Arg{argKey("key", 1), argField("encoding_offset").token("GET").optional().multipleToken()},
	},
}
