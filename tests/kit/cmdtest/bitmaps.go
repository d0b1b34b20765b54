package cmdtest

import (
	"strconv"
	"strings"
)

// bitAt is the position of a bit, mostly a small one.
func (g Generator) bitAt() string {
	switch g.Intn(12) {
	case 0:
		return g.Pick("-1", "x", "", "01", "4294967296", "4294967295000", "9223372036854775807", "#1", "#")
	case 1:
		return strconv.Itoa(g.Intn(5000))
	default:
		return strconv.Itoa(g.Intn(120))
	}
}

// fieldAt is the position of a field.
func (g Generator) fieldAt() string {
	if g.Intn(3) == 0 {
		return "#" + g.Pick(strconv.Itoa(g.Intn(20)), "-1", "x", "2305843009213693952", "9223372036854775807")
	}
	return g.bitAt()
}

func (g Generator) fieldType() string {
	if g.Intn(20) == 0 {
		return g.Pick("i0", "i65", "u0", "u64", "x8", "", "i", "u", "8", "i-1", "u08", "I8", "i8\x00x")
	}
	return g.Pick("i", "u") + strconv.Itoa(1+g.Intn(63))
}

func (g Generator) fieldOp() string {
	at := g.fieldType() + "\x01" + g.fieldAt()
	switch g.Intn(7) {
	case 0, 1:
		return g.Pick("get", "GET") + "\x01" + at
	case 2, 3:
		return "set\x01" + at + "\x01" + g.Number()
	case 4, 5:
		return "incrby\x01" + at + "\x01" + g.Number()
	}
	return "overflow\x01" + g.Pick("wrap", "SAT", "fail", "fail", "sat", "x")
}

// fields are the operations of a BITFIELD.
func (g Generator) fields(op func() string) string {
	var ops []string
	for range g.Intn(5) {
		ops = append(ops, op())
	}
	return "\x02" + strings.Join(ops, "\x01")
}

// bitValue is a text for a bitmap: all ones, all zeros or any.
func (g Generator) bitValue() string {
	switch g.Intn(4) {
	case 0:
		return strings.Repeat("\xff", g.Intn(40))
	case 1:
		return strings.Repeat("\x00", g.Intn(40))
	case 2:
		b := make([]byte, g.Intn(40))
		g.Read(b)
		return string(b)
	}
	return g.Value()
}

func (g Generator) small() string { return strconv.Itoa(g.Intn(400) - 150) }

func (g Generator) fieldGet() string {
	if g.Intn(12) == 0 {
		return g.fieldOp()
	}
	return "get\x01" + g.fieldType() + "\x01" + g.fieldAt()
}

var BitCommands = []func(Generator) []string{
	func(g Generator) []string { return []string{"set", g.Key(), g.bitValue()} },
	func(g Generator) []string { return []string{"get", g.Key()} },
	func(g Generator) []string { return []string{"append", g.Key(), g.bitValue()} },
	func(g Generator) []string { return []string{g.Pick("del", "strlen", "exists"), g.Key()} },
	func(g Generator) []string { return []string{"object", "encoding", g.Key()} },
	func(g Generator) []string { return []string{"pexpireat", g.Key(), "4000000000123"} },
	func(g Generator) []string { return []string{"pexpiretime", g.Key()} },
	func(g Generator) []string {
		return []string{"setbit", g.Key(), g.bitAt(), g.Pick("0", "1", "0", "1", "0", "1", "2", "-1", "x")}
	},
	func(g Generator) []string { return []string{"getbit", g.Key(), g.bitAt()} },
	func(g Generator) []string { return []string{"bitcount", g.Key()} },
	func(g Generator) []string {
		return []string{"bitcount", g.Key(), g.Number(), g.Number(), "\x02" + g.Some(1, "bit", "BYTE", "x", "bit\x01byte")}
	},
	func(g Generator) []string {
		return []string{"bitcount", g.Key(), g.small(), g.small(), g.Pick("bit", "byte")}
	},
	func(g Generator) []string { return []string{"bitpos", g.Key(), g.Pick("0", "1", "2", "x")} },
	func(g Generator) []string {
		return []string{"bitpos", g.Key(), g.Pick("0", "1"), g.Number(), "\x02" + g.Some(1, g.Number(), g.Number()+"\x01"+g.Pick("bit", "BYTE", "x"), "1\x012\x01bit\x01x")}
	},
	func(g Generator) []string {
		return []string{"bitpos", g.Key(), g.Pick("0", "1"), g.small(), g.small(), g.Pick("bit", "byte")}
	},
	func(g Generator) []string {
		return []string{"bitop", g.Pick("and", "OR", "xor", "and", "or", "xor", "not", "nand"), g.Key(), g.Key(), "\x02" + g.Some(3, g.Key(), g.Key())}
	},
	func(g Generator) []string { return []string{"bitop", "not", g.Key(), g.Key()} },
	func(g Generator) []string { return []string{"bitfield", g.Key(), g.fields(g.fieldOp)} },
	func(g Generator) []string { return []string{"bitfield", g.Key(), g.fields(g.fieldOp)} },
	func(g Generator) []string { return []string{"bitfield_ro", g.Key(), g.fields(g.fieldGet)} },
}
