package engine

import (
	"unsafe"
)

// Kind is the type of a key's value. The numbers appear in no format; formats have their own
// (package rdb).
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

// Object is a value that does not fit into an entry's packed text: anything except short strings. A
// txn that holds the key's slot exclusively may change it in place, after a call of
// Keyspace.Mutable.
type Object interface {
	// Clone returns a copy that shares nothing which either of the two may change.
	Clone() Object
	// MemoryBytes is the approximate memory of the object.
	MemoryBytes() int
}

const (
	// flagRaw marks a string that was changed in place once. As in Redis, OBJECT ENCODING then says
	// raw, whatever the length.
	flagRaw uint8 = 1 << iota
	// flagObject marks an entry that is the head of an objectEntry.
	flagObject
)

// Entry is one key and its value.
//
// It is the head of one of two things. A packed string is the Entry, the key and the text, in this
// order in one piece of memory without pointers. A small key costs 32 bytes, its text, and its
// place in a segment, and the garbage collector never looks into it. Everything else is an
// objectEntry.
type Entry struct {
	// Version is the number of the txn that last changed the key.
	Version uint64
	// ExpireAtMs is the time at which the key expires, 0 for never.
	ExpireAtMs      int64
	keyLen, textLen uint32
	// use is this replica's own record of how the key was used (use.go). It is not state.
	use   uint32
	kind  Kind
	flags uint8
	// spare is how many words a packed string's memory has in addition to those for its text.
	spare uint8
}

const (
	entryBytes = int(unsafe.Sizeof(Entry{}))
	// packedMax is the length up to which a text is packed. Longer texts are separate, so that an
	// entry can be copied without them.
	packedMax = 64 << 10
	// keyPackedMax is the same for keys.
	keyPackedMax = 64 << 10
)

// OverheadBytes is the memory of each key in addition to its bytes and its value: the entry's head
// and its place in a segment. OverheadExpiryBytes is the memory of an expiry: a place in the index,
// whose nodes are half full.
const (
	OverheadBytes       = entryBytes + 16
	OverheadExpiryBytes = 2 * int(unsafe.Sizeof(expiry{}))
)

type objectEntry struct {
	Entry
	key    string
	object Object
}

// NewString returns an entry for a string. Key and value are copied.
func NewString(key, value []byte) *Entry {
	if len(value) > packedMax || len(key) > keyPackedMax {
		return NewObject(key, KindString, &rawString{append([]byte(nil), value...)})
	}
	// The memory consists of words, so that the head is aligned.
	memory := make([]uint64, packedWords(len(key), len(value)))
	e := (*Entry)(unsafe.Pointer(unsafe.SliceData(memory)))
	e.keyLen, e.textLen = uint32(len(key)), uint32(len(value))
	copy(e.behind(0, len(key)), key)
	copy(e.behind(len(key), len(value)), value)
	return e
}

// packedWords is the size of a packed string in words of eight bytes.
func packedWords(keyLen, textLen int) int { return (entryBytes + keyLen + textLen + 7) / 8 }

// packedWords is the size of the entry's memory, if it is a packed string.
func (e *Entry) packedWords() int {
	return packedWords(int(e.keyLen), int(e.textLen)) + int(e.spare)
}

// behind is a part of the memory behind a packed string's head.
func (e *Entry) behind(at, length int) []byte {
	if length == 0 {
		return nil // the address may be the end of the memory
	}
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(e), entryBytes+at)), length)
}

// NewObject returns an entry for a value of another kind. The key is copied; the entry takes
// ownership of the object.
func NewObject(key []byte, kind Kind, object Object) *Entry {
	e := &objectEntry{Entry: Entry{kind: kind, flags: flagObject}, key: string(key), object: object}
	return &e.Entry
}

// head returns the objectEntry of an entry with flagObject, which is always its first field.
func (e *Entry) head() *objectEntry { return (*objectEntry)(unsafe.Pointer(e)) }

// Key returns the key.
func (e *Entry) Key() string {
	key := e.KeyBytes()
	return unsafe.String(unsafe.SliceData(key), len(key))
}

// KeyBytes returns the key, which must not be changed.
func (e *Entry) KeyBytes() []byte {
	if e.flags&flagObject != 0 {
		key := e.head().key
		return unsafe.Slice(unsafe.StringData(key), len(key))
	}
	return e.behind(0, int(e.keyLen))
}

// Kind returns the kind of the value.
func (e *Entry) Kind() Kind { return e.kind }

// Fillable reports whether the value is of a kind that commands wait for: BLPOP,
// BZPOPMIN and XREAD.
func (e *Entry) Fillable() bool {
	return e.kind == KindList || e.kind == KindSortedSet || e.kind == KindStream
}

