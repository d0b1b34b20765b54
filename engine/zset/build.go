package zset

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"lockstep/engine/pack"
)

// Builder makes a large set of members that come in any order. It takes a small part of the time
// that Put takes for each: both trees are written from their beginning to their end.
type Builder struct {
	// pieces hold the members with their scores one behind the other, as 8 bytes and the member.
	pieces [][]byte
	at     []span
	// last came last. rising and falling tell that each came behind the one before it in the set's order,
	// or before it.
	last            Entry
	rising, falling bool
	// set has all members once there were builderBytesMax of them; twice says that one of them came twice.
	set   *Set
	twice bool
	// bytes is how much has come, bytesMax is builderBytesMax.
	bytes, bytesMax int
}

// builderBytesMax bounds what waits for Build, which takes as much again: what comes behind it is put into
// the set one by one. A shard whose memory is full must be loaded, too.
const builderBytesMax = 512 << 20

// span says where a member is: its piece, and the bytes there.
type span struct{ piece, begin, end uint32 }

// pieceBytesMin is the length of the first piece, pieceBytes that of those of many members; a longer member
// has a piece of its own.
const pieceBytesMin, pieceBytes = 4 << 10, 1 << 20

// NewBuilder returns a builder of a set without members.
func NewBuilder() *Builder { return &Builder{rising: true, falling: true, bytesMax: builderBytesMax} }

// Add takes a member, which is copied, and its score, which must not be NaN. It returns false once it
// knows that a member came twice, and then takes no more: a payload could repeat a long one for ever.
// Members that came twice and were not noticed here are noticed by Build.
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

// entry is the member that a span says.
func (b *Builder) entry(s span) Entry {
	text := b.pieces[s.piece][s.begin:s.end]
	return Entry{text[pack.ScoreBytes:], math.Float64frombits(binary.BigEndian.Uint64(text))}
}

// Build returns the set; false: a member came twice. The builder is of no more use.
func (b *Builder) Build() (*Set, bool) {
	if b.set == nil {
		b.build()
	}
	return b.set, !b.twice
}

// build makes the set of what has come so far.
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

// buildLarge makes a large set of n entries in the order of Compare; false: a member is there twice. each
// is called for each step that takes about as long as the others.
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

// parts are the records of an index, each part those of one range of hashes: so few that they are in
// the processor's cache while they are sorted. To fetch millions of members in the order of their hashes
// would wait for memory at each.
type parts struct {
	all   [][]byte
	bytes []int
	shift int
	// at says where the records of a part begin; order are their hashes, and behind each hash its record's number.
	at    []int
	order []uint64
}

// partEntries is about how many entries a part has, partsMax how many parts there are.
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

// indexedBytesMax is how much longer than its member a record of the index is at most.
const indexedBytesMax = pack.HashBytes + binary.MaxVarintLen64 + pack.ScoreBytes

// count makes room for an entry, reserve is called behind the last one.
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

// index appends a part to the index, in order; false: two members are equal.
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

// sortCollisions puts records whose hashes, the upper halves of their places, are equal in the order of the
// index; false: two are of the same member.
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
