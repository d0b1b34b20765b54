package command

import "lockstep/engine"

// Fill is a key that a call may fill, so that clients which wait for it may be served.
type Fill struct {
	Key []byte
	// Kind is the kind of the value, Any: it may be of any kind.
	Kind engine.Kind
	Any  bool
	// Most is how many elements the call brings at most; 0: that is not known.
	Most int
}

// AppendFills appends what a call that writes may fill, as far as its arguments tell:
// what a program does to keys that it does not name, and what a call does in another
// database, they do not.
func (s *Spec) AppendFills(dst []Fill, args [][]byte) []Fill {
	fill, fills := Fill{}, KeyInsert|KeyUpdate|KeyOW
	switch {
	case s.Is(ReadOnly) || !s.CheckArity(len(args)):
		return dst
	case s.RunsProgram():
		fill.Any, fills = true, ^KeyRO
	case s.Cats&CatKeyspace != 0 && s.Is(Write):
		// EXPIRE and its like, which update a key, bring nothing.
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

// BringsOne is the Brings of what brings a single element.
func BringsOne([][]byte) int { return 1 }

// BringsEach is the Brings of commands whose elements stand behind the key, each so
// many arguments long; options among them make it too many by some.
func BringsEach(length int) func(args [][]byte) int {
	return func(args [][]byte) int { return max((len(args)-2)/length, 1) }
}
