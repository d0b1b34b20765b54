package geocmd

import (
	"slices"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/zsetcmd"
	"lockstep/engine/geo"
	"lockstep/engine/zset"
)

// geoOrder is how results are sorted.
type geoOrder uint8

const (
	geoUnsorted geoOrder = iota
	geoNearest
	geoFarthest
)

// geoQuery is a query of GEOSEARCH and its relatives.
type geoQuery struct {
	set   *zset.Set // nil: there is none
	shape geo.Shape
	// search is set for GEOSEARCH and GEOSEARCHSTORE, whose options say from where and how far.
	// searchStore is set for GEOSEARCHSTORE alone.
	search, readOnly, searchStore          bool
	fromMember, fromPlace, byRadius, byBox bool
	withDist, withHash, withCoord, any     bool
	order                                  geoOrder
	count                                  int64 // 0: all
	storeKey                               []byte
	storeDist                              bool
}

// lengthArg reads a length that is not negative. It answers the error itself.
func lengthArg(c *command.Ctx, text []byte, notNumeric, negative string) (float64, bool) {
	f, ok := zsetcmd.DoubleArg(c, text, notNumeric)
	if ok && f < 0 {
		c.Out.Error(negative)
		return 0, false
	}
	return f, ok
}

func (q *geoQuery) radius(c *command.Ctx, args [][]byte) (ok bool) {
	if q.shape.Radius, ok = lengthArg(c, args[0], ErrGeoRadius, ErrGeoRadiusSign); !ok {
		return false
	}
	q.shape.Unit, ok = geoUnit(c, args[1])
	return ok
}

func (q *geoQuery) box(c *command.Ctx, args [][]byte) (ok bool) {
	if q.shape.Width, ok = zsetcmd.DoubleArg(c, args[0], ErrGeoWidth); !ok {
		return false
	}
	if q.shape.Height, ok = zsetcmd.DoubleArg(c, args[1], ErrGeoHeight); !ok {
		return false
	}
	if q.shape.Width < 0 || q.shape.Height < 0 {
		c.Out.Error(ErrGeoBoxSign)
		return false
	}
	q.shape.Box = true
	q.shape.Unit, ok = geoUnit(c, args[2])
	return ok
}

// member makes the place of a member the center. It answers the error itself.
func (q *geoQuery) member(c *command.Ctx, member []byte) bool {
	score, ok := q.set.Score(member)
	if !ok {
		c.Out.Error(ErrGeoMember)
		return false
	}
	q.shape.Center = geo.At(score)
	return true
}

// options reads the options. It answers the error itself.
func (q *geoQuery) options(c *command.Ctx, args [][]byte) bool {
	for len(args) > 0 {
		taken := q.flag(args[0])
		ok := true
		if taken == 0 {
			if taken, ok = q.option(c, args); !ok {
				return false
			}
		}
		if taken == 0 && q.search {
			if taken, ok = q.searchOption(c, args); !ok {
				return false
			}
		}
		if taken == 0 {
			c.Out.Error(command.ErrSyntax)
			return false
		}
		args = args[taken:]
	}
	return true
}

// flag takes an option of one word, and returns how many arguments it took.
func (q *geoQuery) flag(a []byte) int {
	switch {
	case command.EqualFold(a, "withdist"):
		q.withDist = true
	case command.EqualFold(a, "withhash"):
		q.withHash = true
	case command.EqualFold(a, "withcoord"):
		q.withCoord = true
	case command.EqualFold(a, "any"):
		q.any = true
	case command.EqualFold(a, "asc"):
		q.order = geoNearest
	case command.EqualFold(a, "desc"):
		q.order = geoFarthest
	case q.searchStore && command.EqualFold(a, "storedist"):
		q.storeDist = true
	default:
		return 0
	}
	return 1
}

