package setcmd

import (
	"iter"
	"slices"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/set"
)

// readSets is readSet for several keys. A missing set is nil. If readSets returns false it has
// written the error reply.
func readSets(c *command.Ctx, keys [][]byte) ([]*set.Set, bool) {
	sets := make([]*set.Set, len(keys))
	for i, key := range keys {
		s, ok := readSet(c, key)
		if !ok {
			return nil, false
		}
		sets[i] = s
	}
	return sets, true
}

// interOf walks over the members that all sets have. A nil set is empty. If interOf returns false
// it has written the error reply.
func interOf(c *command.Ctx, sets []*set.Set) (iter.Seq[[]byte], bool) {
	for _, s := range sets {
		if s == nil {
			return func(func([]byte) bool) {}, true
		}
	}
	sets = command.Distinct(sets)
	return set.Inter(sets, c.Member), c.Steps(int64(set.Smallest(sets).Len()) * int64(len(sets)))
}

// diffOf walks over the members of the first set that are in no other set. If it returns false it
// has written the error reply.
func diffOf(c *command.Ctx, sets []*set.Set) (iter.Seq[[]byte], bool) {
	if sets[0] == nil {
		return func(func([]byte) bool) {}, true
	}
	others := present(command.Distinct(sets[1:]))
	return sets[0].Diff(others, c.Member), c.Steps(int64(sets[0].Len()) * int64(1+len(others)))
}

// unionOf returns the members of all sets. If it returns false it has written the error reply.
func unionOf(c *command.Ctx, sets []*set.Set) (*set.Set, bool) {
	sets = command.Distinct(sets)
	sum := int64(0)
	for _, s := range sets {
		sum += int64(s.Len())
	}
	if !c.Steps(sum) {
		return nil, false
	}
	return set.Union(sets, setLimits(c.Settings), c.Member), true
}

// present leaves out sets that do not exist.
func present(sets []*set.Set) []*set.Set {
	var all []*set.Set
	for _, s := range sets {
		if s != nil {
			all = append(all, s)
		}
	}
	return all
}

// writeSeq answers members whose number is known only after the walk.
func writeSeq(c *command.Ctx, members iter.Seq[[]byte]) {
	begin, n := c.Out.Len(), 0
	for member := range members {
		c.Out.Bulk(member)
		n++
	}
	body := slices.Clone(c.Out.Bytes()[begin:])
	c.Out.Truncate(begin)
	c.Out.Set(n)
	c.Out.Raw(body)
}

func runSInter(c *command.Ctx, args [][]byte) {
	sets, ok := readSets(c, args[1:])
	if !ok {
		return
	}
	if members, ok := interOf(c, sets); ok {
		writeSeq(c, members)
	}
}

func runSInterCard(c *command.Ctx, args [][]byte) {
	numKeys, ok := command.ParseInt(args[1])
	if !ok || numKeys <= 0 {
		c.Out.Error(command.ErrNumKeys)
		return
	}
	if numKeys > int64(len(args)-2) {
		c.Out.Error(command.ErrNumKeysArgs)
		return
	}
	keys, options := args[2:2+numKeys], args[2+numKeys:]
	limit := int64(0) // no limit
	for ; len(options) > 0; options = options[2:] {
		if !command.EqualFold(options[0], "limit") || len(options) == 1 {
			c.Out.Error(command.ErrSyntax)
			return
		}
		if limit, ok = command.ParseInt(options[1]); !ok || limit < 0 {
			c.Out.Error(command.ErrLimit)
			return
		}
	}
	sets, ok := readSets(c, keys)
	if !ok {
		return
	}
	members, ok := interOf(c, sets)
	if !ok {
		return
	}
	n := int64(0)
	for range members {
		if n++; n == limit {
			break
		}
	}
	c.Out.Int(n)
}

func runSUnion(c *command.Ctx, args [][]byte) {
	sets, ok := readSets(c, args[1:])
	if !ok {
		return
	}
	sets = present(sets)
	if len(sets) == 1 {
		writeMembers(c, sets[0])
		return
	}
	if sum, ok := unionOf(c, sets); ok {
		writeMembers(c, sum)
	}
}

func runSDiff(c *command.Ctx, args [][]byte) {
	sets, ok := readSets(c, args[1:])
	if !ok {
		return
	}
	if members, ok := diffOf(c, sets); ok {
		writeSeq(c, members)
	}
}

func runSInterStore(c *command.Ctx, args [][]byte) {
	sets, ok := readSets(c, args[2:])
	if !ok {
		return
	}
	// Redis begins with a listpack unless the smallest set is an intset. If the result has only
	// numbers Redis makes an intset of it at the end.
	form := set.Packed
	if set.Smallest(present(sets)).Form() == set.Ints {
		form = set.Ints
	}
	if members, ok := interOf(c, sets); ok {
		storeSet(c, args[1], set.Collect(members, form, true, setLimits(c.Settings)), "sinterstore")
	}
}

func runSUnionStore(c *command.Ctx, args [][]byte) {
	sets, ok := readSets(c, args[2:])
	if !ok {
		return
	}
	if sum, ok := unionOf(c, present(sets)); ok {
		storeSet(c, args[1], sum, "sunionstore")
	}
}

func runSDiffStore(c *command.Ctx, args [][]byte) {
	sets, ok := readSets(c, args[2:])
	if !ok {
		return
	}
	if members, ok := diffOf(c, sets); ok {
		storeSet(c, args[1], set.Collect(members, set.Ints, false, setLimits(c.Settings)), "sdiffstore")
	}
}

func storeSet(c *command.Ctx, key []byte, s *set.Set, event string) {
	c.Out.Int(int64(s.Len()))
	c.Store(key, engine.KindSet, s, command.EventSet, event)
}
