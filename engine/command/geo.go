package command

import "slices"

// Arguments that several commands on geo indexes have.
var (
	argUnit    = argOneOf("unit", argToken("m", "M"), argToken("km", "KM"), argToken("ft", "FT"), argToken("mi", "MI"))
	argPlace   = []Arg{arg("longitude", "double"), arg("latitude", "double")}
	argAny     = argToken("any", "ANY").optional()
	argGeoWith = []Arg{
		argToken("withcoord", "WITHCOORD").optional(),
		argToken("withdist", "WITHDIST").optional(),
		argToken("withhash", "WITHHASH").optional(),
	}
	argGeoStore = []Arg{argKey("key", 2).token("STORE").optional(), argKey("key", 3).token("STOREDIST").optional()}
	// argSearch says where GEOSEARCH and GEOSEARCHSTORE look, and how many members
	// they want.
	argSearch = []Arg{
		argOneOf("from", arg("member", "string").token("FROMMEMBER"), argBlock("longitude_latitude", argPlace...).token("FROMLONLAT")),
		argOneOf("by",
			argBlock("circle", arg("radius", "double").token("BYRADIUS"), argUnit),
			argBlock("box", arg("width", "double").token("BYBOX"), arg("height", "double"), argUnit),
		),
		argOrder,
		argGeoCount(argAny),
	}
)

// argGeoCount is how many members are wanted; anyOf lets it be any of them.
func argGeoCount(anyOf Arg) Arg {
	return argBlock("count", arg("count", "integer").token("COUNT"), anyOf).optional()
}

// geoRadiusArgs are the arguments of GEORADIUS and its relatives around a center.
func geoRadiusArgs(anyOf Arg, center ...Arg) []Arg {
	return slices.Concat(
		[]Arg{argKey("key", 1)}, center, []Arg{arg("radius", "double"), argUnit}, argGeoWith, []Arg{argGeoCount(anyOf), argOrder},
	)
}