// option reads an option that has a value.
func (q *geoQuery) option(c *command.Ctx, args [][]byte) (taken int, ok bool) {
	if len(args) < 2 {
		return 0, true
	}
	switch a := args[0]; {
	case command.EqualFold(a, "count"):
		if q.count, ok = c.IntArg(args[1]); !ok {
			return 0, false
		}
		if q.count <= 0 {
			c.Out.Error(command.ErrCountZero)
			return 0, false
		}
	case !q.readOnly && !q.search && (command.EqualFold(a, "store") || command.EqualFold(a, "storedist")):
		q.storeKey, q.storeDist = args[1], command.EqualFold(a, "storedist")
	default:
		return 0, true
	}
	return 2, true
}

// searchOption reads an option that only GEOSEARCH has.
func (q *geoQuery) searchOption(c *command.Ctx, args [][]byte) (taken int, ok bool) {
	switch a := args[0]; {
	case command.EqualFold(a, "frommember") && len(args) > 1 && !q.fromPlace:
		if q.set != nil && !q.member(c, args[1]) {
			return 0, false
		}
		q.fromMember = true
		return 2, true
	case command.EqualFold(a, "fromlonlat") && len(args) > 2 && !q.fromMember:
		if q.shape.Center, ok = geoPlaceArg(c, args[1:]); !ok {
			return 0, false
		}
		q.fromPlace = true
		return 3, true
	case command.EqualFold(a, "byradius") && len(args) > 2 && !q.byBox:
		if !q.radius(c, args[1:]) {
			return 0, false
		}
		q.byRadius = true
		return 3, true
	case command.EqualFold(a, "bybox") && len(args) > 3 && !q.byRadius:
		if !q.box(c, args[1:]) {
			return 0, false
		}
		q.byBox = true
		return 4, true
	}
	return 0, true
}

// problem returns the error for options that exclude each other, or "".
func (q *geoQuery) problem(command []byte) string {
	switch {
	case q.storeKey != nil && (q.withDist || q.withHash || q.withCoord):
		if q.searchStore {
			return ErrGeoSearchStore
		}
		return ErrGeoStore
	case q.search && !q.fromMember && !q.fromPlace:
		return errGeoFrom(command)
	case q.search && !q.byRadius && !q.byBox:
		return errGeoBy(command)
	case q.any && q.count == 0:
		return ErrGeoAny
	}
	return ""
}

// geoFound is a member in the shape.
type geoFound struct {
	zset.Entry
	distance float64 // metres
}

// find returns the members that match. If it returns false it has written the error reply.
func (q *geoQuery) find(c *command.Ctx) ([]geoFound, bool) {
	if q.set == nil {
		return nil, true
	}
	enough := 0
	if q.any {
		enough = int(min(q.count, int64(q.set.Len())))
	}
	var found []geoFound
	visited, left := int64(0), c.StepsLeft()
	for _, cell := range q.shape.Cells() {
		if enough > 0 && len(found) >= enough {
			break
		}
		low, high := cell.Scores()
		for _, e := range q.set.From(q.set.Below(low, false)) {
			// Without steps left the walk stops at once: a transaction may repeat the query.
			if e.Score >= high || visited > left {
				break
			}
			visited++
			c.Worked(2 * command.WorkMember)
			if distance, ok := q.shape.Contains(geo.At(e.Score)); ok {
				found = append(found, geoFound{e, distance})
			}
			if enough > 0 && len(found) >= enough {
				break
			}
		}
	}
	if !c.Steps(visited) {
		return nil, false
	}
	q.sort(c, found)
	if q.count > 0 {
		found = found[:min(int64(len(found)), q.count)]
	}
	return found, true
}

// sort sorts by distance. A count without an order means the nearest. Members at the same distance
// stay in the order in which they were found.
func (q *geoQuery) sort(c *command.Ctx, found []geoFound) {
	order := q.order
	if order == geoUnsorted && q.count > 0 && !q.any {
		order = geoNearest
	}
	if order == geoUnsorted {
		return
	}
	slices.SortStableFunc(found, func(a, b geoFound) int {
		c.Item()
		if order == geoFarthest {
			a, b = b, a
		}
		switch {
		case a.distance < b.distance:
			return -1
		case a.distance > b.distance:
			return 1
		}
		return 0
	})
}

