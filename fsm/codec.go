package fsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"sync"

	"lockstep/engine/command"
	"lockstep/engine/script"
)

// An entry on disk and on the wire:
//
//	"LSE"  version u8  group u32  leader node u64  boot u64  number u64
//	stamp ms i64  bundles u32  { bundle }
//	[ told uv { row uv  work uv }  [ free uv { txn uv } ] ]
//	CRC-32C of all before, u32
//
// A bundle, in an entry and in a forwarded request:
//
//	node u64  boot u64  lane u32  first seq uv  acked below uv  txns uv
//	{ kind u8  proto u8  [ user ]  [ caller: node u64  client uv ]
//	  [ serve, of KindServe: node u64  boot u64  lane u32  seq uv  how u8 ]
//	  watches uv { db u8  key  version uv  seen at uv }
//	  ops uv     { db u8  args uv  { arg } } }
//
// The highest bit of an op's db is set where the second argument is a script's SHA1 in place of its
// text.
//
// The highest bit of proto is set for a txn that leaves the usage record of its keys unchanged. The
// next lower bit is set where memory was full, the next where the rules of a user follow, and the
// next where a caller follows. A caller's client is its number times two, plus one if a client is
// monitoring.
//
// What leaders report of work (backlog.go) is present only where there is something to report. A
// row is numbered from rowFirst. The first txn is given by its position in the entry, each further
// one by its distance from the one before.
//
// Fixed numbers are little endian, uv is an unsigned varint, texts are a uv
// length and bytes.
const (
	entryMagic      = "LSE"
	entryVersion    = 1
	entryHeaderSize = 3 + 1 + 4 + 8 + 8 + 8 + 8 + 4
	entryCRCSize    = 4
	bundleCountAt   = entryHeaderSize - 4
	// protoNoTouch is set in a txn's proto for Txn.NoTouch.
	protoNoTouch = 1 << 7
	// protoMemoryFull is set for Txn.MemoryFull.
	protoMemoryFull = 1 << 6
	// protoUser is set where Txn.User is.
	protoUser = 1 << 5
	// protoCaller is set where Txn.Caller is.
	protoCaller = 1 << 4
	// protoFlags are all of these.
	protoFlags = protoNoTouch | protoMemoryFull | protoUser | protoCaller
	// opSum is set in an op's db for Op.Sum.
	opSum = 1 << 7
)

// Errors of a damaged or foreign entry. Each stops the node: to skip an entry
// would let this replica differ from the others.
var (
	ErrCorrupt = errors.New("fsm: corrupt entry")
	ErrVersion = errors.New("fsm: entry of an unknown version")
	ErrGroup   = errors.New("fsm: entry of another group")
	// ErrCommand means that a newer node proposed a command that this one does not
	// know.
	ErrCommand = errors.New("fsm: entry holds an unknown command")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// EntryID names an entry before it has an index: the leader that made it, that
// leader's boot, and a counter. The leader uses it to find its waiting calls.
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
	// Told is the work that the leader had seen done.
	Told []Told
	// Free lists, in order, the positions in the entry of those txns that may take long, lock only
	// their keys, and need not hold the lane. If it is nil, no txn must hold the lane.
	Free []int
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

// Tell writes, behind the bundles, what work the leader has seen done and which txns are free of
// the lane (Entry.Free).
func (b *EntryBuilder) Tell(told []Told, free []int) {
	if len(told) == 0 && free == nil {
		return
	}
	b.buf = appendTold(b.buf, told)
	if free == nil {
		return
	}
	b.buf = binary.AppendUvarint(b.buf, uint64(len(free)))
	last := 0
	for _, at := range free {
		b.buf = binary.AppendUvarint(b.buf, uint64(at-last))
		last = at
	}
}

func appendTold(dst []byte, told []Told) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(told)))
	for _, t := range told {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(t.Row-rowFirst)), t.Work)
	}
	return dst
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

// entryDecoder decodes one entry after another into the same memory: an entry is
// valid until the next.
type entryDecoder struct {
	decoder
	bundles []Bundle
}

// decode checks and decodes an entry. The result points into data.
func (d *entryDecoder) decode(group uint32, data []byte) (Entry, error) {
	if err := CheckEntry(group, data); err != nil {
		return Entry{}, err
	}
	d.reset(data[8 : len(data)-entryCRCSize])
	e := Entry{ID: EntryID{d.u64(), d.u64(), d.u64()}, StampMs: int64(d.u64())}
	n := d.u32()
	if uint64(n) > uint64(len(d.rest)) {
		return Entry{}, fmt.Errorf("%w: %d bundles", ErrCorrupt, n)
	}
	if int(n) > cap(d.bundles) {
		d.bundles = make([]Bundle, n)
	}
	e.Bundles = d.bundles[:n]
	for i := range e.Bundles {
		d.bundle(&e.Bundles[i])
		e.Txns += len(e.Bundles[i].Txns)
	}
	if len(d.rest) > 0 {
		e.Told = d.told()
	}
	if len(d.rest) > 0 {
		e.Free = d.places(e.Txns)
	}
	if d.failed || len(d.rest) != 0 {
		return Entry{}, fmt.Errorf("%w: bundles", ErrCorrupt)
	}
	return e, nil
}

