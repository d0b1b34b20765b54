package fsm

import (
	"fmt"
	"strings"

	"lockstep/engine/command"
)

// sortedSetOp draws arguments with which a command on sorted sets or geo indexes usually succeeds:
// few keys, shared members, sets on both sides of the limit between small and large. It returns nil
// for other commands, and sometimes for these.
func (l *simLog) sortedSetOp(spec *command.Spec) [][]byte {
	if spec.Group != "sorted-set" && spec.Group != "geo" || l.rng.IntN(16) == 0 {
		return nil
	}
	name, text := spec.Name, ""
	if l.rng.IntN(3) == 0 {
		name = "zadd" // otherwise all sets would soon be empty
	}
	switch name {
	case "zadd":
		text = "KEY SCORE MEMBER SCORE MEMBER SCORE MEMBER"
		switch l.rng.IntN(6) {
		case 0:
			text = "KEY XX CH SCORE MEMBER SCORE MEMBER"
		case 1:
			text = "KEY" + strings.Repeat(" SCORE MEMBER", 40)
		}
	case "zincrby":
		text = "KEY SCORE MEMBER"
	case "zrem", "zmscore", "geohash", "geopos":
		text = "KEY MEMBER MEMBER MEMBER"
	case "zcard":
		text = "KEY"
	case "zscore", "zrank", "zrevrank":
		text = "KEY MEMBER"
	case "zcount":
		text = "KEY BOUND BOUND"
	case "zremrangebyscore":
		text = "KEY (1 (7"
	case "zrangebyscore", "zrevrangebyscore":
		text = "KEY BOUND BOUND WITHSCORES LIMIT N N"
	case "zremrangebylex":
		text = "OUT LEX LEX"
	case "zlexcount", "zrangebylex", "zrevrangebylex":
		text = "KEY LEX LEX"
	case "zrange":
		text = "KEY BOUND BOUND BYSCORE REV"
	case "zremrangebyrank":
		text = "KEY -N -1"
	case "zrevrange":
		text = "KEY N N"
	case "zrangestore":
		text = "OUT KEY 0 -N"
	case "zpopmin", "zpopmax", "zrandmember":
		text = "KEY N"
	case "zmpop":
		text = "2 KEY KEY MAX COUNT N"
	case "bzmpop":
		text = "0 2 KEY KEY MIN"
	case "bzpopmin", "bzpopmax":
		text = "KEY KEY 0"
	case "zscan":
		text = "KEY 0 COUNT N"
	case "zdiff", "zintercard":
		text = "2 KEY KEY"
	case "zunion", "zinter":
		text = "2 KEY KEY WEIGHTS SCORE 2 WITHSCORES"
	case "zunionstore", "zinterstore":
		text = "OUT 3 KEY OUT KEY AGGREGATE MAX"
	case "zdiffstore":
		text = "OUT 2 KEY KEY"
	default:
		text = l.geoText(name)
	}
	return l.fillIn(name + " " + text)
}

func (l *simLog) geoText(name string) string {
	switch name {
	case "geoadd":
		return "KEY LON LAT MEMBER LON LAT MEMBER LON LAT MEMBER"
	case "geodist":
		return "KEY MEMBER MEMBER"
	case "georadius":
		return "KEY LON LAT 2000 km WITHDIST STOREDIST OUT"
	case "georadius_ro":
		return "KEY LON LAT 2000 km WITHDIST WITHCOORD"
	case "georadiusbymember":
		return "KEY MEMBER 2000 km STORE OUT"
	case "georadiusbymember_ro":
		return "KEY MEMBER 2000 km WITHHASH"
	case "geosearch":
		return "KEY FROMMEMBER MEMBER BYBOX 3000 2000 km WITHDIST"
	case "geosearchstore":
		return "OUT KEY FROMLONLAT LON LAT BYRADIUS 3000 km STOREDIST"
	}
	panic("no arguments are drawn for " + name)
}

// fillIn draws values for the words in capitals that are not options.
func (l *simLog) fillIn(text string) [][]byte {
	var args [][]byte
	for _, word := range strings.Fields(text) {
		switch word {
		case "KEY":
			word = fmt.Sprintf("{k%d}zset", l.rng.IntN(4))
		case "OUT":
			word = fmt.Sprintf("{k%d}zset", 2+l.rng.IntN(4))
		case "MEMBER":
			word = fmt.Sprintf("m%d", l.rng.IntN([]int{8, 400}[l.rng.IntN(2)]))
		case "SCORE":
			word = []string{"0", "-0", "1", "-1.5", "inf", "-inf", "0.1", "1e300", "7", "7", "-3"}[l.rng.IntN(11)]
		case "BOUND":
			word = []string{"-inf", "inf", "(0", "0", "(1", "7", "-1.5"}[l.rng.IntN(7)]
		case "LEX":
			word = []string{"-", "+", "[m1", "(m3", "[m7"}[l.rng.IntN(5)]
		case "N":
			word = fmt.Sprint(l.rng.IntN(30))
		case "-N":
			word = fmt.Sprint(-l.rng.IntN(30))
		case "LON":
			word = fmt.Sprint(l.rng.Float64()*360 - 180)
		case "LAT":
			word = fmt.Sprint(l.rng.Float64()*170 - 85)
		}
		args = append(args, []byte(word))
	}
	return args
}
