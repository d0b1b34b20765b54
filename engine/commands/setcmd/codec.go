package setcmd

import (
	"slices"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/rdb"
	"lockstep/engine/set"
)

// Codecs say how sets are written: intsets as such, sets in the form of a listpack with a length in
// the long form (rdb.Value.LongLength), which Redis 7.0 reads too, and other sets plainly.
var Codecs = []command.Codec{{
	Kind: engine.KindSet, Types: []byte{rdb.TypeSet, rdb.TypeSetIntset, rdb.TypeSetListpack},
	TypeOf: func(e *engine.Entry) byte {
		if setOf(e).Form() == set.Ints {
			return rdb.TypeSetIntset
		}
		return rdb.TypeSet
	},
	Write:     writeSetValue,
	Read:      readSetValue,
	RedisKind: 2,
	Mix: func(d *command.Digest, e *engine.Entry) {
		for member := range setOf(e).All() {
			d.Xor(member)
		}
	},
}}

func setOf(e *engine.Entry) *set.Set { return e.Object().(*set.Set) }

func writeSetValue(out *rdb.Value, e *engine.Entry) {
	s := setOf(e)
	switch s.Form() {
	case set.Ints:
		out.Blob(rdb.AppendIntset(nil, s.Numbers()))
		return
	case set.Packed:
		out.LongLength(uint64(s.Len()))
	default:
		out.Length(uint64(s.Len()))
	}
	for member := range s.All() {
		out.Text(member)
	}
}

// readSetValue refuses sets that are empty or contain a member twice, as Redis does.
func readSetValue(in *rdb.Source, typ byte, key []byte, limits *command.Settings) (*engine.Entry, error) {
	var s *set.Set
	var err error
	switch typ {
	case rdb.TypeSetIntset:
		s, err = readIntset(in, limits)
	case rdb.TypeSetListpack:
		s, err = readPackedSet(in, limits)
	default:
		s, err = readPlainSet(in, limits)
	}
	if err != nil {
		return nil, err
	}
	if s.Len() == 0 {
		return nil, rdb.ErrFormat
	}
	return engine.NewObject(key, engine.KindSet, s), nil
}

func readIntset(in *rdb.Source, limits *command.Settings) (*set.Set, error) {
	blob, err := in.Text()
	if err != nil {
		return nil, err
	}
	numbers, ok := rdb.ReadIntset(blob)
	if !ok {
		return nil, rdb.ErrFormat
	}
	return set.OfInts(numbers, setLimits(limits)), nil
}

// readPackedSet reads a listpack. The set stays a listpack whatever the length of its members.
func readPackedSet(in *rdb.Source, limits *command.Settings) (*set.Set, error) {
	blob, err := in.Text()
	if err != nil {
		return nil, err
	}
	var members [][]byte
	var large *set.Builder
	ok := rdb.ReadListpack(blob, func(member []byte) bool {
		if limits != nil && int64(len(member)) > limits.ValueBytesMax {
			return false
		}
		if large != nil {
			return large.Add(member)
		}
		members = append(members, slices.Clone(member))
		if int64(len(members)) <= setLimits(limits).PackEntriesMax {
			return true
		}
		large = set.NewBuilder()
		return !slices.ContainsFunc(members, func(m []byte) bool { return !large.Add(m) })
	})
	switch {
	case !ok:
		return nil, rdb.ErrFormat
	case large != nil:
		return large.Set(), nil
	}
	return packedSet(members)
}

// packedSet makes a set in the form of a listpack.
func packedSet(members [][]byte) (*set.Set, error) {
	s, ok := set.Pack(members)
	if !ok {
		return nil, rdb.ErrFormat
	}
	return s, nil
}

// readPlainSet reads a set member by member. A set from a snapshot keeps the form in which it was
// written. Any other set gets the form that it would get while it grows.
func readPlainSet(in *rdb.Source, limits *command.Settings) (*set.Set, error) {
	n, long, err := in.LengthForm()
	if err != nil {
		return nil, err
	}
	switch {
	case limits == nil && long:
		return readPlainPack(in, n)
	case limits == nil || n > uint64(limits.SetIntsetEntriesMax):
		return readLargeSet(in, n, limits)
	}
	s := set.Empty(set.Ints)
	for range n {
		member, err := memberText(in, limits)
		if err != nil {
			return nil, err
		}
		if !s.Add(member, setLimits(limits)) {
			return nil, rdb.ErrFormat
		}
	}
	return s, nil
}

func readPlainPack(in *rdb.Source, n uint64) (*set.Set, error) {
	var members [][]byte
	for range n {
		member, err := in.Text()
		if err != nil {
			return nil, err
		}
		members = append(members, slices.Clone(member))
	}
	return packedSet(members)
}

func readLargeSet(in *rdb.Source, n uint64, limits *command.Settings) (*set.Set, error) {
	b := set.NewBuilder()
	for range n {
		member, err := memberText(in, limits)
		if err != nil {
			return nil, err
		}
		if !b.Add(member) {
			return nil, rdb.ErrFormat
		}
	}
	return b.Set(), nil
}

func memberText(in *rdb.Source, limits *command.Settings) ([]byte, error) {
	member, err := in.Text()
	if err == nil && limits != nil && int64(len(member)) > limits.ValueBytesMax {
		err = command.ErrValueTooLong
	}
	return member, err
}

// setLimits returns the limits of sets. Without settings there are none.
func setLimits(s *command.Settings) set.Limits {
	if s == nil {
		return set.NoLimits
	}
	return set.Limits{
		IntsetEntriesMax: s.SetIntsetEntriesMax,
		PackEntriesMax:   s.SetPackEntriesMax, PackValueBytesMax: s.SetPackValueBytesMax,
	}
}