// AppendBundle appends the encoding of b.
func AppendBundle(dst []byte, b *Bundle) []byte {
	dst = AppendTxnID(dst, TxnID{b.Origin, b.FirstSeq})
	dst = binary.AppendUvarint(dst, b.AckedBelow)
	dst = binary.AppendUvarint(dst, uint64(len(b.Txns)))
	for i := range b.Txns {
		dst = appendTxn(dst, &b.Txns[i])
	}
	return dst
}

// AppendTxnID appends the encoding of an identity.
func AppendTxnID(dst []byte, id TxnID) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, id.Node)
	dst = binary.LittleEndian.AppendUint64(dst, id.Boot)
	dst = binary.LittleEndian.AppendUint32(dst, id.Lane)
	return binary.AppendUvarint(dst, id.Seq)
}

func appendTxn(dst []byte, t *Txn) []byte {
	proto := t.Proto
	if t.NoTouch {
		proto |= protoNoTouch
	}
	if t.MemoryFull {
		proto |= protoMemoryFull
	}
	if t.User != nil {
		proto |= protoUser
	}
	if t.Caller.Node != 0 {
		proto |= protoCaller
	}
	dst = append(dst, byte(t.Kind), proto)
	if t.User != nil {
		dst = appendText(dst, t.User)
	}
	if t.Caller.Node != 0 {
		dst = appendCaller(dst, t.Caller)
	}
	if t.Kind == KindServe {
		dst = append(AppendTxnID(dst, t.Serve.Wait), byte(t.Serve.How))
	}
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
		dst = appendOp(dst, &t.Ops[i])
	}
	return dst
}

func appendCaller(dst []byte, c command.Caller) []byte {
	client := c.Client << 1
	if c.Watched {
		client |= 1
	}
	return binary.AppendUvarint(binary.LittleEndian.AppendUint64(dst, c.Node), client)
}

func appendOp(dst []byte, op *Op) []byte {
	db := byte(op.DB)
	if op.Sum != nil {
		db |= opSum
	}
	dst = binary.AppendUvarint(append(dst, db), uint64(len(op.Args)))
	for i, a := range op.Args {
		if i == 1 && op.Sum != nil {
			a = op.Sum
		}
		dst = appendText(dst, a)
	}
	return dst
}

