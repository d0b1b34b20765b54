package journal

import "github.com/hashicorp/raft"

// builder assembles the records of one batch. It does not copy the entries' data.
type builder struct {
	// next is the position of the next record.
	next    uint64
	heads   []header
	records []raft.Log
	// extensions is memory for the records' Extensions.
	extensions []byte
}

// entry adds an entry of a group.
func (b *builder) entry(k kind, group uint32, e *raft.Log) {
	b.add(header{kind: k, group: group, index: e.Index},
		raft.Log{Term: e.Term, Type: e.Type, Data: e.Data, AppendedAt: e.AppendedAt}, e.Extensions)
}

// mark adds a record that holds no entry.
func (b *builder) mark(h header) { b.add(h, raft.Log{Type: raft.LogNoop}, nil) }

func (b *builder) add(h header, r raft.Log, rest []byte) {
	begin := len(b.extensions)
	b.extensions = append(h.appendTo(b.extensions, b.next), rest...)
	r.Index, r.Extensions = b.next, b.extensions[begin:len(b.extensions):len(b.extensions)]
	b.heads, b.records = append(b.heads, h), append(b.records, r)
	b.next++
}

func (b *builder) pointers() []*raft.Log {
	p := make([]*raft.Log, len(b.records))
	for i := range b.records {
		p[i] = &b.records[i]
	}
	return p
}

// place returns the place of record i of the batch.
func (b *builder) place(i int) place { return placeOf(&b.records[i]) }

func placeOf(r *raft.Log) place {
	// recordBytes is about the length of a record without its data.
	const recordBytes = 64
	return place{position: r.Index, bytes: uint32(len(r.Data)) + recordBytes}
}
