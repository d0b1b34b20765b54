package zsetcmd

import (
	"bytes"
	"math"
	"strconv"

	"lockstep/engine/command"
	"lockstep/engine/zset"
)

// SetLimits returns the limits up to which a sorted set stays small.
func SetLimits(s *command.Settings) zset.Limits {
	return zset.Limits{EntriesMax: s.ZSetPackEntriesMax, MemberBytesMax: s.ZSetPackValueBytesMax}
}

// scanDouble reads a text if C's strtod would read all of it. overflow and underflow report that
// the number was rounded to infinity or to zero, which is not an error. NaN is an error.
func scanDouble(text []byte) (f float64, overflow, underflow, ok bool) {
	s := string(text)
	if bytes.IndexByte(text, '_') >= 0 {
		return 0, false, false, false // Go would read 0x1_0
	}
	digits := text
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		digits = digits[1:]
	}
	if len(digits) > 1 && digits[0] == '0' && command.Lower(digits[1]) == 'x' {
		digits = digits[2:]
		if !bytes.ContainsAny(digits, "pP") {
			s += "p0" // Go needs an exponent here, C does not
		}
	} else if i := bytes.IndexAny(digits, "eE"); i >= 0 {
		digits = digits[:i]
	}
	if i := bytes.IndexAny(digits, "pP"); i >= 0 {
		digits = digits[:i]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, false, false, false
	}
	return f, err != nil, f == 0 && len(bytes.Trim(digits, "0.")) > 0, true
}

// parseDouble reads a number as Redis reads scores: all numbers of strtod except NaN, numbers with
// leading blanks, and numbers that are too large or too small for the format.
func parseDouble(text []byte) (float64, bool) {
	f, overflow, underflow, ok := scanDouble(text)
	return f, ok && !overflow && !underflow
}

// DoubleArg reads a number argument. It answers the error itself.
func DoubleArg(c *command.Ctx, text []byte, problem string) (float64, bool) {
	f, ok := parseDouble(text)
	if !ok {
		c.Out.Error(problem)
	}
	return f, ok
}

// scoreBound is one end of a range of scores.
type scoreBound struct {
	score float64
	open  bool // the score itself is not in the range
}

// parse reads an end of a range as Redis does, with plain strtod: leading blanks are skipped, an
// empty text is zero, a zero byte ends the text, and a number that is too large is infinite.
func (b *scoreBound) parse(text []byte) bool {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	if len(text) > 0 && text[0] == '(' {
		b.open = true
		text = text[1:]
	}
	if len(text) == 0 {
		return true
	}
	var ok bool
	b.score, _, _, ok = scanDouble(bytes.TrimLeft(text, " \t\n\v\f\r"))
	return ok
}

// scoreRange is a range of scores.
type scoreRange struct{ min, max scoreBound }

// parse reads both ends. It answers the error itself.
func (r *scoreRange) parse(c *command.Ctx, min, max []byte) bool {
	if r.min.parse(min) && r.max.parse(max) {
		return true
	}
	c.Out.Error(ErrScoreRange)
	return false
}

// places returns the first place in the range and the one behind the last.
func (r *scoreRange) places(s *zset.Set) (from, to int) {
	return s.Below(r.min.score, r.min.open), s.Below(r.max.score, !r.max.open)
}
