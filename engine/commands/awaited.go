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

// BlockKind is the kind of value that a blocking command waits for.
func BlockKind(args [][]byte) engine.Kind {
	s, _ := Lookup(args)
	if s == nil || s.Waits == nil {
		return engine.KindString
	}
	return s.Waits.Kind
}

// BlockGroup is the group that a blocking command reads as one of; nil: it reads as none.
func BlockGroup(args [][]byte) (group []byte) {
	if s, _ := Lookup(args); s != nil && s.Waits != nil && s.Waits.Group != nil {
		return s.Waits.Group(args)
	}
	return nil
}

// Awaited tells whether a blocking command may find something: what Offers says of
// one of its keys.
func Awaited(c *command.Ctx, s *command.Spec, args [][]byte) bool {
	group := BlockGroup(args)
	return slices.ContainsFunc(command.BlockKeys(s, args), func(key []byte) bool {
		return Offers(c.Peek(key), s.Waits.Kind, group) > 0
	})
}

// Offers is how many elements a key's entry, nil if there is none, has for clients
// that wait for a kind of value. Those that read as one of a group are to be told that
// there is no such stream or group: then it is more than there can be clients.
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

// undelivered is how many entries a stream has that are new to a group, or about so
// many, but at least one if there are any.
func undelivered(e *engine.Entry, name []byte) int {
	if e == nil || e.Kind() != engine.KindStream {
		return math.MaxInt
	}
	s := e.Object().(*stream.Stream)
	g := s.FindGroup(name)
	switch {
	case g == nil:
		return math.MaxInt
	case !s.HasBehind(g.Last()):
		return 0
	}
	n, _ := s.Lag(g)
	return int(max(n, 1))
}
