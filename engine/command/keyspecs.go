package command

import "lockstep/engine/sched"

// The shapes that key specs of most commands have.

// OneKey is the key spec of most commands: the first argument.
func OneKey(flags KeyFlag) []KeySpec { return []KeySpec{{Flags: flags, First: 1, Last: 1, Step: 1}} }

// AllKeys is the key spec of commands whose arguments all are keys.
func AllKeys(flags KeyFlag) []KeySpec { return []KeySpec{{Flags: flags, First: 1, Last: -1, Step: 1}} }

// TwoKeys is the key spec of commands whose first two arguments are keys with different access.
func TwoKeys(first, second KeyFlag) []KeySpec {
	return []KeySpec{{Flags: first, First: 1, Last: 1, Step: 1}, {Flags: second, First: 2, Last: 2, Step: 1}}
}

// SecondKey is the key spec of subcommands: the argument behind the subcommand.
func SecondKey(flags KeyFlag) []KeySpec {
	return []KeySpec{{Flags: flags, First: 2, Last: 2, Step: 1}}
}

// AllKeysButLast is the key spec of commands whose last argument is a timeout.
func AllKeysButLast(flags KeyFlag) []KeySpec {
	return []KeySpec{{Flags: flags, First: 1, Last: -2, Step: 1}}
}

// StoreKeys is the key spec of commands that combine several keys and store the result. The
// destination comes first.
func StoreKeys(flags KeyFlag) []KeySpec {
	return []KeySpec{
		{Flags: flags, First: 1, Last: 1, Step: 1},
		{Flags: KeyRO | KeyAccess, First: 2, Last: -1, Step: 1},
	}
}

// StoreCountedKeys is StoreKeys where the keys follow their number.
func StoreCountedKeys() []KeySpec {
	return []KeySpec{{Flags: KeyOW | KeyUpdate, First: 1, Last: 1, Step: 1}, CountedKeys(KeyRO|KeyAccess, 2)}
}

// CountedKeys is the key spec of keys that follow their number, which is
// argument at.
func CountedKeys(flags KeyFlag, at int) KeySpec {
	return KeySpec{
		Flags: flags, First: at, NumKeys: &[3]int{at, 1, 1},
		Find: func(dst []int, args [][]byte) []int {
			if at >= len(args) {
				return dst
			}
			n, ok := ParseInt(args[at])
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

// SharedKey is the ModeOf of keys that are only read, whatever their flags or the command's other
// keys.
func SharedKey([][]byte) sched.Mode { return sched.Shared }