// geoFamily are the commands on geo indexes. Handlers stand in geo_*.go.
var geoFamily = []*Spec{
	{
		Name: "geoadd", Arity: -5, Flags: Write | DenyOOM, Cats: CatGeo,
		Keys: oneKey(KeyRW | KeyUpdate), Run: runGeoAdd, Brings: eachBehindKey(3),
		Group: "geo", Since: "3.2.0",
		Summary: "Adds places, as longitude and latitude, to a geo index, which is a sorted set.", Complexity: "O(log(N)) for each place, with N the number of members",
		Args: []Arg{
			argKey("key", 1),
			argOneOf("condition", argToken("nx", "NX"), argToken("xx", "XX")).since("6.2.0").optional(),
			argToken("change", "CH").since("6.2.0").optional(),
			argBlock("longitude_latitude_member", arg("longitude", "double"), arg("latitude", "double"), arg("member", "string")).multiple(),
		},
	},
	{
		Name: "geodist", Arity: -4, Flags: ReadOnly, Cats: CatGeo,
		Keys: oneKey(KeyRO | KeyAccess), Run: runGeoDist,
		Group: "geo", Since: "3.2.0",
		Summary: "Returns the distance between two members of a geo index.", Complexity: "O(log(N)) with N the number of members",
		Args: []Arg{argKey("key", 1), arg("member1", "string"), arg("member2", "string"), argUnit.optional()},
	},
	{
		Name: "geohash", Arity: -2, Flags: ReadOnly, Cats: CatGeo,
		Keys: oneKey(KeyRO | KeyAccess), Run: runGeoHash,
		Group: "geo", Since: "3.2.0",
		Summary: "Returns the geohash texts of members of a geo index.", Complexity: "O(M*log(N)) with M of N members asked for",
		Args: []Arg{argKey("key", 1), arg("member", "string").multiple()},
	},
	{
		Name: "geopos", Arity: -2, Flags: ReadOnly, Cats: CatGeo,
		Keys: oneKey(KeyRO | KeyAccess), Run: runGeoPos,
		Group: "geo", Since: "3.2.0",
		Summary: "Returns the longitudes and latitudes of members of a geo index.", Complexity: "O(M*log(N)) with M of N members asked for",
		Args: []Arg{argKey("key", 1), arg("member", "string").multiple()},
	},
	{
		Name: "georadius", Arity: -6, Flags: Write | DenyOOM | MovableKeys | Heavy, Cats: CatGeo,
		Keys:  []KeySpec{{Flags: KeyRO | KeyAccess, First: 1, Last: 1, Step: 1, ModeOf: sharedKey}, geoStoreKey("STORE", 6), geoStoreKey("STOREDIST", 6)},
		Run:   runGeoRadius,
		Group: "geo", Since: "3.2.0", DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument",
		Summary: "Returns or stores the members of a geo index around a place.", Complexity: "O(N+log(M)) with N of M members in the cells around the circle",
		Args: append(geoRadiusArgs(argAny.since("6.2.0"), argPlace...), argGeoStore...),
	},
	{
		Name: "georadius_ro", Arity: -6, Flags: ReadOnly | Heavy, Cats: CatGeo,
		Keys: oneKey(KeyRO | KeyAccess), Run: runGeoRadiusRO,
		Group: "geo", Since: "3.2.10", DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` with the `BYRADIUS` argument",
		Summary: "Returns the members of a geo index around a place.", Complexity: "O(N+log(M)) with N of M members in the cells around the circle",
		Args: geoRadiusArgs(argAny.since("6.2.0"), argPlace...),
	},
	{
		Name: "georadiusbymember", Arity: -5, Flags: Write | DenyOOM | MovableKeys | Heavy, Cats: CatGeo,
		Keys:  []KeySpec{{Flags: KeyRO | KeyAccess, First: 1, Last: 1, Step: 1, ModeOf: sharedKey}, geoStoreKey("STORE", 5), geoStoreKey("STOREDIST", 5)},
		Run:   runGeoRadiusByMember,
		Group: "geo", Since: "3.2.0", DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
		Summary: "Returns or stores the members of a geo index around one of them.", Complexity: "O(N+log(M)) with N of M members in the cells around the circle",
		Args: append(geoRadiusArgs(argAny, arg("member", "string")), argGeoStore...),
	},
	{
		Name: "georadiusbymember_ro", Arity: -5, Flags: ReadOnly | Heavy, Cats: CatGeo,
		Keys: oneKey(KeyRO | KeyAccess), Run: runGeoRadiusByMemberRO,
		Group: "geo", Since: "3.2.10", DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments",
		Summary: "Returns the members of a geo index around one of them.", Complexity: "O(N+log(M)) with N of M members in the cells around the circle",
		Args: geoRadiusArgs(argAny, arg("member", "string")),
	},
	{
		Name: "geosearch", Arity: -7, Flags: ReadOnly | Heavy, Cats: CatGeo,
		Keys: oneKey(KeyRO | KeyAccess), Run: runGeoSearch,
		Group: "geo", Since: "6.2.0",
		Summary: "Returns the members of a geo index inside a circle or a box.", Complexity: "O(N+log(M)) with N of M members in the cells around the shape",
		Args: slices.Concat([]Arg{argKey("key", 1)}, argSearch, argGeoWith),
	},
	{
		Name: "geosearchstore", Arity: -8, Flags: Write | DenyOOM | Heavy, Cats: CatGeo,
		Keys:  twoKeys(KeyOW|KeyUpdate, KeyRO|KeyAccess),
		Run:   runGeoSearchStore,
		Group: "geo", Since: "6.2.0",
		Summary: "Stores the members of a geo index inside a circle or a box.", Complexity: "O(N+log(M)) with N of M members in the cells around the shape",
		Args: slices.Concat([]Arg{argKey("destination", 1), argKey("source", 2)}, argSearch, []Arg{argToken("storedist", "STOREDIST").optional()}),
	},
}
