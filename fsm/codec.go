package fsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// An entry on disk and on the wire:
//
//	"LSE"  version u8  group u32  leader node u64  boot u64  number u64
//	stamp ms i64  bundles u32  { bundle }  CRC-32C of all before, u32
//
// A bundle, there and in a forwarded request:
//
//	node u64  boot u64  lane u32  first seq uv  acked below uv  txns uv
//	{ kind u8  proto u8
//	  watches uv { db u8  key  version uv  seen at uv }
//	  ops uv     { db u8  args uv  { arg } } }
//
// Fixed numbers are little endian, uv is an unsigned varint, texts are a uv
// length and bytes.
const (
	entryMagic      = "LSE"
	entryVersion    = 1
	entryHeaderSize = 3 + 1 + 4 + 8 + 8 + 8 + 8 + 4
	entryCRCSize    = 4
	bundleCountAt   = entryHeaderSize - 4
)

// Errors of a damaged or foreign entry. Each stops the node: to skip an entry
// would let this replica differ from the others.
var (
	ErrCorrupt = errors.New("fsm: corrupt entry")
	ErrVersion = errors.New("fsm: entry of an unknown version")
	ErrGroup   = errors.New("fsm: entry of another group")
	// ErrCommand: a newer node proposed a command that this one does not know.
	ErrCommand = errors.New("fsm: entry holds an unknown command")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// EntryID names an entry before it has an index: the leader that made it, its
// boot and a counter. The leader finds its waiting calls by it.
type EntryID struct {
	Node, Boot, N uint64
}

// Entry is a decoded entry.
type Entry struct {
	ID EntryID
	// StampMs is the leader's time.
	StampMs int64
	Bundles []Bundle
	// Txns is the number of txns in all bundles.
	Txns int
}

// EntryBuilder puts an entry together.
type EntryBuilder struct {
	buf     []byte
	bundles uint32
}

// NewEntryBuilder begins an entry with room for about sizeBytes.
func NewEntryBuilder(group uint32, id EntryID, stampMs int64, sizeBytes int) *EntryBuilder {
	b := make([]byte, 0, entryHeaderSize+sizeBytes+entryCRCSize)
	b = append(b, entryMagic...)
	b = append(b, entryVersion)
	b = binary.LittleEndian.AppendUint32(b, group)
	b = binary.LittleEndian.AppendUint64(b, id.Node)
	b = binary.LittleEndian.AppendUint64(b, id.Boot)
	b = binary.LittleEndian.AppendUint64(b, id.N)
	b = binary.LittleEndian.AppendUint64(b, uint64(stampMs))
	b = binary.LittleEndian.AppendUint32(b, 0)
	return &EntryBuilder{buf: b}
}

// Add appends an encoded bundle.
func (b *EntryBuilder) Add(bundle []byte) {
	b.buf = append(b.buf, bundle...)
	b.bundles++
}

// Finish returns the entry's bytes.
func (b *EntryBuilder) Finish() []byte {
	binary.LittleEndian.PutUint32(b.buf[bundleCountAt:], b.bundles)
	return binary.LittleEndian.AppendUint32(b.buf, crc32.Checksum(b.buf, castagnoli))
}

// CheckEntry verifies an entry's frame, version, group and checksum without
// decoding its bundles.
func CheckEntry(group uint32, data []byte) error {
	if len(data) < entryHeaderSize+entryCRCSize || string(data[:3]) != entryMagic {
		return fmt.Errorf("%w: no entry header", ErrCorrupt)
	}
	body := data[:len(data)-entryCRCSize]
	if got, want := crc32.Checksum(body, castagnoli), binary.LittleEndian.Uint32(data[len(body):]); got != want {
		return fmt.Errorf("%w: checksum %08x, stored %08x", ErrCorrupt, got, want)
	}
	if data[3] != entryVersion {
		return fmt.Errorf("%w: %d", ErrVersion, data[3])
	}
	if got := binary.LittleEndian.Uint32(data[4:]); got != group {
		return fmt.Errorf("%w: %d in the log of %d", ErrGroup, got, group)
	}
	return nil
}

// DecodeEntry checks and decodes an entry. What it returns points into data.
func DecodeEntry(group uint32, data []byte) (Entry, error) {
	if err := CheckEntry(group, data); err != nil {
		return Entry{}, err
	}
	d := decoder{rest: data[8 : len(data)-entryCRCSize]}
	e := Entry{ID: EntryID{d.u64(), d.u64(), d.u64()}, StampMs: int64(d.u64())}
	n := d.u32()
	if uint64(n) > uint64(len(d.rest)) {
		return Entry{}, fmt.Errorf("%w: %d bundles", ErrCorrupt, n)
	}
	e.Bundles = make([]Bundle, n)
	for i := range e.Bundles {
		d.bundle(&e.Bundles[i])
		e.Txns += len(e.Bundles[i].Txns)
	}
	if d.failed || len(d.rest) != 0 {
		return Entry{}, fmt.Errorf("%w: bundles", ErrCorrupt)
	}
	return e, nil
}

// AppendBundle appends the encoding of b.
func AppendBundle(dst []byte, b *Bundle) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, b.Origin.Node)
	dst = binary.LittleEndian.AppendUint64(dst, b.Origin.Boot)
	dst = binary.LittleEndian.AppendUint32(dst, b.Origin.Lane)
	dst = binary.AppendUvarint(dst, b.FirstSeq)
	dst = binary.AppendUvarint(dst, b.AckedBelow)
	dst = binary.AppendUvarint(dst, uint64(len(b.Txns)))
	for i := range b.Txns {
		dst = appendTxn(dst, &b.Txns[i])
	}
	return dst
}

