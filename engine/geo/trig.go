package geo

import "math"

// pair is an unevaluated sum: a number of about 106 bits.
type pair struct{ hi, lo float64 }

func (p pair) round() float64 { return p.hi + p.lo }

// sum is a+b exactly.
func sum(a, b float64) pair {
	s := a + b
	t := s - a
	return pair{s, (a - (s - t)) + (b - t)}
}

// product is a*b exactly.
func product(a, b float64) pair {
	p := float64(a * b)
	return pair{p, math.FMA(a, b, -p)}
}

func (p pair) plus(q pair) pair {
	s := sum(p.hi, q.hi)
	return sum(s.hi, s.lo+(p.lo+q.lo))
}

func (p pair) times(q pair) pair {
	r := product(p.hi, q.hi)
	return sum(r.hi, r.lo+(float64(p.hi*q.lo)+float64(p.lo*q.hi)))
}

func (p pair) negated() pair { return pair{-p.hi, -p.lo} }

// over is one divided by an integer.
func over(n float64) pair {
	q := 1 / n
	return pair{q, math.FMA(-q, n, 1) / n}
}

// The first coefficients of the Taylor series, with twice the precision. The later ones are so
// small that single precision is enough.
var (
	sinPairs = [3]pair{over(-6), over(120), over(-5040)}
	sinRest  = [7]float64{1 / 362880.0, -1 / 39916800.0, 1 / 6227020800.0, -1 / 1307674368000.0, 1 / 355687428096000.0,
		-1 / 121645100408832000.0, 1 / 51090942171709440000.0}
	cosPairs = [4]pair{over(-2), over(24), over(-720), over(40320)}
	cosRest  = [6]float64{-1 / 3628800.0, 1 / 479001600.0, -1 / 87178291200.0, 1 / 20922789888000.0, -1 / 6402373705728000.0, 1 / 2432902008176640000.0}
)

// horner is the value of a polynomial.
func horner(coefficients []float64, x float64) float64 {
	value := 0.0
	for i := len(coefficients) - 1; i >= 0; i-- {
		value = coefficients[i] + float64(value*x)
	}
	return value
}

// series is the value of a polynomial whose first coefficients are pairs.
func series(first []pair, rest []float64, x pair) pair {
	value := pair{horner(rest, x.hi), 0}
	for i := len(first) - 1; i >= 0; i-- {
		value = first[i].plus(value.times(x))
	}
	return value
}

// sinNear and cosNear are for numbers up to a quarter of pi.
func sinNear(r pair) pair {
	square := r.times(r)
	return r.plus(r.times(square).times(series(sinPairs[:], sinRest[:], square)))
}

func cosNear(r pair) pair {
	square := r.times(r)
	return pair{1, 0}.plus(square.times(series(cosPairs[:], cosRest[:], square)))
}

// halfPi is half of pi with three times the precision.
const (
	halfPi1 = 1.5707963267948966192313216916397514420985846996875529
	halfPi2 = 6.1232339957367658859532e-17
	halfPi3 = -1.4973849048591833e-33
)

// quarter reduces x, which is at most a few turns, to its quadrant and the rest.
func quarter(x float64) (quadrant int, rest pair) {
	k := math.RoundToEven(x / float64(halfPi1))
	a, b := product(-k, float64(halfPi1)), product(-k, float64(halfPi2))
	rest = sum(x, a.hi).plus(pair{a.lo, 0}).plus(b).plus(pair{float64(-k * halfPi3), 0})
	return int(k) & 3, rest
}

func sin(x float64) float64 {
	quadrant, rest := quarter(x)
	return turned(quadrant, rest)
}

func cos(x float64) float64 {
	quadrant, rest := quarter(x)
	return turned(quadrant+1, rest)
}

// turned is the sine of a number of quadrants and a rest.
func turned(quadrants int, rest pair) float64 {
	var value pair
	if quadrants&1 == 0 {
		value = sinNear(rest)
	} else {
		value = cosNear(rest)
	}
	if quadrants&2 != 0 {
		value = value.negated()
	}
	return value.round()
}

// asin is for 0 to 1. Beyond that it returns NaN.
func asin(x float64) float64 {
	switch {
	case !(x >= 0 && x <= 1):
		return math.NaN()
	case x <= 0.5:
		return asinNear(pair{x, 0}).round()
	}
	// asin(x) = pi/2 - 2*asin(sqrt((1-x)/2)), where 1-x is exact.
	square := (1 - x) / 2
	root := math.Sqrt(square)
	if root == 0 {
		return halfPi1
	}
	near := asinNear(sum(root, math.FMA(-root, root, square)/(2*root)))
	return pair{halfPi1, halfPi2}.plus(pair{-2 * near.hi, -2 * near.lo}).round()
}

// asinNear is for 0 to 0.5. It improves a first guess by Newton's method.
func asinNear(x pair) pair {
	square := x.hi * x.hi
	guess := x.hi + float64(x.hi*square*horner([]float64{1 / 6.0, 3 / 40.0, 15 / 336.0}, square))
	for range 2 {
		s, c := roughly(guess)
		guess -= (s - x.hi) / c
	}
	_, c := roughly(guess)
	missing := x.plus(sinNear(pair{guess, 0}).negated())
	return sum(guess, missing.round()/c)
}

// roughly returns sine and cosine in single precision, for at most half of a quadrant.
func roughly(x float64) (s, c float64) {
	square := x * x
	s = x + float64(x*square*horner([]float64{-1 / 6.0, 1 / 120.0, -1 / 5040.0, sinRest[0], sinRest[1], sinRest[2]}, square))
	c = 1 + float64(square*horner([]float64{-1 / 2.0, 1 / 24.0, -1 / 720.0, 1 / 40320.0, cosRest[0], cosRest[1], cosRest[2]}, square))
	return s, c
}
