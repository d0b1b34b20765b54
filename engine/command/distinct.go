package command

// repeatsKept is the number of operands up to which a search for repeated ones is not worth it.
const repeatsKept = 16

// Distinct leaves out all repetitions. A client can name one large key a million times in one
// command. If repetitions change nothing, the work is then bounded by the size of the values, and
// not by that times the number of names.
func Distinct[T comparable](all []T) []T {
	if len(all) <= repeatsKept {
		return all
	}
	seen := make(map[T]bool, repeatsKept)
	kept := all[:0:0]
	for _, v := range all {
		if !seen[v] {
			seen[v] = true
			kept = append(kept, v)
		}
	}
	return kept
}

// InPairs leaves out pairs of the same operand, except for the first pair of each. That is for
// BITOP XOR, where two of the same cancel out but still have a length.
func InPairs[T comparable](all []T) []T {
	if len(all) <= repeatsKept {
		return all
	}
	times := make(map[T]int, repeatsKept)
	for _, v := range all {
		times[v]++
	}
	kept := all[:0:0]
	for _, v := range all {
		if n := times[v]; n > 0 {
			times[v] = 0
			kept = append(kept, v)
			if n%2 == 0 {
				kept = append(kept, v)
			}
		}
	}
	return kept
}
