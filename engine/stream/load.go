package stream

import (
	"errors"
	"math"
	"slices"
	"strings"

	"lockstep/engine/rdb"
)

// ErrBad says that what is loaded is no stream.
var ErrBad = errors.New("stream: bad data")

// AddNode adds a node as it was saved, behind all others. It takes whatever
// Redis would take as a node that can be walked through.
func (s *Stream) AddNode(id ID, listpack []byte) error {
	live, ok := checkNode(recordOf(id, listpack))
	if !ok {
		return ErrBad
	}
	s.length += live
	return s.KeepNode(id, listpack)
}

// KeepNode is AddNode for a node of a stream that was taken in before, and which Keep
// ends. Commands may have made of a node that came by RESTORE what AddNode refuses; a
// snapshot with it must be read all the same.
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

// Keep says how many entries the nodes hold that KeepNode has added.
func (s *Stream) Keep(length uint64) { s.length = int(length) }

// checker reads the items of a listpack that may hold anything.
type checker struct {
	record []byte
	at     int
	bad    bool
	items  int
}

// item reads an item; none is left: bad.
func (c *checker) item() rdb.PackItem {
	// The end mark stays.
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

// checkNode reports whether a record is a node, and how many entries live in it.
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

// GroupImage is a group as it is saved.
type GroupImage struct {
	Name        []byte
	Last        ID
	EntriesRead int64
	// Pending are in the order of their IDs; their consumers are those that name
	// them.
	Pending   []Pending
	Consumers []ConsumerImage
}

// ConsumerImage is a consumer as it is saved.
type ConsumerImage struct {
	Name             []byte
	SeenMs, ActiveMs int64
	// Pending are the IDs of its pending entries, in order.
	Pending []ID
}

// LoadGroup adds a group, in no order: LoadedGroups brings them into theirs. Every
// pending entry must be that of one consumer.
func (s *Stream) LoadGroup(image *GroupImage) error {
	const nobody = -1
	for i := range image.Pending {
		p := &image.Pending[i]
		if i > 0 && p.ID.Compare(image.Pending[i-1].ID) <= 0 {
			return ErrBad
		}
		p.Consumer = nobody
	}
	g := s.newGroup(image.Name, image.Last, image.EntriesRead)
	s.groups = append(s.groups, g)
	owned := 0
	for no, c := range image.Consumers {
		consumer := s.newConsumer(c.Name, c.SeenMs)
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
		s.groupBytes += consumer.pending.MemoryBytes()
	}
	if owned != len(image.Pending) {
		return ErrBad
	}
	for i := range image.Pending {
		g.pending.Append(image.Pending[i].appendRecord(nil))
	}
	s.groupBytes += g.pending.MemoryBytes()
	return sortNames(g.order, func(no int) string { return g.consumers[no].name })
}

// LoadedGroups ends loading groups.
func (s *Stream) LoadedGroups() error {
	return sortNames(s.groups, func(g *Group) string { return g.name })
}

// sortNames sorts all at once what may have come in any order; each in its place as it
// comes would take for ever where there are millions.
func sortNames[T any](all []T, name func(T) string) error {
	slices.SortFunc(all, func(a, b T) int { return strings.Compare(name(a), name(b)) })
	for i := range all[min(1, len(all)):] {
		if name(all[i]) == name(all[i+1]) {
			return ErrBad
		}
	}
	return nil
}

// Loaded ends loading: it tells whether so many entries are there, and whether
// the state fits them.
func (s *Stream) Loaded(length uint64) error {
	last, some := s.LastEntryID()
	if uint64(s.length) != length || some && last.Compare(s.State.Last) > 0 {
		return ErrBad
	}
	return nil
}

// GuessState sets what streams of Redis before version 7 do not remember.
func (s *Stream) GuessState() {
	s.State.First, s.State.MaxDeleted = s.firstEntryID(), ID{}
	s.State.Added = uint64(s.length)
}
