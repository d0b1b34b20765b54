package geocmd

import (
	"lockstep/engine/command"
	"lockstep/engine/sched"
)

// geoOptionsAt is where Redis begins to look for STORE: at the first option of
// GEORADIUSBYMEMBER, before which any word may stand, for without an index its unit is
// not looked at; and at the unit of GEORADIUS, which fails with such a one.
const geoOptionsAt = 5

// geoStoreKey is the key spec of a key that GEORADIUS stores to: the one behind
// a word, which COMMAND INFO says to look for from a place on. The last such word
// counts, be it STORE or STOREDIST.
func geoStoreKey(word string, from int) command.KeySpec {
	find := func(args [][]byte) (pos int, stores bool) {
		for i := geoOptionsAt; i+1 < len(args); i++ {
			if command.EqualFold(args[i], "store") || command.EqualFold(args[i], "storedist") {
				i++
				pos = i
			}
		}
		return pos, pos > 0
	}
	return command.KeySpec{
		Flags: command.KeyOW | command.KeyUpdate, Step: 1, Keyword: &command.Keyword{Word: word, From: from},
		Find: func(dst []int, args [][]byte) []int {
			if pos, stores := find(args); stores && len(args[pos-1]) == len(word) {
				return append(dst, pos)
			}
			return nil
		},
		ModeOf: func(args [][]byte) sched.Mode {
			if _, stores := find(args); stores {
				return sched.Exclusive
			}
			return sched.Shared
		},
	}
}
