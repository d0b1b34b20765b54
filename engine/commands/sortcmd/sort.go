// Package sortcmd is SORT and SORT_RO.
//
// SORT takes lists, sets and sorted sets, and its patterns lead to strings and to fields of hashes.
// So the package uses listcmd and hashcmd, and is not a part of one of them.
//
// No argument names the keys that patterns lead to. If the command has such patterns it therefore
// locks its whole shard (Spec.Wanders), and checks whether its user may read every key.
package sortcmd

import (
	"lockstep/engine/command"
	"lockstep/engine/command/arg"
	"lockstep/engine/sched"
)

// sortKeys are the key specs of SORT: the key, the keys that patterns lead to, which no argument
// names, and, if withStore is set, the key of STORE.
func sortKeys(withStore bool) []command.KeySpec {
	keys := []command.KeySpec{
		{Flags: command.KeyRO | command.KeyAccess, First: 1, Last: 1, Step: 1, ModeOf: command.SharedKey},
		{
			Flags: command.KeyRO | command.KeyAccess, ModeOf: command.SharedKey,
			Find: func(dst []int, _ [][]byte) []int { return dst },
		},
	}
	if !withStore {
		return keys
	}
	return append(keys, command.KeySpec{
		Flags: command.KeyOW | command.KeyUpdate,
		// Without STORE the command changes nothing.
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

// sortStorePlace is the place of the key behind the last STORE, or 0 if there is no STORE.
func sortStorePlace(args [][]byte) (at int) {
	for i := 2; i < len(args); i++ {
		switch {
		case command.EqualFold(args[i], "limit"):
			i += 2
		case command.EqualFold(args[i], "by"), command.EqualFold(args[i], "get"):
			i++
		case command.EqualFold(args[i], "store") && i+1 < len(args):
			i++
			at = i
		}
	}
	return at
}

// sortWanders reports whether a pattern of SORT leads to keys outside the hash slot of its key.
func sortWanders(args [][]byte) bool {
	for i := 2; i < len(args)-1; i++ {
		switch {
		case command.EqualFold(args[i], "limit"):
			i += 2
		case command.EqualFold(args[i], "store"):
			i++
		case command.EqualFold(args[i], "by"), command.EqualFold(args[i], "get"):
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

// Rows are SORT and SORT_RO.
var Rows = []*command.Spec{
	{
		Name: "sort", Arity: -2, Flags: command.Write | command.DenyOOM | command.MovableKeys | command.Heavy | command.ReachesMore, Cats: command.CatSet | command.CatSortedSet | command.CatList | command.CatDangerous,
		Keys: sortKeys(true), Run: runSort, Wanders: sortWanders,
		Group: "generic", Since: "1.0.0",
		Summary:    "Returns or stores the elements of a list, a set or a sorted set, sorted.",
		Complexity: "O(N*log(N)+M) with N the number of elements and M the number of those returned; O(N) without sorting",
		Args:       sortArgs(arg.Key("destination", 3).After("STORE").Opt()),
	},
	{
		Name: "sort_ro", Arity: -2, Flags: command.ReadOnly | command.MovableKeys | command.Heavy | command.ReachesMore, Cats: command.CatSet | command.CatSortedSet | command.CatList | command.CatDangerous,
		Keys: sortKeys(false), Run: runSortRO, Wanders: sortWanders,
		Group: "generic", Since: "7.0.0",
		Summary:    "Returns the elements of a list, a set or a sorted set, sorted; SORT without STORE.",
		Complexity: "O(N*log(N)+M) with N the number of elements and M the number of those returned; O(N) without sorting",
		Args:       sortArgs(),
	},
}
