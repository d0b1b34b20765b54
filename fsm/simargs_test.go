package fsm

import "fmt"

// simArgs draw the arguments of commands that would seldom succeed with random words.
var simArgs = map[string]func(l *simLog) []string{
	"setbit":   func(l *simLog) []string { return []string{l.key(""), l.number(300), l.number(2)} },
	"getbit":   func(l *simLog) []string { return []string{l.key(""), l.number(300)} },
	"bitcount": func(l *simLog) []string { return []string{l.key(""), l.number(9), l.number(90), l.pick("BIT", "BYTE")} },
	"bitpos":   func(l *simLog) []string { return []string{l.key(""), l.number(2), l.number(9), "-1", "BIT"} },
	"bitop": func(l *simLog) []string {
		return []string{l.pick("AND", "OR", "XOR"), l.key(""), l.key(""), l.key("")}
	},
	"bitfield": func(l *simLog) []string {
		return []string{
			l.key(""), "SET", "u" + l.oneTo(63), l.number(90), l.number(999), "OVERFLOW", l.pick("WRAP", "SAT", "FAIL"),
			"INCRBY", "i" + l.oneTo(64), "#" + l.number(5), l.number(1 << 40), "GET", "u8", "0",
		}
	},
	"bitfield_ro": func(l *simLog) []string { return []string{l.key(""), "GET", "i" + l.oneTo(64), l.number(90)} },
	"pfadd":       func(l *simLog) []string { return []string{l.key("p"), l.number(5000), l.number(5000), l.number(5000)} },
	"pfcount":     func(l *simLog) []string { return []string{l.key("p"), l.key("p")} },
	"pfmerge":     func(l *simLog) []string { return []string{l.key("p"), l.key("p"), l.key("p")} },
	"pfdebug":     func(l *simLog) []string { return []string{l.pick("DECODE", "ENCODING", "TODENSE"), l.key("p")} },
	"delifeq":     func(l *simLog) []string { return []string{l.key(""), l.number(200)} },
}

func (l *simLog) key(kind string) string {
	return fmt.Sprintf("{k%d}%s%d", l.rng.IntN(12), kind, l.rng.IntN(3))
}

func (l *simLog) number(below int) string { return fmt.Sprint(l.rng.IntN(below)) }

func (l *simLog) oneTo(n int) string { return fmt.Sprint(1 + l.rng.IntN(n)) }

// draw draws the arguments of a command, including its name. It returns nil if they should be
// random.
func (l *simLog) draw(name string) [][]byte {
	draw := simArgs[name]
	if draw == nil || l.rng.IntN(8) == 0 {
		return nil
	}
	args := [][]byte{[]byte(name)}
	for _, a := range draw(l) {
		args = append(args, []byte(a))
	}
	return args
}
