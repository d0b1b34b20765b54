package sortcmd

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/listcmd"
	"lockstep/engine/list"
)

func runSort(c *command.Ctx, args [][]byte)   { sort(c, args, true) }
func runSortRO(c *command.Ctx, args [][]byte) { sort(c, args, false) }

func sort(c *command.Ctx, args [][]byte, mayStore bool) {
	var o sortOptions
	if !o.parse(c, args, mayStore) {
		return
	}
	source, ok := sortSourceOf(c.Read(args[1]))
	if !ok {
		c.Out.Error(command.ErrWrongType)
		return
	}
	if o.unsorted && source.kind == engine.KindSet && (o.store != nil || c.InScript) {
		// A result that is stored, or that a script gets, should not depend on the order of a set.
		o.unsorted, o.alpha, o.by = false, true, nil
	}
	first, end := o.window(source.n)
	gone := source.n
	if o.unsorted {
		gone = end
	}
	if !c.Steps(command.StepsSort*int64(gone) + int64(end-first)*int64(len(o.gets))) {
		return
	}
	var elements []sortElement
	if o.unsorted {
		elements = source.window(c, first, end, o.descending)
	} else {
		elements = source.window(c, 0, source.n, false)
		switch ok, enough := o.load(c, elements); {
		case !enough:
			c.Out.Error(command.ErrWork)
			return
		case !ok:
			c.Out.Error(ErrSortNotDouble)
			return
		}
		slices.SortStableFunc(elements, func(a, b sortElement) int {
			c.Item()
			return o.compare(a, b)
		})
		elements = elements[first:end]
	}
	if o.store != nil {
		o.keep(c, elements)
	} else {
		o.answer(c, elements)
	}
}

// load finds the value that each element is sorted by. ok is false if one of them is not a number.
// The values are not copied, because nothing changes until the elements are sorted. A million
// elements may be sorted by one long text: enough is false if there are not enough steps for all
// texts.
func (o *sortOptions) load(c *command.Ctx, elements []sortElement) (ok, enough bool) {
	ok = true
	bytes := int64(0)
	for i := range elements {
		c.Member()
		e := &elements[i]
		value, found := e.text, true
		if o.by != nil {
			value, found = o.by.value(c, c.Read, e.text)
		}
		bytes += int64(len(e.text) + len(value))
		if n := bytes / command.StepBytes; n > 0 {
			if !c.TakeSteps(n) {
				return false, false
			}
			bytes %= command.StepBytes
		}
		switch {
		case !found:
		case o.alpha && value == nil:
			e.key = []byte{}
		case o.alpha:
			e.key = value
		default:
			score, isNumber := sortScore(value)
			ok = ok && isNumber
			e.score = score
		}
	}
	return ok, true
}

// compare is the order of two elements. If two numbers are equal the elements themselves decide.
func (o *sortOptions) compare(a, b sortElement) int {
	var order int
	switch {
	case !o.alpha:
		order = cmp.Or(cmp.Compare(a.score, b.score), bytes.Compare(a.text, b.text))
	case a.key == nil || b.key == nil:
		order = cmp.Compare(command.BoolInt(a.key != nil), command.BoolInt(b.key != nil))
	case o.store != nil:
		order = bytes.Compare(a.key, b.key)
	default:
		// Redis collates here, as C does, up to a zero byte.
		order = bytes.Compare(cText(a.key), cText(b.key))
	}
	if o.descending {
		return -order
	}
	return order
}

// cText is a text up to its first zero byte, as C sees it.
func cText(text []byte) []byte {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return text[:i]
	}
	return text
}

// results calls f for everything that the command returns. look finds the entries. ok is false if
// there is no value.
func (o *sortOptions) results(c *command.Ctx, look func(key []byte) *engine.Entry, elements []sortElement, f func(text []byte, ok bool)) {
	for i := range elements {
		if len(o.gets) == 0 {
			c.Item()
			f(elements[i].text, true)
		}
		for j := range o.gets {
			c.Member()
			f(o.gets[j].value(c, look, elements[i].text))
		}
	}
}

func (o *sortOptions) answer(c *command.Ctx, elements []sortElement) {
	c.Out.Array(len(elements) * max(len(o.gets), 1))
	o.results(c, c.Read, elements, func(text []byte, ok bool) {
		if ok {
			c.Out.Bulk(text)
		} else {
			c.Out.Null()
		}
	})
}

// keep stores the results as a list. A missing value becomes an empty text. GET may name one long
// text again and again, so the list may be far larger than the keys.
func (o *sortOptions) keep(c *command.Ctx, elements []sortElement) {
	bytes := int64(0)
	o.results(c, c.Peek, elements, func(text []byte, _ bool) { bytes += int64(len(text)) })
	if !c.CopySteps(bytes) {
		return
	}
	l := list.New()
	o.results(c, c.Read, elements, func(text []byte, _ bool) {
		l.PushBack(text)
		l.Reserve(listcmd.ListLimit(c), 0, 0)
	})
	c.Store(o.store, engine.KindList, l, command.EventList, "sortstore")
	c.Out.Int(int64(l.Len()))
}

// sortScore reads a number as Redis does here, with plain strtod. Leading blanks and an empty text
// are fine, and so are hexadecimal digits and infinity. Numbers that a double cannot hold, however
// small, are not.
func sortScore(text []byte) (float64, bool) {
	if n, ok := command.ParseInt(text); ok {
		return float64(n), true
	}
	s := string(cText(text))
	if s == "" {
		return 0, true
	}
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || strings.Contains(s, "_") {
		return 0, false
	}
	hex := len(digits) > 1 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')
	if hex && !strings.ContainsAny(digits, "pP") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	if math.Abs(f) < leastNormal {
		// A number this small may have lost bits.
		exact, ok := command.ParseExtended([]byte(s))
		return f, ok && exact.F.Cmp(big.NewFloat(f)) == 0
	}
	return f, true
}

// leastNormal is the least number that a double holds in full precision.
const leastNormal = 0x1p-1022
