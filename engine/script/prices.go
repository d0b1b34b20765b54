package script

import lua "github.com/yuin/gopher-lua"

// prices are the prices of the interpreter's instructions, in units of work (package command):
// about a nanosecond of one core each. A negative price is a minimum, by its absolute value, and
// the rest depends on the operands of the instruction (thread.price). TestPrices compares the
// prices with measured times.
var prices = [...]int64{
	lua.OP_MOVE: 10, lua.OP_MOVEN: -10, lua.OP_LOADK: 10, lua.OP_LOADBOOL: 10, lua.OP_LOADNIL: -10, lua.OP_GETUPVAL: 12,
	lua.OP_GETGLOBAL: 45, lua.OP_GETTABLE: -25, lua.OP_GETTABLEKS: -25, lua.OP_SETGLOBAL: 50, lua.OP_SETUPVAL: 12,
	lua.OP_SETTABLE: 60, lua.OP_SETTABLEKS: 80, lua.OP_NEWTABLE: 60, lua.OP_SELF: -35,
	lua.OP_ADD: 18, lua.OP_SUB: 18, lua.OP_MUL: 18, lua.OP_DIV: 18, lua.OP_MOD: 25, lua.OP_POW: 80, lua.OP_UNM: 18,
	lua.OP_NOT: 10, lua.OP_LEN: 20, lua.OP_CONCAT: 100, lua.OP_JMP: 10, lua.OP_EQ: 13, lua.OP_LT: 13, lua.OP_LE: 13,
	lua.OP_TEST: 10, lua.OP_TESTSET: 11, lua.OP_CALL: -28, lua.OP_TAILCALL: -40, lua.OP_RETURN: -20,
	lua.OP_FORLOOP: 25, lua.OP_FORPREP: 20, lua.OP_TFORLOOP: 60, lua.OP_SETLIST: -15, lua.OP_CLOSE: -12,
	lua.OP_CLOSURE: -60, lua.OP_VARARG: -15, lua.OP_NOP: 10,
}

// Prices that instructions cost in addition.
const (
	priceEnter    = 20 // a function that begins
	priceRegister = 2  // a register of a function, when it begins and when it ends
	priceValue    = 3  // a value that is passed, if the number of values is not fixed
	priceElement  = 8  // an element that a constructor sets
	priceHop      = 35 // a table that is asked in place of another one
	priceUpvalue  = 25 // a variable that a new closure shares
	priceShared   = 2  // a shared variable, when the interpreter goes through all of them
)

// Prices of the library. The price of work on many bytes is either the number of bytes for one
// unit, or the price of one byte.
const (
	// allocated bytes; of a piece the bytes beyond bytesMany cost a fourth
	priceBytes, bytesMany = 3, 4096
	bytesCopied           = 4
	// bytesCompared are bytes that are compared or searched, bytesHashed are the bytes of a key.
	bytesCompared, bytesHashed = 16, 6

	priceArgument  = 6  // an argument of a function, or a result
	priceNumber    = 14 // a number that is made
	priceNumeral   = 100
	priceDigit     = 4
	priceLongDigit = 25
	priceBit       = 3
	pricePart      = 15
	pricePair      = 40
	priceConcat    = 30
	priceFormat    = 70
	priceReplace   = 60 // a match that gsub replaces
	priceSearch    = 2
	priceSort      = 60

	priceTable                            = 60
	priceKey                              = 150
	priceFar, priceFarther, priceFarthest = 50, 200, 600
	priceKeyRead                          = 30
	priceNext                             = 40
	priceHole                             = 15
	priceSkip                             = 8
	priceMove                             = 30 // an element that is moved

	pricePCall    = 120
	priceError    = 1000 // an error that is caught
	priceRaise    = 1200 // in addition, if the interpreter or the library raised it
	priceCallback = 80   // a call by the library
	priceLevel    = 2    // of the stack
	priceResume   = 200

	priceSingle      = 8 // a character that is compared with an item of a pattern
	priceMatch       = 12
	pricePatternByte = 2

	priceJSON     = 40
	priceJSONByte = 2
	pricePack     = 30
	priceStruct   = 22

	priceSHA1, priceSHA1Byte = 200, 1

	priceCommand          = 150
	priceLog              = 300
	priceReply            = 15
	priceRegisterFunction = 300

	priceProgram     = 5_000
	priceArg         = 30 // an argument of a program
	priceInterpreter = 100_000

	// Compiling a text costs for each of its bytes, and for comparing its names and constants.
	namesCompared, priceSpace      = 2, 10
	priceCompile, priceSourceByte  = 5000, 300
	compiledCost, compiledByteCost = 16 << 10, 256
)
