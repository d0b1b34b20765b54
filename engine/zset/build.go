package zset

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"lockstep/engine/pack"
)

// Builder makes a large set of members that come in any order. It takes a small part of the time of
// a Put for each member: both trees are written from beginning to end.
type Builder struct {
	// pieces hold the members with their scores, each as 8 bytes and the member.
	pieces [][]byte
	at     []span
	// last is the newest entry. rising and falling are set if each entry came behind the one before
	// it in the set's order, or before it.
	last            Entry
	rising, falling bool
	// set is used after builderBytesMax bytes have come: it then has all members. twice is set if a
	// member came twice.
	set   *Set
	twice bool
	// bytes is how many bytes have come. bytesMax is builderBytesMax.
	bytes, bytesMax int
}

// builderBytesMax bounds the data that waits for Build, which takes as much memory again. Later
// members are put into the set one by one. A shard whose memory is full must be loadable, too.
const builderBytesMax = 512 << 20

// span is the place of a member: its piece, and its bytes in the piece.
type span struct{ piece, begin, end uint32 }

// pieceBytesMin is the length of the first piece, pieceBytes that of later pieces, for many members
// each. A longer member has a piece of its own.
const pieceBytesMin, pieceBytes = 4 << 10, 1 << 20

// NewBuilder returns a builder of a set without members.
func NewBuilder() *Builder { return &Builder{rising: true, falling: true, bytesMax: builderBytesMax} }

// Add adds a member, which is copied, and its score, which must not be NaN. It returns false if it
// knows that a member came twice, and then accepts no more: a payload could repeat a long one for
// ever. Build detects repetitions that Add does not.
func (b *Builder) Add(member []byte, score float64) bool {
	if b.twice {
		return false
	}
	if b.set != nil {
		b.twice = !b.set.Put(member, score, Limits{})
		return !b.twice
	}
	e := Entry{member, score}
	if len(b.at) > 0 {
		order := Compare(b.last, e)
		b.rising, b.falling, b.twice = b.rising && order < 0, b.falling && order > 0, order == 0
	}
	last := len(b.pieces) - 1
	if last < 0 || cap(b.pieces[last])-len(b.pieces[last]) < pack.ScoreBytes+len(member) {
		usual := min(max(b.bytes, pieceBytesMin), pieceBytes)
		b.pieces = append(b.pieces, make([]byte, 0, max(usual, pack.ScoreBytes+len(member))))
		last++
	}
	begin := len(b.pieces[last])
	piece := binary.BigEndian.AppendUint64(b.pieces[last], math.Float64bits(score))
	piece = append(piece, member...)
	b.pieces[last] = piece
	b.at = append(b.at, span{uint32(last), uint32(begin), uint32(len(piece))})
	b.last = Entry{piece[begin+pack.ScoreBytes:], score}
	if b.bytes += len(piece) - begin; b.bytes > b.bytesMax {
		b.build()
	}
	return !b.twice
}

// entry is the member at a span.
func (b *Builder) entry(s span) Entry {
	text := b.pieces[s.piece][s.begin:s.end]
	return Entry{text[pack.ScoreBytes:], math.Float64frombits(binary.BigEndian.Uint64(text))}
}

// Build returns the set. It returns false if a member came twice. The builder must not be used
// afterwards.
func (b *Builder) Build() (*Set, bool) {
	if b.set == nil {
		b.build()
	}
	return b.set, !b.twice
}

// build makes the set from the members that have come so far.
func (b *Builder) build() {
	switch {
	case b.rising:
	case b.falling:
		slices.Reverse(b.at)
	default:
		slices.SortFunc(b.at, func(x, y span) int { return Compare(b.entry(x), b.entry(y)) })
	}
	var different bool
	b.set, different = buildLarge(len(b.at), func(i int) Entry { return b.entry(b.at[i]) }, nobody)
	b.twice = b.twice || !different
	b.pieces, b.at, b.last = nil, nil, Entry{}
}

