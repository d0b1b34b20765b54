package geocmd

import (
	"bytes"
	"strconv"

	"lockstep/engine/command"
	"lockstep/engine/commands/zsetcmd"
	"lockstep/engine/geo"
	"lockstep/engine/reply"
)

// geoPlaceArg reads a longitude and a latitude. It answers the error itself.
func geoPlaceArg(c *command.Ctx, args [][]byte) (p geo.Point, ok bool) {
	if p.Longitude, ok = zsetcmd.DoubleArg(c, args[0], command.ErrNotFloat); !ok {
		return p, false
	}
	if p.Latitude, ok = zsetcmd.DoubleArg(c, args[1], command.ErrNotFloat); !ok {
		return p, false
	}
	if !p.Valid() {
		c.Out.Error(errGeoPlace(p))
		return p, false
	}
	return p, true
}

// runGeoAdd is ZADD with scores that are computed from places.
func runGeoAdd(c *command.Ctx, args [][]byte) {
	var o zsetcmd.AddOptions
	at := 2
	for ; at < len(args); at++ {
		a := args[at]
		if !command.EqualFold(a, "nx") && !command.EqualFold(a, "xx") && !command.EqualFold(a, "ch") {
			break
		}
		o.NX = o.NX || command.EqualFold(a, "nx")
		o.XX = o.XX || command.EqualFold(a, "xx")
	}
	places := args[at:]
	if len(places)%3 != 0 || o.NX && o.XX {
		c.Out.Error(command.ErrSyntax)
		return
	}
	scored := append([][]byte(nil), args[:at]...)
	for ; len(places) > 0; places = places[3:] {
		p, ok := geoPlaceArg(c, places)
		if !ok {
			return
		}
		score := strconv.AppendUint(nil, uint64(geo.Of(p, geo.StepsMax).Score()), 10)
		scored = append(scored, score, places[2])
	}
	zsetcmd.Add(c, scored, zsetcmd.AddOptions{})
}

// geoUnit returns the metres of a unit. It answers the error itself.
func geoUnit(c *command.Ctx, text []byte) (float64, bool) {
	switch {
	case command.EqualFold(text, "m"):
		return 1, true
	case command.EqualFold(text, "km"):
		return 1000, true
	case command.EqualFold(text, "ft"):
		return 0.3048, true
	case command.EqualFold(text, "mi"):
		return 1609.34, true
	}
	c.Out.Error(ErrGeoUnit)
	return 0, false
}

func runGeoDist(c *command.Ctx, args [][]byte) {
	unit, ok := 1.0, true
	switch {
	case len(args) == 5:
		if unit, ok = geoUnit(c, args[4]); !ok {
			return
		}
	case len(args) > 5:
		c.Out.Error(command.ErrSyntax)
		return
	}
	s, ok := zsetcmd.ReadSortedSet(c, args[1])
	if !ok {
		return
	}
	if s != nil {
		a, okA := s.Score(args[2])
		b, okB := s.Score(args[3])
		if okA && okB {
			c.Worked(2 * command.WorkMember)
			writeDistance(c, geo.Distance(geo.At(a), geo.At(b))/unit)
			return
		}
	}
	c.Out.Null()
}

func writeDistance(c *command.Ctx, f float64) {
	var buf [64]byte
	c.Out.Bulk(strconv.AppendFloat(buf[:0], f, 'f', 4, 64))
}

// writePlace answers a place as Redis prints numbers for humans: 17 digits
// behind the point, without the zeros at the end.
func writePlace(c *command.Ctx, p geo.Point) {
	c.Out.Array(2)
	for _, f := range [2]float64{p.Longitude, p.Latitude} {
		var buf [64]byte
		text := bytes.TrimRight(strconv.AppendFloat(buf[:0], f, 'f', 17, 64), "0")
		text = bytes.TrimSuffix(text, []byte("."))
		if string(text) == "-0" {
			text = text[1:]
		}
		if c.Out.Proto == reply.RESP3 {
			c.Out.Raw([]byte{','})
			c.Out.Raw(text)
			c.Out.Raw([]byte("\r\n"))
		} else {
			c.Out.Bulk(text)
		}
	}
}

func runGeoHash(c *command.Ctx, args [][]byte) {
	zsetcmd.EachScore(c, args, c.Out.Null, func(score float64) { c.Out.BulkString(geo.Hash(geo.At(score))) })
}

func runGeoPos(c *command.Ctx, args [][]byte) {
	zsetcmd.EachScore(c, args, c.Out.NullArray, func(score float64) { writePlace(c, geo.At(score)) })
}