func appendTxn(dst []byte, t *Txn) []byte {
	dst = append(dst, byte(t.Kind), t.Proto)
	dst = binary.AppendUvarint(dst, uint64(len(t.Watches)))
	for i := range t.Watches {
		w := &t.Watches[i]
		dst = append(dst, byte(w.DB))
		dst = appendText(dst, w.Key)
		dst = binary.AppendUvarint(dst, w.Version)
		dst = binary.AppendUvarint(dst, w.SeenAt)
	}
	dst = binary.AppendUvarint(dst, uint64(len(t.Ops)))
	for i := range t.Ops {
		op := &t.Ops[i]
		dst = append(dst, byte(op.DB))
		dst = binary.AppendUvarint(dst, uint64(len(op.Args)))
		for _, a := range op.Args {
			dst = appendText(dst, a)
		}
	}
	return dst
}

func appendText(dst, s []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// TxnSize is about the number of bytes a txn takes in an entry.
func TxnSize(t *Txn) int {
	n := 8
	for i := range t.Watches {
		n += 24 + len(t.Watches[i].Key)
	}
	for i := range t.Ops {
		n += 4
		for _, a := range t.Ops[i].Args {
			n += 3 + len(a)
		}
	}
	return n
}

// DecodeBundle decodes one bundle that fills data. What it returns points into
// data.
func DecodeBundle(data []byte) (Bundle, error) {
	d := decoder{rest: data}
	var b Bundle
	d.bundle(&b)
	if d.failed || len(d.rest) != 0 {
		return Bundle{}, fmt.Errorf("%w: bundle", ErrCorrupt)
	}
	return b, nil
}

// decoder reads an entry's parts. After a failure it returns zeros. It never
// allocates for more elements than there are bytes left.
type decoder struct {
	rest   []byte
	failed bool
	// args is room for argument lists, cut off piece by piece: an entry holds
	// hundreds of short ones.
	args [][]byte
	// ops and txns are the same for the ops of txns and the txns of bundles.
	ops  []Op
	txns []Txn
}

func (d *decoder) fail() {
	d.failed = true
	d.rest = nil
}

func (d *decoder) u8() byte {
	if len(d.rest) < 1 {
		d.fail()
		return 0
	}
	v := d.rest[0]
	d.rest = d.rest[1:]
	return v
}

func (d *decoder) u32() uint32 {
	if len(d.rest) < 4 {
		d.fail()
		return 0
	}
	v := binary.LittleEndian.Uint32(d.rest)
	d.rest = d.rest[4:]
	return v
}

func (d *decoder) u64() uint64 {
	if len(d.rest) < 8 {
		d.fail()
		return 0
	}
	v := binary.LittleEndian.Uint64(d.rest)
	d.rest = d.rest[8:]
	return v
}

func (d *decoder) uvarint() uint64 {
	if len(d.rest) > 0 && d.rest[0] < 0x80 {
		v := uint64(d.rest[0])
		d.rest = d.rest[1:]
		return v
	}
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count reads a number of elements, each of which takes at least a byte.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) text() []byte {
	n := d.count()
	if d.failed {
		return nil
	}
	s := d.rest[:n:n]
	d.rest = d.rest[n:]
	return s
}

func (d *decoder) bundle(b *Bundle) {
	b.Origin = Origin{d.u64(), d.u64(), d.u32()}
	b.FirstSeq = d.uvarint()
	b.AckedBelow = d.uvarint()
	n := d.count()
	if n > len(d.txns) {
		d.txns = make([]Txn, max(n, 64))
	}
	b.Txns = d.txns[:n:n]
	d.txns = d.txns[n:]
	for i := range b.Txns {
		d.txn(&b.Txns[i])
	}
}

func (d *decoder) txn(t *Txn) {
	t.Kind = Kind(d.u8())
	t.Proto = d.u8()
	if t.Kind > kindLast {
		d.fail()
	}
	if n := d.count(); n > 0 {
		t.Watches = make([]Watch, n)
		for i := range t.Watches {
			t.Watches[i] = Watch{DB: d.db(), Key: d.text(), Version: d.uvarint(), SeenAt: d.uvarint()}
		}
	}
	if n := d.count(); n > 0 {
		if n > len(d.ops) {
			d.ops = make([]Op, max(n, 128))
		}
		t.Ops = d.ops[:n:n]
		d.ops = d.ops[n:]
		for i := range t.Ops {
			t.Ops[i].DB = d.db()
			t.Ops[i].Args = d.list()
		}
	}
}

func (d *decoder) db() int {
	db := int(d.u8())
	if db >= databases {
		d.fail()
		return 0
	}
	return db
}

func (d *decoder) list() [][]byte {
	n := d.count()
	if n == 0 {
		d.fail()
		return nil
	}
	if n > len(d.args) {
		d.args = make([][]byte, max(n, 512))
	}
	l := d.args[:n:n]
	d.args = d.args[n:]
	for i := range l {
		l[i] = d.text()
	}
	return l
}
