package command

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
