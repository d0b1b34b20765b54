package command

// repeatsKept is the number of operands up to which it is not worth looking for
// repeated ones.
const repeatsKept = 16

// Distinct leaves out what stands in all before. A client can name one large key
// a million times in one command; where repeats change nothing, the work is then
// bounded by what the keys hold, not by that times their number.
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

// InPairs leaves out pairs of the same, but for the first pair of each: for
// BITOP XOR, where two cancel out and still have a length.
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
