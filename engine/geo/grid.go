package geo

import "math"

// The bounds of valid places, and the steps of the finest cells.
const (
	LongitudeMax = 180.0
	LatitudeMax  = 85.05112878
	StepsMax     = 26
)

// Point is a place in degrees.
type Point struct{ Longitude, Latitude float64 }

// Valid reports whether the place is on the grid.
func (p Point) Valid() bool {
	return !(p.Longitude < -LongitudeMax || p.Longitude > LongitudeMax || p.Latitude < -LatitudeMax || p.Latitude > LatitudeMax)
}

// Cell is a cell of the grid: twice Steps bits.
type Cell struct {
	Bits  uint64
	Steps uint
}

// Of returns the cell that contains a valid place.
func Of(p Point, steps uint) Cell { return encode(p, LatitudeMax, steps) }

// encode is Of for a grid with other latitudes.
func encode(p Point, latitudeMax float64, steps uint) Cell {
	scale := float64(uint64(1) << steps)
	x := (p.Longitude + LongitudeMax) / (2 * LongitudeMax) * scale
	y := (p.Latitude + latitudeMax) / (latitudeMax - -latitudeMax) * scale
	return Cell{spread(uint32(x))<<1 | spread(uint32(y)), steps}
}

// spread inserts a zero bit before each bit.
func spread(n uint32) uint64 {
	x := uint64(n)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}

// gather takes every other bit, beginning with the lowest.
func gather(x uint64) uint32 {
	x &= 0x5555555555555555
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return uint32(x | x>>16)
}

// Score is the number of a finest cell as a score.
func (c Cell) Score() float64 { return float64(c.align()) }

// align is the number of the first finest cell in this cell.
func (c Cell) align() uint64 { return c.Bits << (2*StepsMax - 2*c.Steps) }

// Scores returns the scores of the finest cells in this cell: from min to below max.
func (c Cell) Scores() (min, max float64) {
	return float64(c.align()), float64(Cell{c.Bits + 1, c.Steps}.align())
}

// box is a range of longitudes and latitudes.
type box struct{ west, south, east, north float64 }

func (c Cell) box() box {
	x, y := gather(c.Bits>>1), gather(c.Bits)
	scale := float64(uint64(1) << c.Steps)
	// A number that is not a cell's may be so large that adding one wraps around.
	at := func(n uint32, max float64) float64 { return -max + float64(float64(n)/scale*(max - -max)) }
	return box{at(x, LongitudeMax), at(y, LatitudeMax), at(x+1, LongitudeMax), at(y+1, LatitudeMax)}
}

// At returns the centre of the cell with a score. A score that is not a cell's gives some place,
// the same as in Redis.
func At(score float64) Point {
	b := Cell{toUint64(score), StepsMax}.box()
	clamp := func(f, max float64) float64 {
		if f > max {
			return max
		}
		if f < -max {
			return -max
		}
		return f
	}
	return Point{clamp((b.west+b.east)/2, LongitudeMax), clamp((b.south+b.north)/2, LatitudeMax)}
}

// toUint64 converts as C compilers do on amd64 in the cases that the language leaves undefined.
func toUint64(f float64) uint64 {
	const half = 1 << 63
	switch {
	case f >= half:
		return toInt64(f-half) ^ half
	default:
		return toInt64(f)
	}
}

func toInt64(f float64) uint64 {
	if f >= -(1<<63) && f < 1<<63 {
		return uint64(int64(f))
	}
	return 1 << 63
}

// alphabet is the digits of geohash texts.
const alphabet = "0123456789bcdefghjkmnpqrstuvwxyz"

// Hash is the geohash text of a place, on a grid with latitudes up to 90 degrees. It has eleven
// digits, of which the last is always 0.
func Hash(p Point) string {
	bits := encode(p, 90, StepsMax).Bits
	text := make([]byte, 11)
	for i := range 10 {
		text[i] = alphabet[bits>>(2*StepsMax-5*(i+1))&31]
	}
	text[10] = alphabet[0]
	return string(text)
}

const (
	longitudeBits = 0xaaaaaaaaaaaaaaaa
	latitudeBits  = 0x5555555555555555
)

// moved is the neighbour in the direction east and north, each from -1 to 1. East of the last cell
// is the first one. The cell of a place on the eastern or northern edge is one beyond the last. It
// stays so unless it is moved in that direction.
func (c Cell) moved(east, north int) Cell {
	unused := 64 - 2*c.Steps
	x := step(c.Bits&longitudeBits, east, longitudeBits>>unused, latitudeBits>>unused)
	y := step(c.Bits&latitudeBits, north, latitudeBits>>unused, longitudeBits>>unused)
	return Cell{x | y, c.Steps}
}

// step adds to a number that has only every other bit, own. The other bits are filled so that
// carries pass over them.
func step(bits uint64, by int, own, others uint64) uint64 {
	switch {
	case by > 0:
		return (bits + (others + 1)) & own
	case by < 0:
		return ((bits | others) - (others + 1)) & own
	}
	return bits
}

// stepsFor is how fine cells may be if nine of them must contain everything within a radius in
// metres.
func stepsFor(radius, latitude float64) uint {
	const equatorHalf = 20037726.37
	if radius == 0 {
		return StepsMax
	}
	steps := 1
	for ; radius < equatorHalf; radius *= 2 {
		steps++
	}
	steps -= 2
	// Degrees of longitude are shorter near the poles.
	switch latitude = math.Abs(latitude); {
	case latitude > 80:
		steps -= 2
	case latitude > 66:
		steps--
	}
	return uint(min(max(steps, 1), StepsMax))
}
