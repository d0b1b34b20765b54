package commands

import (
	"math"
	"slices"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/list"
	"lockstep/engine/stream"
	"lockstep/engine/zset"
)

// BlockGroup returns the consumer group that a blocking command reads as, or nil if the command
// reads as no group.
func BlockGroup(args [][]byte) (group []byte) {
	if s, _ := Lookup(args); s != nil && s.Waits != nil && s.Waits.Group != nil {
		return s.Waits.Group(args)
	}
	return nil
}

// Awaited reports whether a blocking command may find something: whether Offers is above zero for
// one of its keys.
func Awaited(c *command.Ctx, s *command.Spec, args [][]byte) bool {
	group := BlockGroup(args)
	return slices.ContainsFunc(command.BlockKeys(s, args), func(key []byte) bool {
		return Offers(c.Peek(key), s.Waits.Kind, group) > 0
	})
}

// Offers is the number of elements that an entry has for clients that wait for a value of that
// kind. e is nil if the key does not exist. A client that reads as a member of a group must get an
// error if the stream or the group does not exist: Offers is then greater than any number of
// clients.
func Offers(e *engine.Entry, kind engine.Kind, group []byte) int {
	switch {
	case kind == engine.KindStream:
		return undelivered(e, group)
	case e == nil || e.Kind() != kind:
		return 0
	case kind == engine.KindList:
		return e.Object().(*list.List).Len()
	}
	return e.Object().(*zset.Set).Len()
}

// undelivered is the number of entries of a stream that a group has not read yet. The number may be
// an estimate, but it is at least 1 if there are any.
func undelivered(e *engine.Entry, name []byte) int {
	if e == nil || e.Kind() != engine.KindStream {
		return math.MaxInt
	}
	s := e.Object().(*stream.Stream)
	g := s.Groups.Find(name)
	switch {
	case g == nil:
		return math.MaxInt
	case !s.HasBehind(g.Last()):
		return 0
	}
	n, _ := s.Lag(g)
	return int(max(n, 1))
}
