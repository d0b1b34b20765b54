package stringcmd

import (
	"lockstep/engine"
	"lockstep/engine/command"
)

// lcsOptions are the options of LCS.
type lcsOptions struct {
	length, index, withLength bool
	matchMin                  int64
}

// parse reads the options. It answers the error itself.
func (o *lcsOptions) parse(c *command.Ctx, args [][]byte) bool {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case command.EqualFold(a, "idx"):
			o.index = true
		case command.EqualFold(a, "len"):
			o.length = true
		case command.EqualFold(a, "withmatchlen"):
			o.withLength = true
		case command.EqualFold(a, "minmatchlen") && i+1 < len(args):
			i++
			n, ok := c.IntArg(args[i])
			if !ok {
				return false
			}
			o.matchMin = max(n, 0)
		default:
			c.Out.Error(command.ErrSyntax)
			return false
		}
	}
	if o.index && o.length {
		c.Out.Error(ErrLCSOptions)
		return false
	}
	return true
}

func runLCS(c *command.Ctx, args [][]byte) {
	a, okA := lcsText(c, args[1])
	b, okB := lcsText(c, args[2])
	if !okA || !okB {
		c.Out.Error(ErrLCSType)
		return
	}
	var o lcsOptions
	if !o.parse(c, args[3:]) {
		return
	}
	// Redis's table has four bytes for each pair of positions. Lockstep's is smaller, but the limit
	// must not depend on that.
	if 4*(uint64(len(a))+1)*(uint64(len(b))+1) > uint64(c.Settings.ValueBytesMax) {
		c.Out.Error(ErrLCSMemory)
		return
	}
	if !c.Steps(int64(len(a)) * int64(len(b)) / command.StepPairs) {
		return
	}
	t := newLCSTable(a, b, c.Pause)
	switch {
	case o.length:
		c.Out.Int(int64(t.length))
	case o.index:
		t.writeMatches(c, &o)
	default:
		c.Out.Bulk(t.text())
	}
}

// lcsText returns the text of a key, which is empty if the key does not exist. It returns false if
// the key holds another kind of value.
func lcsText(c *command.Ctx, key []byte) ([]byte, bool) {
	e := c.Read(key)
	if e == nil {
		return nil, true
	}
	if e.Kind() != engine.KindString {
		return nil, false
	}
	return e.Text(), true
}

// lcsTable holds the path to the longest common subsequence of a and b. For each pair of positions
// with different bytes it has one bit: whether to go back in a rather than in b. Of the lengths
// only one row is needed at a time.
type lcsTable struct {
	a, b   []byte
	backA  []uint64
	length int
}

func newLCSTable(a, b []byte, rest func()) *lcsTable {
	t := &lcsTable{a: a, b: b, backA: make([]uint64, (len(a)*len(b)+63)/64)}
	// row[j] is the length for a[:i] and b[:j].
	row := make([]uint32, len(b)+1)
	cells := 0
	for i := range a {
		if cells += len(b); cells > lcsCellsBeforeRest {
			cells = 0
			rest()
		}
		diagonal := uint32(0)
		for j := range b {
			above := row[j+1]
			switch {
			case a[i] == b[j]:
				row[j+1] = diagonal + 1
			case above > row[j]:
				bit := i*len(b) + j
				t.backA[bit/64] |= 1 << (bit % 64)
			default:
				row[j+1] = row[j]
			}
			diagonal = above
		}
	}
	t.length = int(row[len(b)])
	return t
}

// lcsCellsBeforeRest is the number of cells after which the work rests: some tenths of a
// millisecond.
const lcsCellsBeforeRest = 200_000

// back is the step from the pair of prefixes a[:i], b[:j] towards the beginning.
func (t *lcsTable) back(i, j int) (int, int, bool) {
	if t.a[i-1] == t.b[j-1] {
		return i - 1, j - 1, true
	}
	bit := (i-1)*len(t.b) + j - 1
	if t.backA[bit/64]>>(bit%64)&1 != 0 {
		return i - 1, j, false
	}
	return i, j - 1, false
}

// text is the subsequence.
func (t *lcsTable) text() []byte {
	text := make([]byte, t.length)
	n := t.length
	for i, j := len(t.a), len(t.b); i > 0 && j > 0; {
		var match bool
		if i, j, match = t.back(i, j); match {
			n--
			text[n] = t.a[i]
		}
	}
	return text
}

// lcsMatch is a run of equal bytes in both strings, both ends included.
type lcsMatch struct{ firstA, lastA, firstB, lastB int }

// matches returns the runs of at least matchMin bytes, from the end. It finds the end of a run as
// Redis does, which drops bytes between two runs that touch in one string.
func (t *lcsTable) matches(matchMin int64) []lcsMatch {
	var all []lcsMatch
	var run lcsMatch
	open := false
	for i, j := len(t.a), len(t.b); i > 0 && j > 0; {
		var match, ended bool
		i, j, match = t.back(i, j)
		switch {
		case match && !open:
			run, open = lcsMatch{i, i, j, j}, true
		case match && run.firstA == i+1 && run.firstB == j+1:
			run.firstA, run.firstB = i, j
		default:
			ended = open
		}
		if open && (ended || run.firstA == 0 || run.firstB == 0) {
			if int64(run.lastA-run.firstA+1) >= matchMin {
				all = append(all, run)
			}
			open = false
		}
	}
	return all
}

func (t *lcsTable) writeMatches(c *command.Ctx, o *lcsOptions) {
	all := t.matches(o.matchMin)
	c.Out.Map(2)
	c.Out.BulkString("matches")
	c.Out.Array(len(all))
	for _, m := range all {
		if o.withLength {
			c.Out.Array(3)
		} else {
			c.Out.Array(2)
		}
		c.Out.Array(2)
		c.Out.Int(int64(m.firstA))
		c.Out.Int(int64(m.lastA))
		c.Out.Array(2)
		c.Out.Int(int64(m.firstB))
		c.Out.Int(int64(m.lastB))
		if o.withLength {
			c.Out.Int(int64(m.lastA - m.firstA + 1))
		}
	}
	c.Out.BulkString("len")
	c.Out.Int(int64(t.length))
}