func appendText(dst, s []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// callerBytesMax is the most bytes that a caller takes, txnIDBytesMax the most that
// an identity takes.
const (
	callerBytesMax = 8 + binary.MaxVarintLen64
	txnIDBytesMax  = 8 + 8 + 4 + binary.MaxVarintLen64
)

// BundleSize is an upper bound of the bytes that a bundle of common txns takes.
func BundleSize(b *Bundle) int {
	n := 48
	for i := range b.Txns {
		n += TxnSize(&b.Txns[i])
	}
	return n
}

// TxnSize is about the number of bytes a txn takes in an entry.
func TxnSize(t *Txn) int {
	n := 8 + len(t.User)
	if t.Kind == KindServe {
		n += txnIDBytesMax + 1
	}
	if t.Caller.Node != 0 {
		n += callerBytesMax
	}
	for i := range t.Watches {
		n += 24 + len(t.Watches[i].Key)
	}
	for i := range t.Ops {
		op := &t.Ops[i]
		n += 4
		for _, a := range op.Args {
			n += 3 + len(a)
		}
		if op.Sum != nil {
			n += len(op.Sum) - len(op.Args[1])
		}
	}
	return n
}

// DecodeBundle decodes one bundle that fills data. The result points into data.
func DecodeBundle(data []byte) (Bundle, error) {
	d := decoder{rest: data}
	var b Bundle
	d.bundle(&b)
	if d.failed || len(d.rest) != 0 {
		return Bundle{}, fmt.Errorf("%w: bundle", ErrCorrupt)
	}
	return b, nil
}

// BundleID is the identity of the first txn of an encoded bundle. It returns false if the bundle is
// corrupt.
func BundleID(data []byte) (TxnID, bool) {
	d := decoder{rest: data}
	id := TxnID{Origin{d.u64(), d.u64(), d.u32()}, d.uvarint()}
	return id, !d.failed
}

// decoders are kept for EachTxn, because a new one allocates room for many txns.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// EachTxn calls f with the txns of one encoded bundle that fills data, in order. It
// returns false if the bundle is corrupt. The txn passed to f is reused after f
// returns.
func EachTxn(data []byte, f func(t *Txn)) bool {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.reset(data)
	var b Bundle
	d.bundle(&b)
	if d.failed || len(d.rest) != 0 {
		return false
	}
	for i := range b.Txns {
		f(&b.Txns[i])
	}
	return true
}

// decoder reads the parts of an entry. After a failure it returns zeros. It never
// allocates for more elements than there are bytes left.
type decoder struct {
	rest   []byte
	failed bool
	// args is room for argument lists, ops for the ops of txns, and txns for the
	// txns of bundles: an entry holds hundreds of short ones.
	args room[[]byte]
	ops  room[Op]
	txns room[Txn]
}

// reset points a used decoder at other data.
func (d *decoder) reset(data []byte) {
	d.rest, d.failed = data, false
	d.args.reuse()
	d.ops.reuse()
	d.txns.reuse()
}

// room is memory from which lists are cut, one after the other.
type room[T any] struct {
	free []T
	// all is the largest piece that free was cut from.
	all []T
}

// reuse makes the whole piece available again.
func (r *room[T]) reuse() { r.free = r.all }

// cut returns a list of n elements, which keep their old contents.
func (r *room[T]) cut(n int) []T {
	const least = 64
	if n > len(r.free) {
		r.free = make([]T, max(n, 2*len(r.all), least))
		r.all = r.free
	}
	l := r.free[:n:n]
	r.free = r.free[n:]
	return l
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

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// The least number of bytes that the parts of a bundle take.
const (
	txnBytesMin   = 4 // kind, proto, no watches, no ops
	watchBytesMin = 4
	opBytesMin    = 3 // database, one empty argument
)

// count reads a number of elements, each of which takes at least a byte.
func (d *decoder) count() int { return d.countOf(1) }

// countOf reads a number of elements, each of which takes at least bytesMin bytes.
func (d *decoder) countOf(bytesMin int) int {
	n := d.uvarint()
	if n > uint64(len(d.rest)/bytesMin) {
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
	id := d.id()
	b.Origin, b.FirstSeq = id.Origin, id.Seq
	b.AckedBelow = d.uvarint()
	b.Txns = d.txns.cut(d.countOf(txnBytesMin))
	for i := range b.Txns {
		d.txn(&b.Txns[i])
	}
}

func (d *decoder) id() TxnID {
	return TxnID{Origin{d.u64(), d.u64(), d.u32()}, d.uvarint()}
}

func (d *decoder) txn(t *Txn) {
	*t = Txn{Kind: Kind(d.u8())}
	proto := d.u8()
	t.Proto = proto &^ protoFlags
	t.NoTouch, t.MemoryFull = proto&protoNoTouch != 0, proto&protoMemoryFull != 0
	if proto&protoUser != 0 {
		t.User = d.text()
	}
	if proto&protoCaller != 0 {
		t.Caller = d.caller()
	}
	switch {
	case t.Kind > kindLast:
		d.fail()
	case t.Kind == KindServe:
		t.Serve = Serve{d.id(), ServeHow(d.u8())}
	}
	if n := d.countOf(watchBytesMin); n > 0 {
		t.Watches = make([]Watch, n)
		for i := range t.Watches {
			t.Watches[i] = Watch{DB: d.db(), Key: d.text(), Version: d.uvarint(), SeenAt: d.uvarint()}
		}
	}
	if n := d.countOf(opBytesMin); n > 0 {
		t.Ops = d.ops.cut(n)
		for i := range t.Ops {
			d.op(&t.Ops[i])
		}
	}
}

// toldBytesMin is the least number of bytes that the work of a row takes.
const toldBytesMin = 2

func (d *decoder) told() []Told {
	told := make([]Told, d.countOf(toldBytesMin))
	for i := range told {
		row, work := d.uvarint(), d.uvarint()
		if row > math.MaxInt32 {
			d.fail()
			return nil
		}
		told[i] = Told{Row(row) + rowFirst, work}
	}
	return told
}

// places reads positions below n, in order.
func (d *decoder) places(n int) []int {
	places, last := make([]int, d.count()), 0
	for i := range places {
		step := d.uvarint()
		if step >= uint64(n) || last+int(step) >= n {
			d.fail()
			return nil
		}
		last += int(step)
		places[i] = last
	}
	return places
}

func (d *decoder) caller() command.Caller {
	node, client := d.u64(), d.uvarint()
	return command.Caller{Node: node, Client: client >> 1, Watched: client&1 != 0}
}

func (d *decoder) op(op *Op) {
	db := d.u8()
	*op = Op{DB: d.database(db &^ opSum), Args: d.list()}
	if db&opSum == 0 {
		return
	}
	if len(op.Args) < 2 || len(op.Args[1]) != len(script.Sum{}) {
		d.fail()
		return
	}
	op.Sum, op.Args[1] = op.Args[1], nil
}

func (d *decoder) db() int { return d.database(d.u8()) }

func (d *decoder) database(db byte) int {
	if db >= databases {
		d.fail()
		return 0
	}
	return int(db)
}

func (d *decoder) list() [][]byte {
	n := d.count()
	if n == 0 {
		d.fail()
		return nil
	}
	l := d.args.cut(n)
	for i := range l {
		l[i] = d.text()
	}
	return l
}
