package stream

import (
	"errors"
	"math"
	"slices"
	"strings"

	"lockstep/engine/rdb"
)

// ErrBad says that the loaded data is not a stream.
var ErrBad = errors.New("stream: bad data")

// AddNode adds a saved node behind all others. It accepts every node that Redis would accept and
// that can be walked.
func (s *Stream) AddNode(id ID, listpack []byte) error {
	live, ok := checkNode(recordOf(id, listpack))
	if !ok {
		return ErrBad
	}
	s.length += live
	return s.KeepNode(id, listpack)
}

// KeepNode is AddNode for a node of a stream that was accepted before. The caller must call Keep
// after the last node. Commands may have changed a node from RESTORE so that AddNode would refuse
// it, but a snapshot with such a node must still be readable.
func (s *Stream) KeepNode(id ID, listpack []byte) error {
	if s.nodes.tail != nil && id.Compare(IDOf(s.nodes.tail)) <= 0 {
		return ErrBad
	}
	s.nodes.add(recordOf(id, listpack))
	return nil
}

func recordOf(id ID, listpack []byte) []byte {
	return append(id.AppendKey(make([]byte, 0, IDBytes+len(listpack))), listpack...)
}

// Keep sets the number of entries in the nodes that KeepNode has added.
func (s *Stream) Keep(length uint64) { s.length = int(length) }

// checker reads the items of a listpack that may contain anything.
type checker struct {
	record []byte
	at     int
	bad    bool
	items  int
}

// item reads an item. If none is left it sets bad.
func (c *checker) item() rdb.PackItem {
	// The end mark is not an item.
	item, width, ok := rdb.ReadPackItem(c.record[c.at : len(c.record)-1])
	if !ok || c.bad {
		c.bad = true
		return rdb.PackItem{}
	}
	c.at += width
	c.items++
	return item
}

// number reads a number of at least min.
func (c *checker) number(min int64) int64 {
	item := c.item()
	c.bad = c.bad || !item.IsNumber || item.Number < min
	return item.Number
}

// skip reads n items.
func (c *checker) skip(n int64) {
	for ; n > 0 && !c.bad; n-- {
		c.item()
	}
}

// checkNode reports whether a record is a node, and how many entries in it are not deleted.
func checkNode(record []byte) (live int, ok bool) {
	if !rdb.CheckListpack(record[IDBytes:]) {
		return 0, false
	}
	c := checker{record: record, at: headBytes}
	alive, deleted, names := c.number(0), c.number(0), c.number(0)
	c.skip(names)
	c.bad = c.number(0) != 0 || c.bad
	var sawLive, sawDeleted int64
	for !c.bad && c.at < len(record)-1 {
		if c.entry(names)&flagDeleted != 0 {
			sawDeleted++
		} else {
			sawLive++
		}
	}
	ok = !c.bad && sawLive == alive && sawDeleted == deleted && sawLive+sawDeleted > 0
	return int(alive), ok
}

// entry reads an entry and returns its flags.
func (c *checker) entry(names int64) (flags int64) {
	before := c.items
	flags = c.number(0)
	c.number(math.MinInt64)
	c.number(math.MinInt64)
	if flags&flagSameNames == 0 {
		names = c.number(0)
		c.skip(names)
	}
	c.skip(names)
	items := int64(c.items - before)
	c.bad = c.bad || c.number(0) != items
	return flags
}

// GroupImage is a group in its saved form.
type GroupImage struct {
	Name        []byte
	Last        ID
	EntriesRead int64
	// Pending are in the order of their IDs. They belong to the consumers whose Pending has their
	// ID.
	Pending   []Pending
	Consumers []ConsumerImage
}

// ConsumerImage is a consumer in its saved form.
type ConsumerImage struct {
	Name             []byte
	SeenMs, ActiveMs int64
	// Pending are the IDs of the consumer's pending entries, in order.
	Pending []ID
}

// Load adds a group. The groups may come in any order: Loaded sorts them. Every pending entry must
// belong to one consumer.
func (gs *Groups) Load(image *GroupImage) error {
	const nobody = -1
	for i := range image.Pending {
		p := &image.Pending[i]
		if i > 0 && p.ID.Compare(image.Pending[i-1].ID) <= 0 {
			return ErrBad
		}
		p.Consumer = nobody
	}
	g := gs.newGroup(image.Name, image.Last, image.EntriesRead)
	gs.byName = append(gs.byName, g)
	owned := 0
	for no, c := range image.Consumers {
		consumer := gs.newConsumer(c.Name, c.SeenMs)
		consumer.activeMs = c.ActiveMs
		g.consumers, g.order = append(g.consumers, consumer), append(g.order, no)
		for _, id := range c.Pending {
			i, ok := slices.BinarySearchFunc(image.Pending, id, func(p Pending, id ID) int { return p.ID.Compare(id) })
			if !ok || image.Pending[i].Consumer != nobody {
				return ErrBad
			}
			image.Pending[i].Consumer = no
			consumer.pending.Put(id.AppendKey(nil), IDBytes)
			owned++
		}
		gs.bytes += consumer.pending.MemoryBytes()
	}
	if owned != len(image.Pending) {
		return ErrBad
	}
	for i := range image.Pending {
		g.pending.Append(image.Pending[i].appendRecord(nil))
	}
	gs.bytes += g.pending.MemoryBytes()
	return sortNames(g.order, func(no int) string { return g.consumers[no].name })
}

// Loaded must be called after the last group.
func (gs *Groups) Loaded() error {
	return sortNames(gs.byName, func(g *Group) string { return g.name })
}

// sortNames sorts a list at once. Inserting each element in its place as it comes would take far
// too long for millions.
func sortNames[T any](all []T, name func(T) string) error {
	slices.SortFunc(all, func(a, b T) int { return strings.Compare(name(a), name(b)) })
	for i := range all[min(1, len(all)):] {
		if name(all[i]) == name(all[i+1]) {
			return ErrBad
		}
	}
	return nil
}

// Loaded must be called at the end of loading. It returns an error if the number of entries is not
// length, or if the state does not fit the entries.
func (s *Stream) Loaded(length uint64) error {
	last, some := s.LastEntryID()
	if uint64(s.length) != length || some && last.Compare(s.State.Last) > 0 {
		return ErrBad
	}
	return nil
}

// GuessState sets the state that streams of Redis before version 7 do not contain.
func (s *Stream) GuessState() {
	s.State.First, s.State.MaxDeleted = s.firstEntryID(), ID{}
	s.State.Added = uint64(s.length)
}