// buildLarge makes a large set of n entries in the order of Compare. It returns false if a member
// occurs twice. each is called for every step; all steps take about the same time.
func buildLarge(n int, entry func(int) Entry, each func()) (s *Set, different bool) {
	s = &Set{}
	var buf []byte
	order, index := pack.NewBuilder(), pack.NewBuilder()
	parts := newParts(n)
	for i := range n {
		each()
		e := entry(i)
		buf = appendOrdered(buf[:0], e)
		order.Append(buf)
		s.countZero(e.Score, 1)
		parts.count(e)
	}
	parts.reserve()
	for i := range n {
		each()
		parts.add(entry(i))
	}
	different = true
	for i := range parts.all {
		different = parts.index(i, index, each) && different
	}
	s.order, s.index = order.Tree(), index.Tree()
	return s, different
}

// parts are the records of an index. Each part has those of one range of hashes, so few that they
// stay in the processor's cache while they are sorted. Reading millions of members in the order of
// their hashes would wait for memory at each one.
type parts struct {
	all   [][]byte
	bytes []int
	shift int
	// at are the places where a part's records begin. order are their hashes, each followed by the
	// number of its record.
	at    []int
	order []uint64
}

// partEntries is the approximate number of entries in a part, partsMax the most parts.
const (
	partEntries = 2048
	partsMax    = 4096
)

func newParts(n int) *parts {
	bits := 0
	for n>>bits > partEntries && 1<<bits < partsMax {
		bits++
	}
	return &parts{all: make([][]byte, 1<<bits), bytes: make([]int, 1<<bits), shift: 32 - bits}
}

// indexedBytesMax is how much longer than its member a record of the index can be.
const indexedBytesMax = pack.HashBytes + binary.MaxVarintLen64 + pack.ScoreBytes

// count makes room for an entry. reserve must be called after the last one.
func (p *parts) count(e Entry) {
	p.bytes[pack.Hash(e.Member)>>p.shift] += len(e.Member) + indexedBytesMax
}

func (p *parts) reserve() {
	for i, bytes := range p.bytes {
		p.all[i] = make([]byte, 0, bytes)
	}
}

func (p *parts) add(e Entry) {
	part := &p.all[pack.Hash(e.Member)>>p.shift]
	*part = appendIndexed(*part, e)
}

// index appends a part to the index, in order. It returns false if two members are equal.
func (p *parts) index(i int, index *pack.Builder, each func()) (different bool) {
	part := p.all[i]
	p.all[i] = nil
	p.at, p.order = p.at[:0], p.order[:0]
	for at := 0; at < len(part); {
		p.order = append(p.order, uint64(binary.BigEndian.Uint32(part[at:]))<<32|uint64(len(p.at)))
		p.at = append(p.at, at)
		_, rest := pack.CutHashed(part[at:])
		at = len(part) - len(rest) + pack.ScoreBytes
	}
	p.at = append(p.at, len(part))
	record := func(place uint64) []byte {
		n := uint32(place)
		return part[p.at[n]:p.at[n+1]]
	}
	slices.Sort(p.order)
	different = sortCollisions(p.order, record)
	for _, place := range p.order {
		each()
		index.Append(record(place))
	}
	return different
}

// sortCollisions sorts records with equal hashes, which are the upper halves of their places, into
// the order of the index. It returns false if two of them are of the same member.
func sortCollisions(places []uint64, record func(uint64) []byte) (different bool) {
	different = true
	front := func(place uint64) []byte { r := record(place); return r[:len(r)-pack.ScoreBytes] }
	for begin := 0; begin < len(places); {
		end := begin + 1
		for end < len(places) && places[end]>>32 == places[begin]>>32 {
			end++
		}
		if end-begin > 1 {
			slices.SortFunc(places[begin:end], func(x, y uint64) int {
				order := bytes.Compare(front(x), front(y))
				different = different && order != 0
				return order
			})
		}
		begin = end
	}
	return different
}
