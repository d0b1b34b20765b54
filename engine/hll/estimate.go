package hll

import "math"

// histogram counts the registers of each value.
type histogram [64]int

// Count returns the estimate of a text: the one in its header, unless that is outdated.
func Count(text []byte) (uint64, error) {
	if n, ok := kept(text); ok {
		return n, nil
	}
	var h histogram
	if Dense(text) {
		h.addDense(text[headerBytes:])
		return h.estimate(), nil
	}
	err := walk(text, func(_, n int, rank uint8) { h[rank] += n })
	return h.estimate(), err
}

// addDense counts registers. Four registers take three bytes.
func (h *histogram) addDense(registers []byte) {
	for ; len(registers) >= 3; registers = registers[3:] {
		four := uint32(registers[0]) | uint32(registers[1])<<8 | uint32(registers[2])<<16
		h[four&63]++
		h[four>>6&63]++
		h[four>>12&63]++
		h[four>>18]++
	}
}

// Count returns the estimate of the set whose registers these are.
func (v *Values) Count() uint64 {
	var h histogram
	for _, rank := range v {
		h[rank]++
	}
	return h.estimate()
}

// alpha is 1/(2 ln 2), the factor of the estimate for many registers.
const alpha = 0.721347520444481703680

// estimate is Ertl's improved raw estimator. Products are rounded before they are added (by the
// conversions). Otherwise some processors would round only once, and replicas would differ.
func (h *histogram) estimate() uint64 {
	const m = float64(Registers)
	z := float64(m * tau((m-float64(h[rankMax]))/m))
	for rank := hashBits; rank >= 1; rank-- {
		z += float64(h[rank])
		z *= 0.5
	}
	z += float64(m * sigma(float64(h[0])/m))
	n := math.Round(alpha * m * m / z)
	if n >= 1<<63 {
		return 1 << 63 // registers that no real set has; Redis returns the same
	}
	return uint64(n)
}

// sigma corrects for registers that are zero: x plus the sum of x^(2^k) * 2^(k-1) for k from 1 on.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	sum, factor := x, 1.0
	for {
		x *= x
		before := sum
		sum += float64(x * factor)
		factor += factor
		if sum == before {
			return sum
		}
	}
}

// tau corrects for registers at their greatest value: a third of 1 - x minus the sum of (1 -
// x^(2^-k))^2 * 2^-k for k from 1 on.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	sum, factor := 1-x, 1.0
	for {
		x = math.Sqrt(x)
		before := sum
		factor *= 0.5
		gap := 1 - x
		square := float64(gap * gap)
		sum -= float64(square * factor)
		if sum == before {
			return sum / 3
		}
	}
}
