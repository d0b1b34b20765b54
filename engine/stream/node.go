package stream

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"lockstep/engine/rdb"
)

// A node's listpack, after the six bytes of its head:
//
//	entries  deleted  names  name...  0  entry...  0xff
//
// and an entry:
//
//	flags  ms  seq  [names]  ([name] value)...  items
//
// where ms and seq are differences to the node's ID, an entry with the same names as the node has
// no names of its own, and items counts the items before it.
const (
	headBytes = IDBytes + 6 // the ID and the head of the listpack
	packEnd   = 0xff

	flagDeleted   = 1
	flagSameNames = 2
)

// node is a parsed record. Its positions are offsets into the record.
type node struct {
	record        []byte
	id            ID
	live, deleted int64
	names         int64
	deletedAt     int
	namesAt       int
	entriesAt     int
}

// number reads the number at an offset and returns the offset behind it.
func number(record []byte, at int) (int64, int) {
	if head := record[at]; head < 0x80 {
		return int64(head), at + 2
	}
	item, width, _ := rdb.ReadPackItem(record[at:])
	return item.Number, at + width
}

// skip is the offset behind n items. Nearly all items are small numbers or short texts, whose width
// is in their first byte.
func skip(record []byte, at int, n int64) int {
	const smallNumbers, shortTexts = 0x80, 0xc0
	for ; n > 0; n-- {
		switch head := record[at]; {
		case head < smallNumbers:
			at += 2
			continue
		case head < shortTexts:
			at += 2 + int(head-smallNumbers)
			continue
		}
		_, width, _ := rdb.ReadPackItem(record[at:])
		at += width
	}
	return at
}

func openNode(record []byte) node {
	n := node{record: record, id: IDOf(record)}
	n.live, n.deletedAt = number(record, headBytes)
	n.deleted, n.namesAt = number(record, n.deletedAt)
	n.names, n.namesAt = number(record, n.namesAt)
	n.entriesAt = skip(record, skip(record, n.namesAt, n.names), 1)
	return n
}

// Entry is an entry of a stream. It points into the stream and is valid until the stream changes,
// or the walk continues.
type Entry struct {
	ID ID
	// N is the number of fields.
	N         int64
	record    []byte
	flags     int64
	at        int // offset of the flags
	namesAt   int // offset of the node's names
	valuesAt  int
	nextAt    int
	nameText  [20]byte
	valueText [20]byte
}

// next reads the entry at an offset. It returns false at the node's end.
func (n *node) next(e *Entry, at int) bool {
	if n.record[at] == packEnd {
		return false
	}
	e.record, e.at, e.namesAt = n.record, at, n.namesAt
	var ms, seq int64
	e.flags, at = number(n.record, at)
	ms, at = number(n.record, at)
	seq, at = number(n.record, at)
	e.ID = ID{n.id.Ms + uint64(ms), n.id.Seq + uint64(seq)}
	e.N = n.names
	items := e.N
	if e.flags&flagSameNames == 0 {
		e.N, at = number(n.record, at)
		items = 2 * e.N
	}
	e.valuesAt = at
	e.nextAt = skip(n.record, at, items+1)
	return true
}

func (e *Entry) deleted() bool { return e.flags&flagDeleted != 0 }

// Fields calls yield for each field. The arguments of yield are valid until it returns.
func (e *Entry) Fields(yield func(name, value []byte)) {
	names, at := e.namesAt, e.valuesAt
	for range e.N {
		var name, value []byte
		if e.flags&flagSameNames != 0 {
			name, names = text(e.record, names, &e.nameText)
		} else {
			name, at = text(e.record, at, &e.nameText)
		}
		value, at = text(e.record, at, &e.valueText)
		yield(name, value)
	}
}

// edited is a record that is being changed.
type edited struct{ record []byte }

// put replaces the number at an offset by another one, and returns the offset behind it.
func (d *edited) put(at int, n int64) int {
	_, end := number(d.record, at)
	var buf [16]byte
	item := rdb.AppendPackNumber(buf[:0], n)
	if len(item) == end-at {
		copy(d.record[at:], item)
		return end
	}
	d.record = slices.Replace(d.record, at, end, item...)
	d.seal(0)
	return at + len(item)
}

