package zsetcmd

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/rdb"
	"lockstep/engine/reply"
	"lockstep/engine/zset"
)

// Codecs say how sorted sets are stored in snapshots, payloads and digests.
var Codecs = []command.Codec{{
	Kind:      engine.KindSortedSet,
	Types:     []byte{rdb.TypeZSet, rdb.TypeZSetText, rdb.TypeZSetListpack, rdb.TypeZSetZiplist},
	TypeOf:    sortedSetType,
	Write:     writeSortedSetValue,
	Read:      readSortedSetValue,
	RedisKind: 3,
	Mix:       mixSortedSet,
}}

func sortedSetType(e *engine.Entry) byte {
	if e.Object().(*zset.Set).Large() {
		return rdb.TypeZSet
	}
	return rdb.TypeZSetListpack
}

// writeSortedSetValue writes a large set from the end, as Redis does.
func writeSortedSetValue(out *rdb.Value, e *engine.Entry) {
	s := e.Object().(*zset.Set)
	if !s.Large() {
		out.Blob(rdb.AppendListpack(nil, func(yield func([]byte) bool) {
			var buf [32]byte
			for _, e := range s.From(0) {
				if !yield(e.Member) || !yield(appendPackedScore(buf[:0], e.Score)) {
					return
				}
			}
		}))
		return
	}
	out.Length(uint64(s.Len()))
	for _, e := range s.Backward(s.Len() - 1) {
		out.Text(e.Member)
		out.Double(e.Score)
	}
}

func readSortedSetValue(in *rdb.Source, typ byte, key []byte, limits *command.Settings) (*engine.Entry, error) {
	var s *zset.Set
	var err error
	packed := typ == rdb.TypeZSetListpack || typ == rdb.TypeZSetZiplist
	if packed {
		s, err = readPackedSortedSet(in, typ)
	} else {
		s, err = readPlainSortedSet(in, typ)
	}
	switch {
	case err != nil:
		return nil, err
	case s.Len() == 0:
		return nil, fmt.Errorf("%w: an empty sorted set", rdb.ErrFormat)
	case limits == nil:
	case packed:
		// A member that is too long does not count here, as in Redis.
		s.Expand(SetLimits(limits))
	default:
		s.Compact(SetLimits(limits))
	}
	return engine.NewObject(key, engine.KindSortedSet, s), nil
}

// readPackedSortedSet reads members and scores that alternate in one blob.
func readPackedSortedSet(in *rdb.Source, typ byte) (*zset.Set, error) {
	blob, err := in.Text()
	if err != nil {
		return nil, err
	}
	var all []zset.Entry
	seen := map[string]struct{}{}
	var member []byte
	isScore := false
	item := func(text []byte) bool {
		if isScore = !isScore; isScore {
			_, twice := seen[string(text)]
			seen[string(text)], member = struct{}{}, bytes.Clone(text)
			return !twice
		}
		score, ok := parseDouble(text)
		all = append(all, zset.Entry{Member: member, Score: score})
		return ok
	}
	ok := false
	if typ == rdb.TypeZSetListpack {
		ok = rdb.ReadListpack(blob, item)
	} else {
		ok = rdb.ReadZiplist(blob, item)
	}
	if !ok || isScore {
		return nil, fmt.Errorf("%w: a packed sorted set", rdb.ErrFormat)
	}
	// Put would search all members for each one: the blob may have many.
	slices.SortFunc(all, zset.Compare)
	return zset.Build(all, EverythingSmall, func() {}), nil
}

// EverythingSmall are limits that keep any packed set packed.
var EverythingSmall = zset.Limits{EntriesMax: math.MaxInt64, MemberBytesMax: math.MaxInt64}

var errTwice = fmt.Errorf("%w: a member twice", rdb.ErrFormat)

func readPlainSortedSet(in *rdb.Source, typ byte) (*zset.Set, error) {
	n, err := in.Length()
	if err != nil {
		return nil, err
	}
	all := zset.NewBuilder()
	var member []byte
	for range n {
		text, err := in.Text()
		if err != nil {
			return nil, err
		}
		member = append(member[:0], text...)
		var score float64
		if typ == rdb.TypeZSetText {
			score, err = in.TextDouble()
		} else {
			score, err = in.Double()
		}
		if err != nil {
			return nil, err
		}
		if math.IsNaN(score) {
			return nil, fmt.Errorf("%w: a score that is no number", rdb.ErrFormat)
		}
		if !all.Add(member, score) {
			return nil, errTwice
		}
	}
	s, different := all.Build()
	if !different {
		return nil, errTwice
	}
	return s, nil
}

func mixSortedSet(d *command.Digest, e *engine.Entry) {
	var buf [32]byte
	for _, entry := range e.Object().(*zset.Set).From(0) {
		var one command.Digest
		one.Mix(entry.Member)
		one.Mix(reply.AppendDouble(buf[:0], entry.Score))
		d.Xor(one[:])
	}
}
