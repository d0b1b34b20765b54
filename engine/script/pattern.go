package script

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const (
	capturesMax   = 32
	matchDepthMax = 200
	capOpen       = -1
	capPosition   = -2
)

// matcher matches one pattern at one place of a text. It implements Lua's patterns by backtracking,
// and counts each step.
type matcher struct {
	run      *run
	L        *lua.LState
	src, pat string
	level    int
	depth    int
	capture  [capturesMax]struct{ start, n int }
}

func (ms *matcher) fail(text string) { ms.L.RaiseError("%s", text) }

// item returns the end of the pattern item at p.
func (ms *matcher) item(p int) int {
	if p >= len(ms.pat) {
		ms.fail("malformed pattern (ends with '%')")
	}
	c := ms.pat[p]
	p++
	switch c {
	case '%':
		if p >= len(ms.pat) {
			ms.fail("malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		if p < len(ms.pat) && ms.pat[p] == '^' {
			p++
		}
		for n := 0; n == 0 || p >= len(ms.pat) || ms.pat[p] != ']'; n++ {
			if p >= len(ms.pat) {
				ms.fail("malformed pattern (missing ']')")
			}
			if n%32 == 31 {
				ms.run.spend(ms.L, 32*pricePatternByte) // the end of the item is looked for at every position of the text
			}
			c := ms.pat[p]
			p++
			if c == '%' && p < len(ms.pat) {
				p++
			}
		}
		return p + 1
	}
	return p
}

func classOf(c, class byte) bool {
	var in bool
	switch lower(class) {
	case 'a':
		in = isAlpha(c)
	case 'd':
		in = isDigit(c)
	case 'l':
		in = 'a' <= c && c <= 'z'
	case 's':
		in = isSpace(c)
	case 'u':
		in = 'A' <= c && c <= 'Z'
	case 'w':
		in = isAlpha(c) || isDigit(c)
	case 'x':
		in = digit(c) < 16
	case 'p':
		in = c > 32 && c < 127 && !isAlpha(c) && !isDigit(c)
	case 'c':
		in = c < 32 || c == 127
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if 'A' <= class && class <= 'Z' {
		return !in
	}
	return in
}

func isAlpha(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isSpace(c byte) bool { return c == ' ' || c >= 9 && c <= 13 }

// set reports whether c is in the set from p (at '[') to its ']' at end.
func (ms *matcher) set(c byte, p, end int) bool {
	in := true
	p++
	if ms.pat[p] == '^' {
		in = false
		p++
	}
	ms.run.spend(ms.L, (end-p)*pricePatternByte)
	for ; p < end; p++ {
		switch {
		case ms.pat[p] == '%':
			p++
			if classOf(c, ms.pat[p]) {
				return in
			}
		case p+2 < end && ms.pat[p+1] == '-':
			if ms.pat[p] <= c && c <= ms.pat[p+2] {
				return in
			}
			p += 2
		case ms.pat[p] == c:
			return in
		}
	}
	return !in
}

func (ms *matcher) single(s, p, end int) bool {
	ms.run.spend(ms.L, priceSingle)
	if s >= len(ms.src) {
		return false
	}
	c := ms.src[s]
	switch ms.pat[p] {
	case '.':
		return true
	case '%':
		return classOf(c, ms.pat[p+1])
	case '[':
		return ms.set(c, p, end-1)
	}
	return ms.pat[p] == c
}

// match returns the end of a match of the pattern from p on at s, or -1.
func (ms *matcher) match(s, p int) int {
	ms.depth++
	if ms.depth > matchDepthMax {
		ms.fail("pattern too complex")
	}
	defer func() { ms.depth-- }()
	for {
		ms.run.spend(ms.L, priceMatch)
		if p >= len(ms.pat) {
			return s
		}
		switch c := ms.pat[p]; {
		case c == '(' && p+1 < len(ms.pat) && ms.pat[p+1] == ')':
			return ms.open(s, p+2, capPosition)
		case c == '(':
			return ms.open(s, p+1, capOpen)
		case c == ')':
			return ms.close(s, p+1)
		case c == '$' && p+1 == len(ms.pat):
			if s == len(ms.src) {
				return s
			}
			return -1
		case c == '%' && p+1 < len(ms.pat) && ms.pat[p+1] == 'b':
			if s = ms.balance(s, p+2); s < 0 {
				return -1
			}
			p += 4
			continue
		case c == '%' && p+1 < len(ms.pat) && ms.pat[p+1] == 'f':
			if p = ms.frontier(s, p+2); p < 0 {
				return -1
			}
			continue
		case c == '%' && p+1 < len(ms.pat) && isDigit(ms.pat[p+1]):
			if s = ms.back(s, ms.pat[p+1]); s < 0 {
				return -1
			}
			p += 2
			continue
		}
		end := ms.item(p)
		next := byte(0)
		if end < len(ms.pat) {
			next = ms.pat[end]
		}
		switch next {
		case '?':
			if ms.single(s, p, end) {
				if r := ms.match(s+1, end+1); r >= 0 {
					return r
				}
			}
			p = end + 1
		case '*':
			return ms.greedy(s, p, end)
		case '+':
			if !ms.single(s, p, end) {
				return -1
			}
			return ms.greedy(s+1, p, end)
		case '-':
			return ms.lazy(s, p, end)
		default:
			if !ms.single(s, p, end) {
				return -1
			}
			s++
			p = end
		}
	}
}

func (ms *matcher) greedy(s, p, end int) int {
	n := 0
	for ms.single(s+n, p, end) {
		n++
	}
	for ; n >= 0; n-- {
		if r := ms.match(s+n, end+1); r >= 0 {
			return r
		}
	}
	return -1
}

func (ms *matcher) lazy(s, p, end int) int {
	for {
		if r := ms.match(s, end+1); r >= 0 {
			return r
		}
		if !ms.single(s, p, end) {
			return -1
		}
		s++
	}
}

func (ms *matcher) open(s, p, what int) int {
	ms.run.spend(ms.L, priceMatch)
	if ms.level >= capturesMax {
		ms.fail("too many captures")
	}
	ms.capture[ms.level].start, ms.capture[ms.level].n = s, what
	ms.level++
	r := ms.match(s, p)
	if r < 0 {
		ms.level--
	}
	return r
}

func (ms *matcher) close(s, p int) int {
	l := ms.level - 1
	for ; l >= 0 && ms.capture[l].n != capOpen; l-- {
	}
	if l < 0 {
		ms.fail("invalid pattern capture")
	}
	ms.capture[l].n = s - ms.capture[l].start
	r := ms.match(s, p)
	if r < 0 {
		ms.capture[l].n = capOpen
	}
	return r
}

func (ms *matcher) balance(s, p int) int {
	if p+1 >= len(ms.pat) {
		ms.fail("unbalanced pattern")
	}
	if s >= len(ms.src) || ms.src[s] != ms.pat[p] {
		return -1
	}
	open, close := ms.pat[p], ms.pat[p+1]
	depth := 1
	for s++; s < len(ms.src); s++ {
		ms.run.spend(ms.L, priceSingle)
		switch ms.src[s] {
		case close:
			if depth--; depth == 0 {
				return s + 1
			}
		case open:
			depth++
		}
	}
	return -1
}

func (ms *matcher) frontier(s, p int) int {
	if p >= len(ms.pat) || ms.pat[p] != '[' {
		ms.fail("missing '[' after '%f' in pattern")
	}
	end := ms.item(p)
	var before, now byte
	if s > 0 {
		before = ms.src[s-1]
	}
	if s < len(ms.src) {
		now = ms.src[s]
	}
	if ms.set(before, p, end-1) || !ms.set(now, p, end-1) {
		return -1
	}
	return end
}

func (ms *matcher) back(s int, c byte) int {
	l := int(c) - '1'
	if l < 0 || l >= ms.level || ms.capture[l].n == capOpen {
		ms.fail("invalid capture index")
	}
	n := max(ms.capture[l].n, 0)
	from := ms.capture[l].start
	ms.run.spend(ms.L, n/bytesCompared)
	if len(ms.src)-s >= n && ms.src[from:from+n] == ms.src[s:s+n] {
		return s + n
	}
	return -1
}

// captured is capture i of a match from s to e. Without captures, capture 0 is the whole match.
func (ms *matcher) captured(i, s, e int) lua.LValue {
	if i >= ms.level {
		if i != 0 {
			ms.fail("invalid capture index")
		}
		return lua.LString(ms.src[s:e])
	}
	c := ms.capture[i]
	switch c.n {
	case capOpen:
		ms.fail("unfinished capture")
	case capPosition:
		return lua.LNumber(c.start + 1)
	}
	return lua.LString(ms.src[c.start : c.start+c.n])
}

// pushCaptures pushes the captures on the stack, or the whole match if there are none and whole is
// set.
func (ms *matcher) pushCaptures(s, e int, whole bool) int {
	n := ms.level
	if n == 0 && whole {
		n = 1
	}
	ms.run.use(ms.L, n*stringCost)
	ms.run.spend(ms.L, n*priceArgument)
	for i := range n {
		ms.L.Push(ms.captured(i, s, e))
	}
	return n
}

// find looks for the pattern from init on. start is -1 if there is no match.
func (ms *matcher) find(init int) (start, end int) {
	p, anchored := 0, strings.HasPrefix(ms.pat, "^")
	if anchored {
		p = 1
	}
	for s := init; s <= len(ms.src); s++ {
		ms.level, ms.depth = 0, 0
		if e := ms.match(s, p); e >= 0 {
			return s, e
		}
		if anchored {
			break
		}
	}
	return -1, 0
}
