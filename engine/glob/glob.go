// Package glob matches keys and names against Redis's patterns: * ? [a-z] [^x]
// and \ (redis.io, KEYS).
//
// A star is met by going back to the last one and letting it take a byte more,
// never by recursion, so the time is at most the product of the two lengths;
// Redis's own recursive matcher could be kept busy for hours by a pattern of
// stars (CVE-2022-36021).
package glob

// Match tells whether s matches pattern. With nocase ASCII letters match their
// other case.
func Match(pattern, s []byte, nocase bool) bool {
	p, i := 0, 0
	starP, starI := -1, 0
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			starP, starI = p, i
			p++
			continue
		}
		if p < len(pattern) {
			if next, ok := one(pattern, p, s[i], nocase); ok {
				p = next
				i++
				continue
			}
		}
		if starP < 0 {
			return false
		}
		starI++
		p, i = starP+1, starI
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// one matches the element of the pattern at p, which is no star, with c, and
// returns where the next element begins.
func one(pattern []byte, p int, c byte, nocase bool) (next int, ok bool) {
	switch pattern[p] {
	case '?':
		return p + 1, true
	case '[':
		return class(pattern, p+1, c, nocase)
	case '\\':
		if p+1 < len(pattern) {
			p++
		}
	}
	return p + 1, fold(pattern[p], nocase) == fold(c, nocase)
}

// class matches c with the class whose content begins at p. A class that is not
// closed ends with the pattern.
func class(pattern []byte, p int, c byte, nocase bool) (next int, ok bool) {
	not := p < len(pattern) && pattern[p] == '^'
	if not {
		p++
	}
	c = fold(c, nocase)
	match := false
	for {
		switch {
		case p >= len(pattern):
			return p, match != not
		case pattern[p] == '\\' && p+1 < len(pattern):
			p++
			match = match || fold(pattern[p], nocase) == c
		case pattern[p] == ']':
			return p + 1, match != not
		case p+2 < len(pattern) && pattern[p+1] == '-':
			low, high := pattern[p], pattern[p+2]
			if low > high {
				low, high = high, low
			}
			match = match || (fold(low, nocase) <= c && c <= fold(high, nocase))
			p += 2
		default:
			match = match || fold(pattern[p], nocase) == c
		}
		p++
	}
}

func fold(c byte, nocase bool) byte {
	if nocase && 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