// seal updates the listpack's head after a change that added items.
func (d *edited) seal(items int) {
	head := d.record[IDBytes:]
	binary.LittleEndian.PutUint32(head, uint32(len(head)))
	// If there once were too many items to count, the head says so for ever.
	count := int(binary.LittleEndian.Uint16(head[4:]))
	binary.LittleEndian.PutUint16(head[4:], uint16(min(count+items, math.MaxUint16)))
}

// setCounts writes how many entries of the node are live and how many are deleted.
func (d *edited) setCounts(live, deleted int64) {
	d.put(d.put(headBytes, live), deleted)
}

// appendEntry appends an entry to a record; pairs are its names and values.
func appendEntry(record []byte, id ID, pairs [][]byte) []byte {
	n := openNode(record)
	flags := int64(0)
	if n.sameNames(pairs) {
		flags = flagSameNames
	}
	d := edited{reserve(record, pairs)}
	d.setCounts(n.live+1, n.deleted)
	d.record = d.record[:len(d.record)-1]
	return d.addEntry(n.id, id, flags, pairs)
}

// sameNames reports whether the pairs have the names of the node.
func (n *node) sameNames(pairs [][]byte) bool {
	if int64(len(pairs)/2) != n.names {
		return false
	}
	var buf [20]byte
	at := n.namesAt
	for i := 0; i < len(pairs); i += 2 {
		var name []byte
		if name, at = text(n.record, at, &buf); string(name) != string(pairs[i]) {
			return false
		}
	}
	return true
}

// appendNode appends the record of a node with one entry to dst.
func appendNode(dst []byte, id ID, pairs [][]byte) []byte {
	d := edited{append(id.AppendKey(reserve(dst, pairs)), 0, 0, 0, 0, 0, 0)}
	items := []int64{1, 0, int64(len(pairs) / 2)}
	for _, n := range items {
		d.record = rdb.AppendPackNumber(d.record, n)
	}
	for i := 0; i < len(pairs); i += 2 {
		d.record = rdb.AppendPackItem(d.record, pairs[i])
	}
	d.record = rdb.AppendPackNumber(d.record, 0)
	binary.LittleEndian.PutUint16(d.record[IDBytes+4:], uint16(min(len(items)+len(pairs)/2+1, math.MaxUint16)))
	return d.addEntry(id, id, flagSameNames, pairs)
}

// addEntry ends a record, whose listpack lacks its end, with an entry.
func (d *edited) addEntry(nodeID, id ID, flags int64, pairs [][]byte) []byte {
	step, items := 1, 3+len(pairs)
	if flags == flagSameNames {
		step, items = 2, 3+len(pairs)/2
	}
	r := rdb.AppendPackNumber(d.record, flags)
	r = rdb.AppendPackNumber(r, int64(id.Ms-nodeID.Ms))
	r = rdb.AppendPackNumber(r, int64(id.Seq-nodeID.Seq))
	if flags != flagSameNames {
		r = rdb.AppendPackNumber(r, int64(len(pairs)/2))
		items++
	}
	for i := step - 1; i < len(pairs); i += step {
		r = rdb.AppendPackItem(r, pairs[i])
	}
	d.record = append(rdb.AppendPackNumber(r, int64(items)), packEnd)
	d.seal(items + 1)
	return d.record
}

// reserve makes room for an entry at the end of a record, and slightly more.
func reserve(record []byte, pairs [][]byte) []byte {
	need := len(record) + 4*16
	for _, p := range pairs {
		need += len(p) + 10
	}
	if need <= cap(record) {
		return record
	}
	return append(make([]byte, 0, need+need/8), record...)
}

// text reads the item at an offset as text. It writes a number into buf.
func text(record []byte, at int, buf *[20]byte) ([]byte, int) {
	item, width, _ := rdb.ReadPackItem(record[at:])
	if item.IsNumber {
		return strconv.AppendInt(buf[:0], item.Number, 10), at + width
	}
	return item.Text, at + width
}
