package command

import (
	"strconv"
	"strings"
)

// bitAt is a place of a bit, mostly near.
func (g generator) bitAt() string {
	switch g.Intn(12) {
	case 0:
		return g.pick("-1", "x", "", "01", "4294967296", "4294967295000", "9223372036854775807", "#1", "#")
	case 1:
		return strconv.Itoa(g.Intn(5000))
	default:
		return strconv.Itoa(g.Intn(120))
	}
}

// fieldAt is a place of a field.
func (g generator) fieldAt() string {
	if g.Intn(3) == 0 {
		return "#" + g.pick(strconv.Itoa(g.Intn(20)), "-1", "x", "2305843009213693952", "9223372036854775807")
	}
	return g.bitAt()
}

func (g generator) fieldType() string {
	if g.Intn(20) == 0 {
		return g.pick("i0", "i65", "u0", "u64", "x8", "", "i", "u", "8", "i-1", "u08", "I8", "i8\x00x")
	}
	return g.pick("i", "u") + strconv.Itoa(1+g.Intn(63))
}

func (g generator) fieldOp() string {
	at := g.fieldType() + "\x01" + g.fieldAt()
	switch g.Intn(7) {
	case 0, 1:
		return g.pick("get", "GET") + "\x01" + at
	case 2, 3:
		return "set\x01" + at + "\x01" + g.number()
	case 4, 5:
		return "incrby\x01" + at + "\x01" + g.number()
	}
	return "overflow\x01" + g.pick("wrap", "SAT", "fail", "fail", "sat", "x")
}

// fields are the operations of a BITFIELD.
func (g generator) fields(op func() string) string {
	var ops []string
	for range g.Intn(5) {
		ops = append(ops, op())
	}
	return "\x02" + strings.Join(ops, "\x01")
}

// bitValue is a text for a bitmap: all ones, all zeros or any.
func (g generator) bitValue() string {
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
	return g.value()
}

func (g generator) small() string { return strconv.Itoa(g.Intn(400) - 150) }

func (g generator) fieldGet() string {
	if g.Intn(12) == 0 {
		return g.fieldOp()
	}
	return "get\x01" + g.fieldType() + "\x01" + g.fieldAt()
}

var bitCommands = []func(generator) []string{
	func(g generator) []string { return []string{"set", g.key(), g.bitValue()} },
	func(g generator) []string { return []string{"get", g.key()} },
	func(g generator) []string { return []string{"append", g.key(), g.bitValue()} },
	func(g generator) []string { return []string{g.pick("del", "strlen", "exists"), g.key()} },
	func(g generator) []string { return []string{"object", "encoding", g.key()} },
	func(g generator) []string { return []string{"pexpireat", g.key(), "4000000000123"} },
	func(g generator) []string { return []string{"pexpiretime", g.key()} },
	func(g generator) []string {
		return []string{"setbit", g.key(), g.bitAt(), g.pick("0", "1", "0", "1", "0", "1", "2", "-1", "x")}
	},
	func(g generator) []string { return []string{"getbit", g.key(), g.bitAt()} },
	func(g generator) []string { return []string{"bitcount", g.key()} },
	func(g generator) []string {
		return []string{"bitcount", g.key(), g.number(), g.number(), "\x02" + g.some(1, "bit", "BYTE", "x", "bit\x01byte")}
	},
	func(g generator) []string {
		return []string{"bitcount", g.key(), g.small(), g.small(), g.pick("bit", "byte")}
	},
	func(g generator) []string { return []string{"bitpos", g.key(), g.pick("0", "1", "2", "x")} },
	func(g generator) []string {
		return []string{"bitpos", g.key(), g.pick("0", "1"), g.number(), "\x02" + g.some(1, g.number(), g.number()+"\x01"+g.pick("bit", "BYTE", "x"), "1\x012\x01bit\x01x")}
	},
	func(g generator) []string {
		return []string{"bitpos", g.key(), g.pick("0", "1"), g.small(), g.small(), g.pick("bit", "byte")}
	},
	func(g generator) []string {
		return []string{"bitop", g.pick("and", "OR", "xor", "and", "or", "xor", "not", "nand"), g.key(), g.key(), "\x02" + g.some(3, g.key(), g.key())}
	},
	func(g generator) []string { return []string{"bitop", "not", g.key(), g.key()} },
	func(g generator) []string { return []string{"bitfield", g.key(), g.fields(g.fieldOp)} },
	func(g generator) []string { return []string{"bitfield", g.key(), g.fields(g.fieldOp)} },
	func(g generator) []string { return []string{"bitfield_ro", g.key(), g.fields(g.fieldGet)} },
}
