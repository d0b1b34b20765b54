// Package glob matches keys and names against Redis's patterns: * ? [a-z] [^x] and \ (redis.io,
// KEYS).
//
// A star is handled without recursion: the matcher goes back to the last star and lets it take one
// more byte. So the time is at most the product of the two lengths. A pattern of stars could keep
// Redis's own recursive matcher busy for hours (CVE-2022-36021). If both lengths are great the
// product is hours, too: see triesMax.
package glob

// triesMax is how many bytes of the pattern a match may look at, beyond those that matching takes
// at least: some tenths of a second. Only a pattern and a text of thousands of bytes each, made for
// the purpose, need more; they count as not matching.
const (
	triesMax     = 1 << 25
	triesSoonMax = 1 << 16
)

// Match reports whether s matches pattern. With nocase ASCII letters match their
// other case.
func Match(pattern, s []byte, nocase bool) bool {
	ok, _ := MatchTries(pattern, s, nocase)
	return ok
}

// MatchTries is Match, and returns how many bytes of the pattern it has looked at, beyond those
// that matching takes at least.
func MatchTries(pattern, s []byte, nocase bool) (ok bool, tries int) {
	return match(pattern, s, nocase, triesMax)
}

// MatchSoon is Match for one of many patterns, or one of many texts: it gives up after some tens of
// microseconds. Names of some hundreds of bytes never need as many tries.
func MatchSoon(pattern, s []byte) bool {
	ok, _ := match(pattern, s, false, triesSoonMax)
	return ok
}

func match(pattern, s []byte, nocase bool, triesMax int) (ok bool, tries int) {
	p, i := 0, 0
	starP, starI := -1, 0
	tries = -2*len(s) - len(pattern)
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			starP, starI = p, i
			p++
			continue
		}
		if p < len(pattern) {
			next, ok := one(pattern, p, s[i], nocase)
			tries += next - p
			if ok {
				p = next
				i++
				continue
			}
		}
		if starP < 0 || tries > triesMax {
			return false, max(tries, 0)
		}
		starI++
		p, i = starP+1, starI
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern), max(tries, 0)
}

// one matches the element of the pattern at p, which is not a star, with c. It returns where the
// next element begins.
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

// class matches c with the class whose content begins at p. A class without a closing bracket ends
// with the pattern.
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
