package stream

import (
	"unsafe"

	"lockstep/engine"
)

// Limits say when a node is full.
type Limits struct {
	// BytesMax and EntriesMax are the most that a node holds. 0 means no limit except NodeBytesMax.
	BytesMax, EntriesMax int64
}

// NodeBytesMax is the most bytes in a node, and the most bytes in the names and values of one entry
// together.
const NodeBytesMax = 1 << 30

// Stream is a stream. Its zero value is not usable: use New.
type Stream struct {
	nodes  nodes
	length int
	// State may be read and set by commands.
	State State
	// Groups are the consumer groups.
	Groups Groups
}

// State is the part of a stream that is stored beside its entries.
type State struct {
	// Last is the greatest ID that was ever given. First is the ID of the first entry when it was
	// last looked up. MaxDeleted is the greatest ID that was deleted by its ID.
	Last, First, MaxDeleted ID
	// Added is the number of entries that were ever added.
	Added uint64
}

// New returns an empty stream.
func New() *Stream { return &Stream{nodes: newNodes()} }

const streamBytes = int(unsafe.Sizeof(Stream{}))

// Len is the number of entries.
func (s *Stream) Len() int { return s.length }

// Clone implements engine.Object.
func (s *Stream) Clone() engine.Object {
	c := &Stream{nodes: s.nodes.clone(), length: s.length, State: s.State}
	s.Groups.shareWith(&c.Groups)
	return c
}

// WithoutEntries returns a stream with only the groups, for reading.
func (s *Stream) WithoutEntries() *Stream {
	return &Stream{nodes: newNodes(), Groups: Groups{byName: s.Groups.byName, bytes: s.Groups.bytes}}
}

// MemoryBytes implements engine.Object.
func (s *Stream) MemoryBytes() int {
	return streamBytes + s.nodes.memoryBytes() + s.Groups.memoryBytes()
}

// Encoding is Redis's name for the encoding of a stream.
func (s *Stream) Encoding() string { return "stream" }

// Nodes is the number of nodes, and RadixNodes is the number of nodes in the radix tree in which
// Redis would keep them.
func (s *Stream) Nodes() int { return s.nodes.len() }

// RadixNodes is explained at Nodes.
func (s *Stream) RadixNodes() int { return s.nodes.radix }

// EachNode calls yield for each node: its ID and its listpack.
func (s *Stream) EachNode(yield func(id ID, listpack []byte) bool) {
	s.nodes.from(0, func(record []byte) bool { return yield(IDOf(record), record[IDBytes:]) })
}

// Append adds an entry under an ID that is greater than State.Last. The pairs are names and values,
// which are copied.
func (s *Stream) Append(id ID, pairs [][]byte, limits Limits) {
	total := 0
	for _, p := range pairs {
		total += len(p)
	}
	if s.nodes.tail == nil || full(s.nodes.tail, total, limits) {
		s.nodes.startNode(id, func(dst []byte) []byte { return appendNode(dst, id, pairs) })
	} else {
		s.nodes.tail = appendEntry(s.nodes.tail, id, pairs)
	}
	s.length++
	s.State.Added++
	s.State.Last = id
	if s.length == 1 {
		s.State.First = id
	}
}

// full reports whether a node has no room for so many more bytes.
func full(record []byte, more int, limits Limits) bool {
	bytesMax := limits.BytesMax
	if bytesMax == 0 || bytesMax > NodeBytesMax {
		bytesMax = NodeBytesMax
	}
	if int64(len(record)-IDBytes+more) >= bytesMax {
		return true
	}
	if limits.EntriesMax == 0 {
		return false
	}
	live, at := number(record, headBytes)
	deleted, _ := number(record, at)
	return live+deleted >= limits.EntriesMax
}

// NextID is the ID for an entry that is added now. It returns false if no ID is left.
func (s *Stream) NextID(nowMs int64) (ID, bool) {
	if nowMs > 0 && uint64(nowMs) > s.State.Last.Ms {
		return ID{uint64(nowMs), 0}, true
	}
	return s.State.Last.Next()
}

// Range walks over the entries from one ID to another, both included.
func (s *Stream) Range(from, to ID, yield func(e *Entry) bool) {
	if s.nodes.tail == nil {
		return
	}
	var e Entry
	s.nodes.from(s.nodes.seek(from), func(record []byte) bool {
		n := openNode(record)
		for at := n.entriesAt; n.next(&e, at); at = e.nextAt {
			if e.deleted() || e.ID.Compare(from) < 0 {
				continue
			}
			if e.ID.Compare(to) > 0 || !yield(&e) {
				return false
			}
		}
		return true
	})
}

// RangeBack is Range from the other end.
func (s *Stream) RangeBack(from, to ID, yield func(e *Entry) bool) {
	if s.nodes.tail == nil {
		return
	}
	var e Entry
	var places []int
	s.nodes.back(s.nodes.seek(to), func(record []byte) bool {
		n := openNode(record)
		places = places[:0]
		for at := n.entriesAt; n.next(&e, at); at = e.nextAt {
			places = append(places, at)
		}
		for i := len(places) - 1; i >= 0; i-- {
			n.next(&e, places[i])
			if e.deleted() || e.ID.Compare(to) > 0 {
				continue
			}
			if e.ID.Compare(from) < 0 || !yield(&e) {
				return false
			}
		}
		return true
	})
}

// Find returns the entry with an ID, or nil.
func (s *Stream) Find(id ID) *Entry {
	var found *Entry
	s.Range(id, id, func(e *Entry) bool { found = e; return false })
	return found
}

// LastEntryID is the ID of the last entry. It returns false if there is none.
func (s *Stream) LastEntryID() (id ID, ok bool) {
	s.RangeBack(ID{}, MaxID, func(e *Entry) bool { id, ok = e.ID, true; return false })
	return id, ok
}

// firstEntryID is the ID of the first entry, or 0-0 if there is none.
func (s *Stream) firstEntryID() (id ID) {
	s.Range(ID{}, MaxID, func(e *Entry) bool { id = e.ID; return false })
	return id
}

// HasBehind reports whether there is an entry behind an ID.
func (s *Stream) HasBehind(id ID) bool {
	if s.length == 0 || s.State.Last.Compare(id) <= 0 {
		return false
	}
	last, _ := s.LastEntryID()
	return last.Compare(id) > 0
}
