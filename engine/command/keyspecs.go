package command

import "lockstep/engine/sched"

// The shapes that key specs of most commands have.

// oneKey is the key spec of most commands: the first argument.
func oneKey(flags KeyFlag) []KeySpec { return []KeySpec{{Flags: flags, First: 1, Last: 1, Step: 1}} }

// allKeys is the key spec of commands whose arguments all are keys.
func allKeys(flags KeyFlag) []KeySpec { return []KeySpec{{Flags: flags, First: 1, Last: -1, Step: 1}} }

// twoKeys is the key spec of commands whose first two arguments are keys that they
// do different things to.
func twoKeys(first, second KeyFlag) []KeySpec {
	return []KeySpec{{Flags: first, First: 1, Last: 1, Step: 1}, {Flags: second, First: 2, Last: 2, Step: 1}}
}

// secondKey is the key spec of subcommands: the argument behind them.
func secondKey(flags KeyFlag) []KeySpec {
	return []KeySpec{{Flags: flags, First: 2, Last: 2, Step: 1}}
}

// allKeysButLast is the key spec of commands whose last argument is a timeout.
func allKeysButLast(flags KeyFlag) []KeySpec {
	return []KeySpec{{Flags: flags, First: 1, Last: -2, Step: 1}}
}

// storeKeys is the key spec of commands that store what they make of several
// keys: the destination comes first.
func storeKeys(flags KeyFlag) []KeySpec {
	return []KeySpec{
		{Flags: flags, First: 1, Last: 1, Step: 1},
		{Flags: KeyRO | KeyAccess, First: 2, Last: -1, Step: 1},
	}
}

// storeCountedKeys is storeKeys where the keys follow their number.
func storeCountedKeys() []KeySpec {
	return []KeySpec{{Flags: KeyOW | KeyUpdate, First: 1, Last: 1, Step: 1}, countedKeys(KeyRO|KeyAccess, 2)}
}

// countedKeys is the key spec of keys that follow their number, which is
// argument at.
func countedKeys(flags KeyFlag, at int) KeySpec {
	return KeySpec{
		Flags: flags, First: at, NumKeys: &[3]int{at, 1, 1},
		Find: func(dst []int, args [][]byte) []int {
			if at >= len(args) {
				return dst
			}
			n, ok := parseInt(args[at])
			if !ok || n < 1 || n > int64(len(args)-at-1) {
				return dst
			}
			for i := range int(n) {
				dst = append(dst, at+1+i)
			}
			return dst
		},
	}
}

// sharedKey is the ModeOf of keys that are read, whatever their flags say or other
// keys of the command are.
func sharedKey([][]byte) sched.Mode { return sched.Shared }
