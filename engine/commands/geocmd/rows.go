// Package geocmd is the commands on geo indexes: GEOADD, GEOSEARCH, GEORADIUS and their like.
//
// Rows has a row for each command. A geo index is a sorted set whose scores are geohashes, so this
// package stands on zsetcmd; it is the one room that stands on a single other kind. The arithmetic of
// places is package geo.
package geocmd

import (
	"slices"

	"lockstep/engine/command"
	"lockstep/engine/command/arg"
)

// Arguments that several commands on geo indexes have.
var (
	argUnit    = arg.OneOf("unit", arg.Token("m", "M"), arg.Token("km", "KM"), arg.Token("ft", "FT"), arg.Token("mi", "MI"))
	argPlace   = []arg.Arg{arg.Of("longitude", "double"), arg.Of("latitude", "double")}
	argAny     = arg.Token("any", "ANY").Opt()
	argGeoWith = []arg.Arg{
		arg.Token("withcoord", "WITHCOORD").Opt(),
		arg.Token("withdist", "WITHDIST").Opt(),
		arg.Token("withhash", "WITHHASH").Opt(),
	}
	argGeoStore = []arg.Arg{arg.Key("key", 2).After("STORE").Opt(), arg.Key("key", 3).After("STOREDIST").Opt()}
	// argSearch says where GEOSEARCH and GEOSEARCHSTORE look, and how many members
	// they want.
	argSearch = []arg.Arg{
		arg.OneOf("from", arg.Of("member", "string").After("FROMMEMBER"), arg.Block("longitude_latitude", argPlace...).After("FROMLONLAT")),
		arg.OneOf("by",
			arg.Block("circle", arg.Of("radius", "double").After("BYRADIUS"), argUnit),
			arg.Block("box", arg.Of("width", "double").After("BYBOX"), arg.Of("height", "double"), argUnit),
		),
		arg.Order,
		argGeoCount(argAny),
	}
)

// argGeoCount is how many members to return. anyOf is the option that allows any of them.
func argGeoCount(anyOf arg.Arg) arg.Arg {
	return arg.Block("count", arg.Of("count", "integer").After("COUNT"), anyOf).Opt()
}

// geoRadiusArgs are the arguments of GEORADIUS and its variants, with center as the center.
func geoRadiusArgs(anyOf arg.Arg, center ...arg.Arg) []arg.Arg {
	return slices.Concat(
		[]arg.Arg{arg.Key("key", 1)}, center, []arg.Arg{arg.Of("radius", "double"), argUnit}, argGeoWith, []arg.Arg{argGeoCount(anyOf), arg.Order},
	)
}

