package geocmd

import (
	"math"
	"strconv"

	"lockstep/engine/geo"
)

// Error replies of the commands on geo indexes.
const (
	ErrGeoUnit        = "ERR unsupported unit provided. please use M, KM, FT, MI"
	ErrGeoMember      = "ERR could not decode requested zset member"
	ErrGeoRadius      = "ERR need numeric radius"
	ErrGeoRadiusSign  = "ERR radius cannot be negative"
	ErrGeoWidth       = "ERR need numeric width"
	ErrGeoHeight      = "ERR need numeric height"
	ErrGeoBoxSign     = "ERR height or width cannot be negative"
	ErrGeoAny         = "ERR the ANY argument requires COUNT argument"
	ErrGeoStore       = "ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
	ErrGeoSearchStore = "ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
)

// errGeoFrom and errGeoBy quote the command as it was typed.
func errGeoFrom(command []byte) string {
	return "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for " + string(command)
}

func errGeoBy(command []byte) string {
	return "ERR exactly one of BYRADIUS and BYBOX can be specified for " + string(command)
}

func errGeoPlace(p geo.Point) string {
	text := func(f float64) string {
		if math.IsInf(f, 1) {
			return "inf"
		}
		if math.IsInf(f, -1) {
			return "-inf"
		}
		return strconv.FormatFloat(f, 'f', 6, 64)
	}
	return "ERR invalid longitude,latitude pair " + text(p.Longitude) + "," + text(p.Latitude)
}
