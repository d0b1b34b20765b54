package command

// countedPop is what LMPOP, ZMPOP and their blocking forms are told.
type countedPop struct {
	keys [][]byte
	// second: elements are taken off the second of the two ends.
	second bool
	count  int64
}

// The ends that elements are taken off.
var (
	listEnds      = [2]string{"left", "right"}
	sortedSetEnds = [2]string{"min", "max"}
)

// parseCountedPop reads the arguments from the number of keys on. problem is the
// error to answer, "" if there is none.
func parseCountedPop(args [][]byte, ends [2]string) (p countedPop, problem string) {
	n, ok := parseInt(args[0])
	if !ok || n < 1 {
		return p, ErrNumKeys
	}
	if n >= int64(len(args)-1) {
		return p, ErrSyntax
	}
	p.keys, p.count = args[1:1+n], 1
	switch end := args[1+n]; {
	case equalFold(end, ends[0]):
	case equalFold(end, ends[1]):
		p.second = true
	default:
		return p, ErrSyntax
	}
	rest := args[2+n:]
	if len(rest) == 0 {
		return p, ""
	}
	if len(rest) == 1 || !equalFold(rest[0], "count") {
		return p, ErrSyntax
	}
	if p.count, ok = parseInt(rest[1]); !ok || p.count < 1 {
		return p, ErrCountPositive
	}
	if len(rest) > 2 {
		return p, ErrSyntax
	}
	return p, ""
}

// hasCount tells whether a command that picks one element has the argument
// that makes it pick several (LPOP, SRANDMEMBER).
func hasCount(args [][]byte) bool { return len(args) > 2 }

// popsCounted tells whether LMPOP or its like is given a count.
func popsCounted(args [][]byte) bool {
	return len(args) > 2 && equalFold(args[len(args)-2], "count")
}
