package command

// globMatch tells whether text matches a pattern of KEYS: * ? [a-z] [^x] and \
// before a character that shall mean itself. It goes back to the last star
// alone, which is enough, and makes the cost no more than the product of the
// lengths.
func globMatch(pattern, text []byte) bool {
	if len(text) == 0 {
		// Redis's matcher does not get as far as a star then; KEYS and SCAN treat
		// the pattern "*" for themselves.
		return len(pattern) == 0
	}
	p, t := 0, 0
	star, resume := -1, 0
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			star, resume = p, t
			p++
			continue
		}
		if p < len(pattern) {
			if width, ok := globOne(pattern[p:], text[t]); ok {
				p += width
				t++
				continue
			}
		}
		if star < 0 {
			return false
		}
		resume++
		p, t = star+1, resume
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// globOne matches one character against the element a pattern begins with, and
// returns that element's length.
func globOne(pattern []byte, c byte) (width int, ok bool) {
	switch {
	case pattern[0] == '?':
		return 1, true
	case pattern[0] == '[':
		return globClass(pattern, c)
	case pattern[0] == '\\' && len(pattern) > 1:
		return 2, pattern[1] == c
	}
	return 1, pattern[0] == c
}

// globClass matches a class in brackets; the end of the pattern closes one that
// is open.
func globClass(pattern []byte, c byte) (width int, ok bool) {
	i := 1
	not := i < len(pattern) && pattern[i] == '^'
	if not {
		i++
	}
	found := false
	for i < len(pattern) && pattern[i] != ']' {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			found = found || pattern[i+1] == c
			i += 2
		case i+2 < len(pattern) && pattern[i+1] == '-':
			low, high := min(pattern[i], pattern[i+2]), max(pattern[i], pattern[i+2])
			found = found || low <= c && c <= high
			i += 3
		default:
			found = found || pattern[i] == c
			i++
		}
	}
	return min(i+1, len(pattern)), found != not
}