// Rows are the commands on geo indexes.
var Rows = []*command.Spec{
	{
		Name: "geoadd", Arity: -5, Flags: command.Write | command.DenyOOM, Cats: command.CatGeo,
		Keys: command.OneKey(command.KeyRW | command.KeyUpdate), Run: runGeoAdd, Brings: command.BringsEach(3),
		Group: "geo", Since: "3.2.0",
		Summary: "Adds places, as longitude and latitude, to a geo index, which is a sorted set.", Complexity: "O(log(N)) for each place, with N the number of members",
		Args: []arg.Arg{
			arg.Key("key", 1),
			arg.OneOf("condition", arg.Token("nx", "NX"), arg.Token("xx", "XX")).AddedIn("6.2.0").Opt(),
			arg.Token("change", "CH").AddedIn("6.2.0").Opt(),
			arg.Block("longitude_latitude_member", arg.Of("longitude", "double"), arg.Of("latitude", "double"), arg.Of("member", "string")).Many(),
		},
	},
	{
		Name: "geodist", Arity: -4, Flags: command.ReadOnly, Cats: command.CatGeo,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runGeoDist,
		Group: "geo", Since: "3.2.0",
		Summary: "Returns the distance between two members of a geo index.", Complexity: "O(log(N)) with N the number of members",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member1", "string"), arg.Of("member2", "string"), argUnit.Opt()},
	},
	{
		Name: "geohash", Arity: -2, Flags: command.ReadOnly, Cats: command.CatGeo,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runGeoHash,
		Group: "geo", Since: "3.2.0",
		Summary: "Returns the geohash texts of members of a geo index.", Complexity: "O(M*log(N)) with M of N members asked for",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string").Many()},
	},
	{
		Name: "geopos", Arity: -2, Flags: command.ReadOnly, Cats: command.CatGeo,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runGeoPos,
		Group: "geo", Since: "3.2.0",
		Summary: "Returns the longitudes and latitudes of members of a geo index.", Complexity: "O(M*log(N)) with M of N members asked for",
		Args: []arg.Arg{arg.Key("key", 1), arg.Of("member", "string").Many()},
	},
	{
		Name: "georadius", Arity: -6, Flags: command.Write | command.DenyOOM | command.MovableKeys | command.Heavy, Cats: command.CatGeo,
		Keys:  []command.KeySpec{{Flags: command.KeyRO | command.KeyAccess, First: 1, Last: 1, Step: 1, ModeOf: command.SharedKey}, geoStoreKey("STORE", 6), geoStoreKey("STOREDIST", 6)},
		Run:   runGeoRadius,
		Group: "geo", Since: "3.2.0", DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument",
		Summary: "Returns or stores the members of a geo index around a place.", Complexity: "O(N+log(M)) with N of M members in the cells around the circle",
		Args: append(geoRadiusArgs(argAny.AddedIn("6.2.0"), argPlace...), argGeoStore...),
	},
	{
		Name: "georadius_ro", Arity: -6, Flags: command.ReadOnly | command.Heavy, Cats: command.CatGeo,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runGeoRadiusRO,
		Group: "geo", Since: "3.2.10", DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` with the `BYRADIUS` argument",
		Summary: "Returns the members of a geo index around a place.", Complexity: "O(N+log(M)) with N of M members in the cells around the circle",
		Args: geoRadiusArgs(argAny.AddedIn("6.2.0"), argPlace...),
	},
	{
		Name: "georadiusbymember", Arity: -5, Flags: command.Write | command.DenyOOM | command.MovableKeys | command.Heavy, Cats: command.CatGeo,
		Keys:  []command.KeySpec{{Flags: command.KeyRO | command.KeyAccess, First: 1, Last: 1, Step: 1, ModeOf: command.SharedKey}, geoStoreKey("STORE", 5), geoStoreKey("STOREDIST", 5)},
		Run:   runGeoRadiusByMember,
		Group: "geo", Since: "3.2.0", DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
		Summary: "Returns or stores the members of a geo index around one of them.", Complexity: "O(N+log(M)) with N of M members in the cells around the circle",
		Args: append(geoRadiusArgs(argAny, arg.Of("member", "string")), argGeoStore...),
	},
	{
		Name: "georadiusbymember_ro", Arity: -5, Flags: command.ReadOnly | command.Heavy, Cats: command.CatGeo,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runGeoRadiusByMemberRO,
		Group: "geo", Since: "3.2.10", DeprecatedSince: "6.2.0", ReplacedBy: "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments",
		Summary: "Returns the members of a geo index around one of them.", Complexity: "O(N+log(M)) with N of M members in the cells around the circle",
		Args: geoRadiusArgs(argAny, arg.Of("member", "string")),
	},
	{
		Name: "geosearch", Arity: -7, Flags: command.ReadOnly | command.Heavy, Cats: command.CatGeo,
		Keys: command.OneKey(command.KeyRO | command.KeyAccess), Run: runGeoSearch,
		Group: "geo", Since: "6.2.0",
		Summary: "Returns the members of a geo index inside a circle or a box.", Complexity: "O(N+log(M)) with N of M members in the cells around the shape",
		Args: slices.Concat([]arg.Arg{arg.Key("key", 1)}, argSearch, argGeoWith),
	},
	{
		Name: "geosearchstore", Arity: -8, Flags: command.Write | command.DenyOOM | command.Heavy, Cats: command.CatGeo,
		Keys:  command.TwoKeys(command.KeyOW|command.KeyUpdate, command.KeyRO|command.KeyAccess),
		Run:   runGeoSearchStore,
		Group: "geo", Since: "6.2.0",
		Summary: "Stores the members of a geo index inside a circle or a box.", Complexity: "O(N+log(M)) with N of M members in the cells around the shape",
		Args: slices.Concat([]arg.Arg{arg.Key("destination", 1), arg.Key("source", 2)}, argSearch, []arg.Arg{arg.Token("storedist", "STOREDIST").Opt()}),
	},
}
