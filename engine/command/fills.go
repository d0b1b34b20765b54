package command

import "lockstep/engine"

// Fill is a key that a call may fill, so that clients that wait for it may be served.
type Fill struct {
	Key []byte
	// Kind is the kind of the value. If Any is set the value may have any kind.
	Kind engine.Kind
	Any  bool
	// Most is the most elements that the call adds, 0 if that is not known.
	Most int
}

// AppendFills appends the keys that a call which writes may fill, as far as its arguments say. They
// do not say which other keys a program fills, nor what a call does in another database.
func (s *Spec) AppendFills(dst []Fill, args [][]byte) []Fill {
	fill, fills := Fill{}, KeyInsert|KeyUpdate|KeyOW
	switch {
	case s.Is(ReadOnly) || !s.CheckArity(len(args)):
		return dst
	case s.RunsProgram():
		fill.Any, fills = true, ^KeyRO
	case s.Cats&CatKeyspace != 0 && s.Is(Write):
		// EXPIRE and its like update a key but add nothing.
		fill.Any, fills = true, KeyInsert|KeyOW
	case s.Cats&CatList != 0 && s.Is(Write):
		fill.Kind = engine.KindList
	case s.Cats&(CatSortedSet|CatGeo) != 0 && s.Is(Write):
		fill.Kind = engine.KindSortedSet
	case s.Cats&CatStream != 0 && s.Is(Write):
		fill.Kind = engine.KindStream
	default:
		return dst
	}
	if s.Brings != nil {
		fill.Most = s.Brings(args)
	}
	var buf [8]KeyRef
	for _, k := range s.AppendKeys(buf[:0], args) {
		if k.Flags&fills != 0 && k.Flags&KeyRO == 0 {
			fill.Key = args[k.Pos]
			dst = append(dst, fill)
		}
	}
	return dst
}

// BringsOne is the Brings of commands that add a single element.
func BringsOne([][]byte) int { return 1 }

// BringsEach is the Brings of commands whose elements stand behind the key, each with length
// arguments. Options among them make the result slightly too large.
func BringsEach(length int) func(args [][]byte) int {
	return func(args [][]byte) int { return max((len(args)-2)/length, 1) }
}