// geoAnswer runs the query and answers or stores the result; args begin with the command.
func geoAnswer(c *command.Ctx, q *geoQuery, args, options [][]byte) {
	if !q.options(c, options) {
		return
	}
	if problem := q.problem(args[0]); problem != "" {
		c.Out.Error(problem)
		return
	}
	found, ok := q.find(c)
	if !ok {
		return
	}
	if q.storeKey != nil {
		geoStore(c, q, found)
		return
	}
	c.Out.Array(len(found))
	parts := 1
	for _, with := range [3]bool{q.withDist, q.withHash, q.withCoord} {
		if with {
			parts++
		}
	}
	for _, f := range found {
		c.Item()
		if parts > 1 {
			c.Out.Array(parts)
		}
		c.Out.Bulk(f.Member)
		if q.withDist {
			writeDistance(c, f.distance/q.shape.Unit)
		}
		if q.withHash {
			c.Out.Int(int64(f.Score))
		}
		if q.withCoord {
			writePlace(c, geo.At(f.Score))
		}
	}
}

func geoStore(c *command.Ctx, q *geoQuery, found []geoFound) {
	entries := make([]zset.Entry, 0, len(found))
	for _, f := range found {
		if q.storeDist {
			f.Score = f.distance / q.shape.Unit
		}
		entries = append(entries, f.Entry)
	}
	zsetcmd.SortEntries(c, entries)
	// In a coarse grid a cell may have been searched twice.
	entries = slices.CompactFunc(entries, func(a, b zset.Entry) bool { return zset.Compare(a, b) == 0 })
	event := "georadiusstore"
	if q.search {
		event = "geosearchstore"
	}
	c.Store(q.storeKey, engine.KindSortedSet, zset.Build(entries, zsetcmd.SetLimits(c.Settings), c.Member), command.EventSortedSet, event)
	c.Out.Int(int64(len(entries)))
}

func runGeoRadius(c *command.Ctx, args [][]byte)   { geoRadius(c, args, &geoQuery{}) }
func runGeoRadiusRO(c *command.Ctx, args [][]byte) { geoRadius(c, args, &geoQuery{readOnly: true}) }

func geoRadius(c *command.Ctx, args [][]byte, q *geoQuery) {
	var ok bool
	if q.set, ok = zsetcmd.ReadSortedSet(c, args[1]); !ok {
		return
	}
	if q.shape.Center, ok = geoPlaceArg(c, args[2:]); ok && q.radius(c, args[4:]) {
		geoAnswer(c, q, args, args[6:])
	}
}

func runGeoRadiusByMember(c *command.Ctx, args [][]byte) { geoByMember(c, args, &geoQuery{}) }
func runGeoRadiusByMemberRO(c *command.Ctx, args [][]byte) {
	geoByMember(c, args, &geoQuery{readOnly: true})
}

// geoByMember does not look at the radius if the set does not exist, as in Redis.
func geoByMember(c *command.Ctx, args [][]byte, q *geoQuery) {
	var ok bool
	if q.set, ok = zsetcmd.ReadSortedSet(c, args[1]); !ok {
		return
	}
	if q.set == nil || q.member(c, args[2]) && q.radius(c, args[3:]) {
		geoAnswer(c, q, args, args[5:])
	}
}

func runGeoSearch(c *command.Ctx, args [][]byte) {
	q := geoQuery{search: true}
	var ok bool
	if q.set, ok = zsetcmd.ReadSortedSet(c, args[1]); ok {
		geoAnswer(c, &q, args, args[2:])
	}
}

func runGeoSearchStore(c *command.Ctx, args [][]byte) {
	q := geoQuery{search: true, searchStore: true, storeKey: args[1]}
	var ok bool
	if q.set, ok = zsetcmd.ReadSortedSet(c, args[2]); ok {
		geoAnswer(c, &q, args, args[3:])
	}
}
