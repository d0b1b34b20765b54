package cmdtest

import "strconv"

func (g Generator) longitude() string {
	switch g.Intn(20) {
	case 0:
		return g.Pick("180", "-180", "0", "180.0001", "-181", "inf", "-inf", "nan", "x", "1e300", "179.9999999")
	case 1, 2, 3:
		return strconv.FormatFloat((g.Float64()-0.5)*360, 'f', -1, 64)
	}
	return strconv.FormatFloat(13+g.NormFloat64(), 'f', 5+g.Intn(12), 64)
}

func (g Generator) latitude() string {
	switch g.Intn(20) {
	case 0:
		return g.Pick("85.05112878", "-85.05112878", "0", "85.06", "-86", "inf", "x", "85", "-70")
	case 1, 2, 3:
		return strconv.FormatFloat((g.Float64()-0.5)*170, 'f', -1, 64)
	}
	return strconv.FormatFloat(52+g.NormFloat64(), 'f', 5+g.Intn(12), 64)
}

func (g Generator) geoMember() string { return "p" + strconv.Itoa(g.Intn(60)) }

func (g Generator) unit() string {
	if g.Intn(25) == 0 {
		return g.Pick("", "x", "mm")
	}
	return g.Pick("m", "km", "KM", "ft", "mi", "km", "km")
}

// length is a length for a unit, mostly one that suits kilometres.
func (g Generator) length() string {
	switch g.Intn(12) {
	case 0:
		return g.Pick("0", "-1", "x", "inf", "nan", "1e10", "1e300", "20000", "5000", "10000", "6371000")
	case 1:
		return strconv.FormatFloat(g.Float64()*20000, 'g', -1, 64)
	}
	return strconv.FormatFloat(g.Float64()*400, 'f', 3, 64)
}

func (g Generator) geoOptions(more ...string) string {
	return g.Some(4, append(more, "withdist", "WITHCOORD", "withhash", "asc", "DESC", "count\x01"+g.Pick("1", "3", "10", "0", "x"), "count\x015\x01any", "any")...)
}

func (g Generator) from() string {
	switch g.Intn(10) {
	case 0:
		return "\x02"
	case 1, 2, 3, 4:
		return "\x02frommember\x01" + g.geoMember()
	case 5:
		return "\x02frommember\x01" + g.geoMember() + "\x01fromlonlat\x011\x012"
	}
	return "\x02FROMLONLAT\x01" + g.longitude() + "\x01" + g.latitude()
}

func (g Generator) by() string {
	switch g.Intn(10) {
	case 0:
		return "\x02" + g.Pick("", "byradius", "bybox\x011\x01m", "byradius\x011\x01m\x01bybox\x011\x011\x01m")
	case 1, 2, 3, 4:
		return "\x02BYBOX\x01" + g.length() + "\x01" + g.length() + "\x01" + g.unit()
	}
	return "\x02byradius\x01" + g.length() + "\x01" + g.unit()
}

func (g Generator) geoKey() string { return g.Pick("g1", "g1", "g2", "none", "out") }

var GeoCommands = []func(Generator) []string{
	func(g Generator) []string {
		args := []string{"geoadd", g.geoKey(), "\x02" + g.Some(1, "nx", "XX", "ch", "CH", "nx\x01xx")}
		for range 1 + g.Intn(4) {
			args = append(args, g.longitude(), g.latitude(), g.geoMember())
		}
		return args
	},
	func(g Generator) []string {
		args := []string{"geoadd", g.Pick("g1", "g2")}
		for range 8 {
			args = append(args, strconv.FormatFloat(13+g.NormFloat64(), 'f', 9, 64), strconv.FormatFloat(52+g.NormFloat64(), 'f', 9, 64), g.geoMember())
		}
		return args
	},
	func(g Generator) []string { return []string{"geoadd", g.geoKey(), "ch", "ch", "nx"} },
	func(g Generator) []string {
		return []string{"geodist", g.geoKey(), g.geoMember(), g.geoMember(), "\x02" + g.Some(1, g.unit(), g.unit(), "m\x01km")}
	},
	func(g Generator) []string { return []string{"geohash", g.geoKey(), g.geoMember(), g.geoMember()} },
	func(g Generator) []string { return []string{"geopos", g.geoKey(), g.geoMember(), g.geoMember()} },
	func(g Generator) []string { return []string{g.Pick("geopos", "geohash"), g.geoKey()} },
	func(g Generator) []string {
		return []string{"georadius", g.geoKey(), g.longitude(), g.latitude(), g.length(), g.unit(), "\x02" + g.geoOptions("store\x01stored", "storedist\x01out")}
	},
	func(g Generator) []string {
		return []string{"georadius_ro", g.geoKey(), g.longitude(), g.latitude(), g.length(), g.unit(), "\x02" + g.geoOptions("store\x01out")}
	},
	func(g Generator) []string {
		return []string{"georadiusbymember", g.geoKey(), g.geoMember(), g.length(), g.unit(), "\x02" + g.geoOptions("STOREDIST\x01out", "store\x01stored")}
	},
	func(g Generator) []string {
		return []string{"georadiusbymember_ro", g.geoKey(), g.geoMember(), g.length(), g.unit(), "\x02" + g.geoOptions()}
	},
	func(g Generator) []string {
		return []string{"geosearch", g.geoKey(), g.from(), g.by(), "\x02" + g.geoOptions("storedist")}
	},
	func(g Generator) []string {
		return []string{"geosearch", g.geoKey(), g.by(), g.from(), "\x02" + g.geoOptions()}
	},
	func(g Generator) []string {
		return []string{"geosearchstore", "out", g.geoKey(), g.from(), g.by(), "\x02" + g.Some(2, "asc", "count\x013", "storedist", "storedist", "withdist", "any", "store\x01x")}
	},
	func(g Generator) []string { return []string{"zrange", g.Pick("g1", "g2"), "0", "-1", "withscores"} },
	func(g Generator) []string { return []string{"zrange", "out", "0", "-1"} },
	func(g Generator) []string { return []string{"zrange", "stored", "0", "-1", "withscores"} },
	func(g Generator) []string { return []string{"zadd", "odd", g.Score(), g.geoMember()} },
	func(g Generator) []string {
		return []string{g.Pick("geopos", "geohash", "geodist"), "odd", g.geoMember(), g.geoMember()}
	},
	func(g Generator) []string {
		return []string{g.Pick("geosearch"), "odd", "fromlonlat", g.longitude(), g.latitude(), g.by(), "\x02" + g.Some(2, "withdist", "withhash", "withcoord")}
	},
	func(g Generator) []string { return []string{"zrem", g.geoKey(), g.geoMember()} },
	func(g Generator) []string { return []string{"set", "none", "x"} },
	func(g Generator) []string { return []string{"del", "none", "out"} },
	func(g Generator) []string { return []string{"object", "encoding", "out"} },
}
