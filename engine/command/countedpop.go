package command

// CountedPop is the arguments of LMPOP, ZMPOP and their blocking forms.
type CountedPop struct {
	Keys [][]byte
	// Second is set if elements are removed from the second of the two ends.
	Second bool
	Count  int64
}

// The ends that elements are removed from.
var (
	ListEnds      = [2]string{"left", "right"}
	SortedSetEnds = [2]string{"min", "max"}
)

// ParseCountedPop reads the arguments from the number of keys on. problem is the error to answer,
// or "".
func ParseCountedPop(args [][]byte, ends [2]string) (p CountedPop, problem string) {
	n, ok := ParseInt(args[0])
	if !ok || n < 1 {
		return p, ErrNumKeys
	}
	if n >= int64(len(args)-1) {
		return p, ErrSyntax
	}
	p.Keys, p.Count = args[1:1+n], 1
	switch end := args[1+n]; {
	case EqualFold(end, ends[0]):
	case EqualFold(end, ends[1]):
		p.Second = true
	default:
		return p, ErrSyntax
	}
	rest := args[2+n:]
	if len(rest) == 0 {
		return p, ""
	}
	if len(rest) == 1 || !EqualFold(rest[0], "count") {
		return p, ErrSyntax
	}
	if p.Count, ok = ParseInt(rest[1]); !ok || p.Count < 1 {
		return p, ErrCountPositive
	}
	if len(rest) > 2 {
		return p, ErrSyntax
	}
	return p, ""
}

// HasCount reports whether a command that picks one element has the argument that makes it pick
// several (LPOP, SRANDMEMBER).
func HasCount(args [][]byte) bool { return len(args) > 2 }

// PopsCounted reports whether LMPOP or its like has a count.
func PopsCounted(args [][]byte) bool {
	return len(args) > 2 && EqualFold(args[len(args)-2], "count")
}
