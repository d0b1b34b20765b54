package command

import (
	"bytes"
	"math/big"
)

// extended is a number in the 80-bit format of x87 (IEEE 754 extended precision: 64 bits of
// mantissa), in which Redis computes INCRBYFLOAT on amd64. To give the same digits on every
// architecture, the computation here uses integers, and each step is rounded correctly, once.
//
// The zero value is not a number; ZeroExtended is.
type extended struct{ F *big.Float }

const (
	// extendedPrec is the number of bits of the mantissa.
	extendedPrec = 64
	// extendedExpMax is the greatest exponent of a number written as 0.1... * 2^exp, extendedExpMin
	// the least one of a number with a whole mantissa. Below it, down to extendedExpTiny, the
	// mantissa has fewer bits.
	extendedExpMax  = 16384
	extendedExpMin  = -16381
	extendedExpTiny = -16444
	// extendedTextMax is the length from which on Redis refuses a number's text.
	extendedTextMax = 5 << 10
	// exponentMax is greater than every exponent that can matter.
	exponentMax = 1 << 20
)

// ZeroExtended is the number zero.
var ZeroExtended = extended{new(big.Float).SetPrec(extendedPrec)}

// ParseExtended reads a text if C's strtold would read all of it: decimal and hexadecimal numbers
// and infinity. Like Redis it refuses numbers that are too large, or too small to differ from zero.
func ParseExtended(text []byte) (extended, bool) {
	if len(text) == 0 || len(text) >= extendedTextMax {
		return extended{}, false
	}
	s := numberScanner{rest: text}
	negative := s.sign()
	var f *big.Float
	var ok bool
	switch {
	case EqualFold(s.rest, "inf"), EqualFold(s.rest, "infinity"):
		f, ok = new(big.Float).SetInf(false), true
	case len(s.rest) > 1 && s.rest[0] == '0' && Lower(s.rest[1]) == 'x':
		s.rest = s.rest[2:]
		f, ok = s.number(16)
	default:
		f, ok = s.number(10)
	}
	if !ok {
		return extended{}, false
	}
	if negative {
		f.Neg(f)
	}
	return extended{f}, true
}

// Plus adds two numbers. It returns false if the sum is not a finite number.
func (a extended) Plus(b extended) (extended, bool) {
	if a.F.IsInf() || b.F.IsInf() {
		return extended{}, false
	}
	sum := new(big.Float).SetPrec(extendedPrec).Add(a.F, b.F)
	if sum.MantExp(nil) > extendedExpMax {
		return extended{}, false
	}
	return extended{sum}, true
}

// AppendHuman appends the number as Redis prints it for humans: 17 digits after the point, without
// the zeros at the end.
func (a extended) AppendHuman(dst []byte) []byte {
	begin := len(dst)
	dst = a.F.Append(dst, 'f', 17)
	dst = bytes.TrimRight(dst, "0")
	dst = bytes.TrimSuffix(dst, []byte("."))
	if string(dst[begin:]) == "-0" {
		return append(dst[:begin], '0')
	}
	return dst
}

// numberScanner parses a number.
type numberScanner struct{ rest []byte }

func (s *numberScanner) sign() (negative bool) {
	if len(s.rest) > 0 && (s.rest[0] == '-' || s.rest[0] == '+') {
		negative = s.rest[0] == '-'
		s.rest = s.rest[1:]
	}
	return negative
}

// number reads digits, a point and an exponent up to the end of the text.
func (s *numberScanner) number(base int) (*big.Float, bool) {
	digits := s.digits(nil, base)
	whole := len(digits)
	if len(s.rest) > 0 && s.rest[0] == '.' {
		s.rest = s.rest[1:]
		digits = s.digits(digits, base)
	}
	if len(digits) == 0 {
		return nil, false
	}
	exponent, ok := s.exponent(base)
	if !ok {
		return nil, false
	}
	mantissa, _ := new(big.Int).SetString(string(digits), base)
	if mantissa.Sign() == 0 {
		return new(big.Float).SetPrec(extendedPrec), true
	}
	fraction := len(digits) - whole
	if base == 16 {
		return binaryFraction(mantissa, exponent-4*fraction)
	}
	return decimalFraction(mantissa, exponent-fraction)
}

// digits appends the digits at the start of the text.
func (s *numberScanner) digits(dst []byte, base int) []byte {
	n := 0
	for n < len(s.rest) && isDigit(s.rest[n], base) {
		n++
	}
	dst = append(dst, s.rest[:n]...)
	s.rest = s.rest[n:]
	return dst
}

func isDigit(c byte, base int) bool {
	l := Lower(c)
	return '0' <= c && c <= '9' || base == 16 && 'a' <= l && l <= 'f'
}

// exponent reads the exponent that may be at the end of the text.
func (s *numberScanner) exponent(base int) (int, bool) {
	if len(s.rest) == 0 {
		return 0, true
	}
	if l := Lower(s.rest[0]); base == 10 && l != 'e' || base == 16 && l != 'p' {
		return 0, false
	}
	s.rest = s.rest[1:]
	negative := s.sign()
	digits := s.digits(nil, 10)
	if len(digits) == 0 || len(s.rest) > 0 {
		return 0, false
	}
	n := 0
	for _, d := range digits {
		n = min(n*10+int(d-'0'), exponentMax)
	}
	if negative {
		n = -n
	}
	return n, true
}

// decimalFraction returns mantissa * 10^exponent.
func decimalFraction(mantissa *big.Int, exponent int) (*big.Float, bool) {
	// Ten to a power outside these bounds is far outside the format: do not compute it.
	const expMax, expMin = 5000, -5000
	digits := len(mantissa.Text(10))
	if digits+exponent > expMax || digits+exponent < expMin {
		return nil, false
	}
	num, den := mantissa, big.NewInt(1)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil)
	if exponent >= 0 {
		num = power.Mul(num, power)
	} else {
		den = power
	}
	return round(exact(num), exact(den))
}

// binaryFraction returns mantissa * 2^exponent.
func binaryFraction(mantissa *big.Int, exponent int) (*big.Float, bool) {
	f := exact(mantissa)
	return round(f.SetMantExp(f, exponent), exact(big.NewInt(1)))
}

// exact is n without rounding.
func exact(n *big.Int) *big.Float {
	return new(big.Float).SetPrec(uint(max(n.BitLen(), 1))).SetInt(n)
}

// round returns num/den in the extended format. It returns false if that is too large, or so small
// that it would be zero.
func round(num, den *big.Float) (*big.Float, bool) {
	f := new(big.Float).SetPrec(extendedPrec).Quo(num, den)
	exp := f.MantExp(nil)
	switch {
	case exp > extendedExpMax:
		return nil, false
	case exp >= extendedExpMin:
		return f, true
	case exp >= extendedExpTiny:
		f.SetPrec(uint(exp - extendedExpTiny + 1))
		return f.Quo(num, den).SetPrec(extendedPrec), true
	}
	// Half of the least number is rounded to zero, more than half to that number.
	half := new(big.Float).SetMantExp(big.NewFloat(0.5), extendedExpTiny-1)
	if f.Cmp(half) <= 0 {
		return nil, false
	}
	return new(big.Float).SetPrec(extendedPrec).SetMantExp(big.NewFloat(0.5), extendedExpTiny), true
}
