package command

import (
	"lockstep/engine/command/arg"
	"lockstep/engine/sched"
)

// sortKeys are the key specs of SORT: the key, those that patterns lead to, which
// no argument names, and, if withStore is set, the key of STORE.
func sortKeys(withStore bool) []KeySpec {
	keys := []KeySpec{
		{Flags: KeyRO | KeyAccess, First: 1, Last: 1, Step: 1, ModeOf: SharedKey},
		{
			Flags: KeyRO | KeyAccess, ModeOf: SharedKey,
			Find: func(dst []int, _ [][]byte) []int { return dst },
		},
	}
	if !withStore {
		return keys
	}
	return append(keys, KeySpec{
		Flags: KeyOW | KeyUpdate,
		// Without STORE nothing is changed.
		ModeOf: func(args [][]byte) sched.Mode {
			if sortStorePlace(args) == 0 {
				return sched.Shared
			}
			return sched.Exclusive
		},
		Find: func(dst []int, args [][]byte) []int {
			if at := sortStorePlace(args); at > 0 {
				dst = append(dst, at)
			}
			return dst
		},
	})
}

// sortStorePlace is the place of the key behind the last STORE, 0 if there is
// none.
func sortStorePlace(args [][]byte) (at int) {
	for i := 2; i < len(args); i++ {
		switch {
		case EqualFold(args[i], "limit"):
			i += 2
		case EqualFold(args[i], "by"), EqualFold(args[i], "get"):
			i++
		case EqualFold(args[i], "store") && i+1 < len(args):
			i++
			at = i
		}
	}
	return at
}

// sortWanders tells whether a pattern of SORT leads to keys outside the hash slot of its key.
func sortWanders(args [][]byte) bool {
	for i := 2; i < len(args)-1; i++ {
		switch {
		case EqualFold(args[i], "limit"):
			i += 2
		case EqualFold(args[i], "store"):
			i++
		case EqualFold(args[i], "by"), EqualFold(args[i], "get"):
			i++
			if p := newSortPattern(args[i]); !p.stays(args[1]) {
				return true
			}
		}
	}
	return false
}

// sortArgs are the arguments of SORT_RO; SORT has one more.
func sortArgs(more ...arg.Arg) []arg.Arg {
	pattern := arg.Arg{Name: "pattern", Type: "pattern", KeySpec: 2}
	get := pattern.After("GET").Opt().Many()
	get.MultipleToken = true
	return append([]arg.Arg{
		arg.Key("key", 1),
		pattern.After("BY").Opt(),
		arg.Limit,
		get,
		arg.Order,
		arg.Token("sorting", "ALPHA").Opt(),
	}, more...)
}

// SortFamily are the commands on SORT. Handlers stand in sort_*.go.
var SortFamily = []*Spec{
	{
		Name: "sort", Arity: -2, Flags: Write | DenyOOM | MovableKeys | Heavy | ReachesMore, Cats: CatSet | CatSortedSet | CatList | CatDangerous,
		Keys: sortKeys(true), Run: runSort, Wanders: sortWanders,
		Group: "generic", Since: "1.0.0",
		Summary:    "Returns or stores the elements of a list, a set or a sorted set, sorted.",
		Complexity: "O(N*log(N)+M) with N the number of elements and M the number of those returned; O(N) without sorting",
		Args:       sortArgs(arg.Key("destination", 3).After("STORE").Opt()),
	},
	{
		Name: "sort_ro", Arity: -2, Flags: ReadOnly | MovableKeys | Heavy | ReachesMore, Cats: CatSet | CatSortedSet | CatList | CatDangerous,
		Keys: sortKeys(false), Run: runSortRO, Wanders: sortWanders,
		Group: "generic", Since: "7.0.0",
		Summary:    "Returns the elements of a list, a set or a sorted set, sorted; SORT without STORE.",
		Complexity: "O(N*log(N)+M) with N the number of elements and M the number of those returned; O(N) without sorting",
		Args:       sortArgs(),
	},
}
