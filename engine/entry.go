package engine

import (
	"sync/atomic"
	"unsafe"
)

// Kind is the type of a key's value. The numbers are in no format; formats
// have their own (package rdb).
type Kind uint8

// The kinds of values.
const (
	KindString Kind = iota
	KindList
	KindSet
	KindSortedSet
	KindHash
	KindStream
)

// String is the kind's name as TYPE prints it.
func (k Kind) String() string {
	return [...]string{"string", "list", "set", "zset", "hash", "stream"}[k]
}

// Object is a value that does not fit into an entry's packed text: anything
// but short strings. It may be changed in place by a txn that holds the
// key's slot exclusively, after Keyspace.Mutable has said so.
type Object interface {
	// Clone returns a copy that shares nothing which either may change.
	Clone() Object
	// MemoryBytes is the memory the object uses, about.
	MemoryBytes() int
}

const (
	// flagRaw marks a string that was changed in place once; OBJECT ENCODING
	// then says raw whatever the length, as Redis does.
	flagRaw uint8 = 1 << iota
	// flagObject marks an entry that is the head of an objectEntry.
	flagObject
	// flagShared marks a clone whose body an entry held by a cut reads too.
	flagShared
)

// Entry is one key and its value.
//
// A string's text stands right behind the key in one allocation, so a small
// key costs 48 bytes, its text, and its place in a segment. Everything else
// is an objectEntry, which begins with an Entry.
type Entry struct {
	// body is the key, followed by the value of a packed string.
	body string
	// Version is the number of the txn that last changed the key.
	Version uint64
	// ExpireAtMs is the time at which the key is gone, 0: never.
	ExpireAtMs int64
	keyLen     uint32
	// access is the leader-local access clock (OBJECT IDLETIME); not state.
	access uint32
	kind   Kind
	flags  uint8
}

type objectEntry struct {
	Entry
	object Object
}

// NewString returns an entry for a string. Key and value are copied.
func NewString(key, value []byte) *Entry {
	return &Entry{body: packed(key, value), keyLen: uint32(len(key))}
}

// NewObject returns an entry for a value of another kind. The key is copied,
// the object is taken over.
func NewObject(key []byte, kind Kind, object Object) *Entry {
	e := &objectEntry{Entry: Entry{body: string(key), keyLen: uint32(len(key)), kind: kind, flags: flagObject}, object: object}
	return &e.Entry
}

// Key returns the key.
func (e *Entry) Key() string { return e.body[:e.keyLen] }

// Kind returns the kind of the value.
func (e *Entry) Kind() Kind { return e.kind }

// Object returns the value of an entry made by NewObject, else nil.
func (e *Entry) Object() Object {
	if e.flags&flagObject == 0 {
		return nil
	}
	// An Entry with flagObject is always the first field of an objectEntry.
	return (*objectEntry)(unsafe.Pointer(e)).object
}

// Text returns a string value's bytes; they must not be changed, and are valid
// as long as the key's slot is held.
func (e *Entry) Text() []byte {
	if e.flags&flagObject != 0 {
		return e.Object().(*rawString).text
	}
	return unsafe.Slice(unsafe.StringData(e.body), len(e.body))[e.keyLen:]
}

// setText gives a packed string another text, in place where the length allows
// without wasting much.
func (e *Entry) setText(text []byte) {
	old := e.Text()
	const wasteMax = 16
	if e.flags&flagShared == 0 && len(text) <= len(old) && len(old)-len(text) <= wasteMax {
		// Who reads the text holds the slot, and what a cut holds is not passed
		// in here; so nobody sees the string's bytes change.
		copy(old, text)
		e.body = e.body[:int(e.keyLen)+len(text)]
		return
	}
	e.body = packed(e.keyBytes(), text)
	e.flags &^= flagShared
}

// packed is a copy of key and text, one behind the other.
func packed(key, text []byte) string {
	buf := make([]byte, 0, len(key)+len(text))
	buf = append(append(buf, key...), text...)
	return unsafe.String(unsafe.SliceData(buf), len(buf))
}