// Object returns the value of an entry made by NewObject, otherwise nil.
func (e *Entry) Object() Object {
	if e.flags&flagObject == 0 {
		return nil
	}
	return e.head().object
}

// Text returns a string value's bytes. They must not be changed, and are valid as long as the key's
// slot is locked.
func (e *Entry) Text() []byte {
	if e.flags&flagObject != 0 {
		return e.head().object.(*rawString).text
	}
	return e.behind(int(e.keyLen), int(e.textLen))
}

// setText gives a packed string another text in place, and reports whether the length allows that
// without much waste. Readers of the text hold the slot, and setText is not called for an entry
// that a cut keeps. So nobody sees the text change.
func (e *Entry) setText(text []byte) bool {
	if e.flags&flagObject != 0 || len(text) > packedMax {
		return false
	}
	const wasteMaxWords = 2
	spare := e.packedWords() - packedWords(int(e.keyLen), len(text))
	if spare < 0 || spare > wasteMaxWords {
		return false
	}
	e.textLen, e.spare = uint32(len(text)), uint8(spare)
	copy(e.behind(int(e.keyLen), len(text)), text)
	return true
}

// Raw reports whether the string was changed in place (APPEND, SETRANGE), which
// OBJECT ENCODING shows.
func (e *Entry) Raw() bool { return e.flags&flagRaw != 0 }

// SetRaw marks a string as changed in place.
func (e *Entry) SetRaw() { e.flags |= flagRaw }

// MemoryBytes is the approximate memory of the entry: its own, its text's, and its place in a
// segment.
func (e *Entry) MemoryBytes() int {
	const placeBytes, headersBytes = 16, 48
	if e.flags&flagObject != 0 {
		o := e.head()
		return placeBytes + entryBytes + headersBytes + len(o.key) + o.object.MemoryBytes()
	}
	return placeBytes + 8*e.packedWords()
}

// clone returns a copy of the entry for a txn to change while a snapshot still reads this one.
func (e *Entry) clone() *Entry {
	if e.flags&flagObject != 0 {
		o := e.head()
		return &(&objectEntry{Entry: *e, key: o.key, object: o.object.Clone()}).Entry
	}
	c := NewString(e.KeyBytes(), e.Text())
	*c = *e
	c.spare = 0
	return c
}

// renamed returns an entry with the same value, expiry and record of use under another key. The
// value is shared, so the old entry must no longer be used.
func (e *Entry) renamed(key []byte) *Entry {
	var n *Entry
	if o := e.Object(); o != nil {
		n = NewObject(key, e.kind, o)
	} else {
		n = NewString(key, e.Text())
	}
	n.flags |= e.flags & flagRaw
	n.ExpireAtMs, n.use = e.ExpireAtMs, e.Use()
	return n
}

// Copied returns an entry with a copy of the value and with the same expiry and
// record of use under another key.
func (e *Entry) Copied(key []byte) *Entry {
	n := e.renamed(key)
	if n.flags&flagObject != 0 && e.flags&flagObject != 0 {
		n.head().object = e.head().object.Clone()
	}
	return n
}

// rawString is a string that is separate from its entry: a long one, or one that grows in place.
// Otherwise APPEND and SETRANGE would copy the whole value each time.
type rawString struct{ text []byte }

// Clone implements Object.
func (r *rawString) Clone() Object { return &rawString{append([]byte(nil), r.text...)} }

// MemoryBytes implements Object.
func (r *rawString) MemoryBytes() int { return 24 + cap(r.text) }

// NewRawString returns an entry for a string that can grow in place and is at least length bytes
// long. Bytes beyond value are zero. Key and value are copied.
func NewRawString(key, value []byte, length int) *Entry {
	text := make([]byte, max(length, len(value)))
	copy(text, value)
	e := NewObject(key, KindString, &rawString{text})
	e.flags |= flagRaw
	return e
}

// GrowText makes the text of a raw string at least n bytes long, with zero bytes at its end, and
// returns the text for changes in place. The entry must be growable and mutable (Keyspace.Mutable).
func (e *Entry) GrowText(n int) []byte {
	e.flags |= flagRaw
	r := e.head().object.(*rawString)
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

// ReplaceText replaces all of a raw string's text by a copy of text. It has the same preconditions
// as GrowText.
func (e *Entry) ReplaceText(text []byte) {
	e.flags |= flagRaw
	r := e.head().object.(*rawString)
	r.text = append(r.text[:0], text...)
}

// Growable reports whether GrowText and ReplaceText may be called.
func (e *Entry) Growable() bool { return e.kind == KindString && e.flags&flagObject != 0 }

// growCapacity doubles up to 1 MiB and adds 1 MiB beyond it, as Redis's sds does.
func growCapacity(n int) int {
	const mib = 1 << 20
	if n < mib {
		return 2 * n
	}
	return n + mib
}
