package differential

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// sortedSetForms are the forms of commands on sorted sets. Ranges of texts have their own keys,
// whose members all have the same score: otherwise the answer means nothing.
var sortedSetForms = []formText{
	{24, "ZADD key (score zmember)+"},
	{10, "ZADD key [NX|XX|GT|LT] [CH] [GT|XX] (score zmember)+"},
	{6, "ZADD key [XX|NX|GT|LT] INCR score zmember"},
	{6, "ZINCRBY key score zmember"},
	{6, "ZREM key zmember+"},
	{4, "ZCARD key"},
	{6, "ZSCORE key zmember"},
	{4, "ZMSCORE key zmember+"},
	{6, "(ZRANK|ZREVRANK) key zmember"},
	{5, "ZCOUNT key bound bound"},
	{10, "ZRANGE key small small [REV] [WITHSCORES]"},
	{8, "ZRANGE key bound bound BYSCORE [REV] [WITHSCORES] [LIMIT small small]"},
	{3, "ZRANGE key (small small|bound bound) [LIMIT small int|BYSCORE|REV|WITHSCORES|X] [BYLEX]"},
	{5, "ZREVRANGE key small small [WITHSCORES]"},
	{6, "(ZRANGEBYSCORE|ZREVRANGEBYSCORE) key bound bound [WITHSCORES] [LIMIT small small]"},
	{5, "ZRANGESTORE key key (small small|bound bound BYSCORE [LIMIT small small]) [REV]"},
	{4, "ZREMRANGEBYRANK key small small"},
	{4, "ZREMRANGEBYSCORE key bound bound"},
	{6, "(ZPOPMIN|ZPOPMAX) key [small]"},
	{6, "ZMPOP (1 key|2 key key|3 key key key|small key) (MIN|MAX) [COUNT small]"},
	{4, "(BZPOPMIN|BZPOPMAX) key+ (0.001|-1|X)"},
	{3, "BZMPOP 0.001 (1 key|2 key key) (MIN|MAX) [COUNT small]"},
	{4, "ZRANDMEMBER key [small [WITHSCORES]]"},
	{4, "ZSCAN key 0 COUNT 100000 [MATCH pattern]"},
	{8, "(ZUNION|ZINTER) (1 key [WEIGHTS score]|2 key key [WEIGHTS score score]|3 key key key) [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]"},
	{4, "ZDIFF (1 key|2 key key|3 key key key|small key) [WITHSCORES]"},
	{4, "ZINTERCARD (2 key key|small key key) [LIMIT small]"},
	{8, "(ZUNIONSTORE|ZINTERSTORE) key (1 key [WEIGHTS score]|2 key key [WEIGHTS score score]) [AGGREGATE (SUM|MIN|MAX)]"},
	{4, "ZDIFFSTORE key (1 key|2 key key|3 key key key)"},
	{3, "RESTORE key 0 zpayload [REPLACE]"},
	{6, "ZADD lexkey (0 zmember)+"},
	{4, "(ZRANGEBYLEX|ZREVRANGEBYLEX) lexkey lexbound lexbound [LIMIT small small]"},
	{4, "ZRANGE lexkey lexbound lexbound BYLEX [REV] [LIMIT small small]"},
	{3, "ZLEXCOUNT lexkey lexbound lexbound"},
	{2, "ZREMRANGEBYLEX lexkey lexbound lexbound"},
	{2, "ZRANGESTORE lexkey lexkey lexbound lexbound BYLEX [REV] [LIMIT small small]"},
	{1, "COMMAND GETKEYS (ZUNION 2 key key|ZUNIONSTORE key 2 key key|ZMPOP 1 key MIN|BZPOPMIN key key 0|ZRANGESTORE key key 0 1|ZADD key 1 zmember)"},
}

// geoForms are the forms of commands on geo indexes. They exclude STOREDIST, because the last digit
// of a distance depends on the C library, and COUNT without ANY, because Redis drops any of several
// members at the same distance.
var geoForms = []formText{
	{10, "GEOADD key [NX|XX] [CH] (lon lat zmember)+"},
	{4, "GEODIST key zmember zmember [M|KM|FT|MI|X]"},
	{3, "(GEOHASH|GEOPOS) key zmember+"},
	{4, "GEORADIUS key lon lat length (M|KM|FT|MI) [WITHCOORD] [WITHDIST] [WITHHASH] [ASC|DESC|COUNT 3 ANY]"},
	{2, "GEORADIUS key lon lat length KM STORE key"},
	{2, "GEORADIUS_RO key lon lat length KM [WITHDIST] [STORE key]"},
	{3, "(GEORADIUSBYMEMBER|GEORADIUSBYMEMBER_RO) key zmember length KM [WITHDIST] [ASC|DESC]"},
	{6, "GEOSEARCH key (FROMMEMBER zmember|FROMLONLAT lon lat) (BYRADIUS length KM|BYBOX length length KM) [ASC|DESC] [WITHCOORD] [WITHDIST] [WITHHASH]"},
	{3, "GEOSEARCHSTORE key key (FROMMEMBER zmember|FROMLONLAT lon lat) (BYRADIUS length KM|BYBOX length length KM) [WITHDIST]"},
	{1, "COMMAND GETKEYS (GEOADD key 1 2 zmember|GEORADIUS key 1 2 3 M STORE key|GEOSEARCHSTORE key key FROMLONLAT 1 2 BYRADIUS 1 M)"},
}