// Raw tells whether the string was changed in place (APPEND, SETRANGE), which
// OBJECT ENCODING shows.
func (e *Entry) Raw() bool { return e.flags&(flagRaw|flagObject) != 0 }

// SetRaw marks a string as changed in place.
func (e *Entry) SetRaw() { e.flags |= flagRaw }

// MemoryBytes is the memory the entry uses, about: its own, its text's, and
// its place in a segment.
func (e *Entry) MemoryBytes() int {
	const entryBytes, placeBytes = 48, 16
	n := entryBytes + placeBytes + len(e.body)
	if o := e.Object(); o != nil {
		n += 16 + o.MemoryBytes()
	}
	return n
}

// clone returns a copy of the entry for a txn to change while a snapshot
// still reads this one.
func (e *Entry) clone() *Entry {
	if o := e.Object(); o != nil {
		c := &objectEntry{Entry: *e, object: o.Clone()}
		return &c.Entry
	}
	c := *e
	c.flags |= flagShared
	return &c
}

// renamed returns an entry with the same value, expiry and access clock under
// another key. The value is shared, so the old entry must be given up.
func (e *Entry) renamed(key []byte) *Entry {
	var n *Entry
	if o := e.Object(); o != nil {
		n = NewObject(key, e.kind, o)
	} else {
		n = NewString(key, e.Text())
	}
	n.flags, n.ExpireAtMs, n.access = e.flags&^flagShared, e.ExpireAtMs, e.Access()
	return n
}

// Copied returns an entry with a copy of the value and with the same expiry and
// access clock under another key.
func (e *Entry) Copied(key []byte) *Entry {
	n := e.renamed(key)
	if o := e.Object(); o != nil {
		(*objectEntry)(unsafe.Pointer(n)).object = o.Clone()
	}
	return n
}

// Access returns the access clock, in seconds of the clock that Touch was
// given.
func (e *Entry) Access() uint32 { return atomic.LoadUint32(&e.access) }

// Touch sets the access clock; readers may call it.
func (e *Entry) Touch(sec uint32) {
	if atomic.LoadUint32(&e.access) != sec {
		atomic.StoreUint32(&e.access, sec)
	}
}

// rawString is a string that grows in place: APPEND and SETRANGE would copy
// the whole value each time otherwise.
type rawString struct{ text []byte }

// Clone implements Object.
func (r *rawString) Clone() Object { return &rawString{append([]byte(nil), r.text...)} }

// MemoryBytes implements Object.
func (r *rawString) MemoryBytes() int { return 24 + cap(r.text) }

// NewRawString returns an entry for a string that can grow in place, at least
// length bytes long; what value leaves open is filled with zero bytes. Key and
// value are copied.
func NewRawString(key, value []byte, length int) *Entry {
	text := make([]byte, max(length, len(value)))
	copy(text, value)
	return NewObject(key, KindString, &rawString{text})
}

// GrowText makes the text of a raw string at least n bytes long, filling with
// zero bytes, and returns it for change in place. The entry must come from
// NewRawString and be mutable (Keyspace.Mutable).
func (e *Entry) GrowText(n int) []byte {
	r := e.Object().(*rawString)
	if n > len(r.text) {
		if n > cap(r.text) {
			grown := make([]byte, n, growCapacity(n))
			copy(grown, r.text)
			r.text = grown
		} else {
			old := len(r.text)
			r.text = r.text[:n]
			clear(r.text[old:])
		}
	}
	return r.text
}

// Growable tells whether GrowText may be called.
func (e *Entry) Growable() bool { return e.kind == KindString && e.flags&flagObject != 0 }

// growCapacity doubles up to 1 MiB and adds 1 MiB beyond it, as Redis's sds.
func growCapacity(n int) int {
	const mib = 1 << 20
	if n < mib {
		return 2 * n
	}
	return n + mib
}
