package geo

import (
	"math"
	"math/big"
	"math/rand"
	"testing"
)

// bigSin is the sine by its series, with 300 bits.
func bigSin(x *big.Float) *big.Float {
	const prec = 300
	value, term := new(big.Float).SetPrec(prec).Set(x), new(big.Float).SetPrec(prec).Set(x)
	square := new(big.Float).SetPrec(prec).Mul(x, x)
	for n := int64(2); n < 120; n += 2 {
		term.Mul(term, square)
		term.Quo(term, new(big.Float).SetPrec(prec).SetInt64(-n*(n+1)))
		value.Add(value, term)
	}
	return value
}

const pi300 = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"

func bigOf(f float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(f) }

func TestSineAndCosineAreRoundedRight(t *testing.T) {
	pi, _, _ := big.ParseFloat(pi300, 10, 300, big.ToNearestEven)
	half := new(big.Float).Quo(pi, bigOf(2))
	rng := rand.New(rand.NewSource(1))
	inputs := []float64{0, 1e-300, 1e-10, 0.5, math.Pi, math.Pi / 2, math.Pi / 4, -math.Pi, -math.Pi / 2, 3 * math.Pi / 4, 1, 1.5, -1.5, 3}
	for range 5000 {
		inputs = append(inputs, (rng.Float64()-0.5)*2*math.Pi, rng.NormFloat64()*1e-5)
	}
	for _, x := range inputs {
		want, _ := bigSin(bigOf(x)).Float64()
		if got := sin(x); got != want {
			t.Errorf("sin(%v) is %v, want %v", x, got, want)
		}
		want, _ = bigSin(new(big.Float).Sub(half, bigOf(x))).Float64()
		if got := cos(x); got != want {
			t.Errorf("cos(%v) is %v, want %v", x, got, want)
		}
	}
}

// TestArcsineIsRoundedRight expects the number to lie between the sines of the midpoints from its
// arcsine to the two neighbours.
func TestArcsineIsRoundedRight(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	inputs := []float64{1e-300, 1e-8, 0.25, 0.5, math.Nextafter(0.5, 1), 0.75, 1 - 1e-10, math.Nextafter(1, 0), 1e-5}
	for range 3000 {
		inputs = append(inputs, rng.Float64(), 1-rng.Float64()*1e-6, rng.Float64()*1e-4)
	}
	for _, x := range inputs {
		got := asin(x)
		between := func(to float64) *big.Float {
			middle := bigOf(got)
			middle.Add(middle, bigOf(math.Nextafter(got, to)))
			return bigSin(middle.Quo(middle, bigOf(2)))
		}
		if x1 := bigOf(x); between(-9).Cmp(x1) > 0 || got < math.Pi/2 && between(9).Cmp(x1) < 0 {
			t.Errorf("asin(%v) is not %v", x, got)
		}
	}
	if asin(0) != 0 || asin(1) != math.Pi/2 || !math.IsNaN(asin(1.1)) {
		t.Errorf("asin: %v, %v, %v", asin(0), asin(1), asin(1.1))
	}
}

// TestCellsHoldTheirPlaces decodes encoded places, and finds them in the cells around.
func TestCellsHoldTheirPlaces(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	for range 5000 {
		p := Point{(rng.Float64() - 0.5) * 360, (rng.Float64() - 0.5) * 170}
		score := Of(p, StepsMax).Score()
		at := At(score)
		if d := Distance(p, at); d > 0.6 {
			t.Fatalf("%v comes back as %v, %v m away", p, at, d)
		}
		steps := uint(1 + rng.Intn(StepsMax))
		c := Of(p, steps)
		if low, high := c.Scores(); score < low || score >= high {
			t.Fatalf("%v: score %v is not in its cell of %d steps, %v to %v", p, score, steps, low, high)
		}
		b := c.box()
		if p.Longitude < b.west-1e-9 || p.Longitude > b.east+1e-9 || p.Latitude < b.south-1e-9 || p.Latitude > b.north+1e-9 {
			t.Fatalf("%v is not in its cell %+v", p, b)
		}
		for _, d := range [][2]int{{1, 0}, {0, 1}, {1, 1}, {-1, 1}} {
			if back := c.moved(d[0], d[1]).moved(-d[0], -d[1]); back != c {
				t.Fatalf("there and back by %v: %v, was %v", d, back, c)
			}
		}
	}
}

// TestSearchFindsAllThatIsNear checks random places one by one.
func TestSearchFindsAllThatIsNear(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	for range 300 {
		s := Shape{Center: Point{(rng.Float64() - 0.5) * 300, (rng.Float64() - 0.5) * 140}, Unit: 1000, Radius: math.Exp(rng.Float64() * 7)}
		if rng.Intn(2) == 0 {
			s.Box, s.Width, s.Height = true, s.Radius, math.Exp(rng.Float64()*7)
		}
		cells := s.Cells()
		for range 100 {
			spread := s.Radius / 80
			p := Point{s.Center.Longitude + rng.NormFloat64()*spread, s.Center.Latitude + rng.NormFloat64()*spread}
			if _, ok := s.Contains(p); !ok || !p.Valid() {
				continue
			}
			score, found := Of(p, StepsMax).Score(), false
			for _, c := range cells {
				low, high := c.Scores()
				found = found || score >= low && score < high
			}
			if !found {
				t.Fatalf("%+v contains %v, %v do not", s, p, cells)
			}
		}
	}
}

func BenchmarkDistance(b *testing.B) {
	p, q := Point{13.4, 52.5}, Point{-0.1, 51.5}
	for b.Loop() {
		Distance(p, q)
	}
}