func init() {
	terms["zmember"] = func(r *rand.Rand) string {
		if r.IntN(10) == 0 {
			return pick(r, "", "1", "-7", "\xff", "b\x00", "10")
		}
		return pick(r, "a", "b", "c", "d", "e", "f", "aa", "ab", "m1", "m2", "m3")
	}
	terms["score"] = func(r *rand.Rand) string {
		if r.IntN(3) == 0 {
			return drawFloat(r)
		}
		return strconv.Itoa(r.IntN(9) - 4)
	}
	terms["bound"] = func(r *rand.Rand) string {
		return pick(r, "", "", "(") + pick(r, "-inf", "+inf", "0", "1", "-1", "2.5", "-2", "3", "X", "nan")
	}
	terms["lexkey"] = func(r *rand.Rand) string { return pick(r, "lex1", "lex2") }
	terms["lexbound"] = func(r *rand.Rand) string {
		return pick(r, "-", "+", "[a", "(b", "[c", "(aa", "[m2", "(f", "[", "(", "a", "")
	}
	terms["zpayload"] = func(r *rand.Rand) string { return sortedSetPayloads[r.IntN(len(sortedSetPayloads))] }
	terms["lon"] = func(r *rand.Rand) string { return degrees(r, 180) }
	terms["lat"] = func(r *rand.Rand) string { return degrees(r, 85) }
	terms["length"] = func(r *rand.Rand) string {
		if r.IntN(10) == 0 {
			return pick(r, "0", "-1", "X", "20000", "1e10")
		}
		return strconv.FormatFloat(r.Float64()*r.Float64()*5000, 'f', 3, 64)
	}
}

func degrees(r *rand.Rand, most float64) string {
	if r.IntN(20) == 0 {
		return pick(r, "0", "180.1", "-86", "X", "inf")
	}
	if r.IntN(2) == 0 {
		most = 15
	}
	return strconv.FormatFloat((2*r.Float64()-1)*most, 'f', 3+r.IntN(12), 64)
}

// sortedSetPayloads were written by DUMP of redis-server 7.0.15: two listpacks and a skiplist. The
// last one is broken.
var sortedSetPayloads = []string{
	"\x11**\x00\x00\x00\x08\x00\x81c\x02\x84-inf\x05\x81a\x02\x01\x01\x81b\x02\x832.5\x04\x81d\x02\xf4\x00\x00\x8a]xEc\x01\x09\xff\x0a\x00\x95\xa8#5\x1f\xae\x8d\xf6",
	"\x11\x0d\x0d\x00\x00\x00\x02\x00\x82m1\x03\x03\x01\xff\x0a\x00[=;\xe1y\xe8X\x18",
	"\x05\x03\x01b\x00\x00\x00\x00\x00\x00\x04@\x01a\x00\x00\x00\x00\x00\x00\xf0?\x01c\x00\x00\x00\x00\x00\x00\x00\x80\x0a\x00T\xd1-J\xc1\x0be\xa9",
	"\x11\x0d\x0d\x00\x00\x00\x02\x00\x82m2\x03\x03\x01\xff\x0a\x00[=;\xe1y\xe8X\x18",
}

// sortedSetsComparable rejects commands that spoiling can make out of a form: long waits, more
// arguments for ZRANK (7.2 has an option there), and the cases in the comment of geoForms.
func sortedSetsComparable(args []string) bool {
	switch name, last := strings.ToUpper(args[0]), args[len(args)-1]; {
	case name == "BZPOPMIN" || name == "BZPOPMAX":
		return waitsBriefly(last)
	case name == "BZMPOP":
		return len(args) < 2 || waitsBriefly(args[1])
	case name == "ZRANK" || name == "ZREVRANK":
		return len(args) <= 3
	case strings.HasPrefix(name, "GEO"):
		return !slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "STOREDIST") })
	}
	return true
}

func waitsBriefly(timeout string) bool {
	_, err := strconv.ParseFloat(timeout, 64)
	return timeout == "0.001" || timeout == "-1" || err != nil && !strings.ContainsAny(timeout, "xX0123456789")
}
