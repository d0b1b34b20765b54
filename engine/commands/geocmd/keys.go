package geocmd

import (
	"lockstep/engine/command"
	"lockstep/engine/sched"
)

// geoOptionsAt is where Redis begins to look for STORE. For GEORADIUSBYMEMBER this is the first
// option; any word may stand before it, because Redis does not look at the unit if the index does
// not exist. For GEORADIUS this is the unit, and the command fails if the unit is STORE.
const geoOptionsAt = 5

// geoStoreKey is the key spec of the key that GEORADIUS stores to: the argument behind a word.
// COMMAND INFO gives the argument at which the search for the word starts. The last such word
// counts, whether STORE or STOREDIST.
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
