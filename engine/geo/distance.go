package geo

import "math"

// earthRadius is the radius of the sphere in metres.
const earthRadius = 6372797.560856

// perDegree is computed with C's rounding, which a constant would not have.
var perDegree = func() float64 {
	pi := float64(math.Pi)
	return pi / 180
}()

func radians(degrees float64) float64 { return float64(degrees * perDegree) }
func degrees(radians float64) float64 { return radians / perDegree }

// Distance is the length of the way between two places along the sphere, in metres.
func Distance(a, b Point) float64 {
	v := sin((radians(b.Longitude) - radians(a.Longitude)) / 2)
	if v == 0 {
		return latitudeDistance(a.Latitude, b.Latitude)
	}
	y1, y2 := radians(a.Latitude), radians(b.Latitude)
	u := sin((y2 - y1) / 2)
	return 2 * earthRadius * asin(math.Sqrt(float64(u*u)+float64(cos(y1)*cos(y2)*v*v)))
}

func latitudeDistance(a, b float64) float64 {
	return earthRadius * math.Abs(radians(b)-radians(a))
}
