package raftio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// bbolt does not expect a damaged file. It follows the numbers in a page wherever they
// lead: outside of the file, which ends the process with a memory fault, or to a panic in
// a goroutine of its own, which no caller can recover. And if one of a file's two roots
// is damaged, it silently uses the other one, which lacks the last write. So a file is
// examined before bbolt opens it: its roots, and every page that bbolt would follow. The
// values are not examined: entries and the vote have checksums of their own.

// A file of bbolt is pages. Each begins with id u64, flags u16, count u16, overflow u32
// (how many pages more it takes), then count elements of 16 bytes:
//
//	of a branch: pos u32, key bytes u32, page u64
//	of a leaf:   flags u32, pos u32, key bytes u32, value bytes u32
//
// pos is where the key is, counted from the element. The value follows the key, and the
// next key follows the value. The first two pages are the roots.
const (
	pageHeadBytes    = 16
	pageElementBytes = 16

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10
	// flagBucket marks an element of a leaf whose value is a bucket: root u64, sequence
	// u64, and, if root is 0, a whole page behind that.
	flagBucket  = 0x01
	bucketBytes = 16
	// noFreelist is the page number of the freelist in a file that has none.
	noFreelist = ^uint64(0)

	// pageBytesMin and pageBytesMax bound the length of a page.
	pageBytesMin, pageBytesMax = 1 << 10, 64 << 10
	// boltDepthMax bounds how deep a tree may be. With two keys in a page, such a tree
	// could hold more than any disk.
	boltDepthMax = 64
)

// boltRoot is a root: magic u32, version u32, page bytes u32, flags u32, the root
// bucket, the freelist's page u64, the number of pages u64, the transaction u64, and a
// checksum u64 of all before it.
type boltRoot struct{ page, freelist, pages, txn uint64 }

const (
	boltRootBytes = 64
	boltMagic     = 0xED0CDAED
	boltVersion   = 2
)

// errBolt says that a file of bbolt is not as bbolt left it.
var errBolt = errors.New("is damaged")

func badBolt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBolt, fmt.Sprintf(format, args...))
}

// boltFile is a file under examination.
type boltFile struct {
	f         io.ReaderAt
	pageBytes uint64
	root      boltRoot
	// seen is a bitmap of the pages that were read.
	seen []uint64
}

// examineBolt examines a file of bbolt that no process has open.
func examineBolt(f io.ReaderAt, size int64) error {
	b := &boltFile{f: f}
	if err := b.readRoots(size); err != nil {
		return err
	}
	if have := uint64(size) / b.pageBytes; have < b.root.pages {
		return badBolt("it was cut short: %d of its %d pages are there", have, b.root.pages)
	}
	b.seen = make([]uint64, b.root.pages/64+1)
	if b.root.freelist != noFreelist {
		if err := b.freelist(b.root.freelist); err != nil {
			return err
		}
	}
	return b.tree(b.root.page, nil, nil, 0)
}

// readRoots reads both roots. A power cut damages neither: a disk writes a sector whole
// or not at all, and a root is shorter than a sector.
func (b *boltFile) readRoots(size int64) error {
	var first [boltRootBytes + pageHeadBytes]byte
	if _, err := b.f.ReadAt(first[:], 0); err != nil {
		return badBolt("its first root cannot be read: %v", err)
	}
	b.pageBytes = uint64(binary.LittleEndian.Uint32(first[pageHeadBytes+8:]))
	if b.pageBytes < pageBytesMin || b.pageBytes > pageBytesMax || size < int64(2*b.pageBytes) {
		return badBolt("its first root says that a page has %d bytes", b.pageBytes)
	}
	for n := range uint64(2) {
		var page [boltRootBytes + pageHeadBytes]byte
		if _, err := b.f.ReadAt(page[:], int64(n*b.pageBytes)); err != nil {
			return badBolt("root %d cannot be read: %v", n, err)
		}
		root, err := parseBoltRoot(page[pageHeadBytes:])
		if err != nil {
			return badBolt("root %d: %v. What was written last may be lost with it", n, err)
		}
		if n == 0 || root.txn > b.root.txn {
			b.root = root
		}
	}
	if most := uint64(1) << 48; b.root.pages < 3 || b.root.pages > most {
		return badBolt("its root speaks of %d pages", b.root.pages)
	}
	return nil
}

func parseBoltRoot(r []byte) (boltRoot, error) {
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(r[at:]) }
	sum := fnv.New64a()
	_, _ = sum.Write(r[:boltRootBytes-8])
	switch {
	case u64(boltRootBytes-8) != sum.Sum64():
		return boltRoot{}, errors.New("the checksum is wrong")
	case binary.LittleEndian.Uint32(r) != boltMagic || binary.LittleEndian.Uint32(r[4:]) != boltVersion:
		return boltRoot{}, errors.New("that is no file of bbolt, or of another version")
	}
	return boltRoot{page: u64(16), freelist: u64(32), pages: u64(40), txn: u64(48)}, nil
}

// boltPage is a page with its overflow pages, or the page in the value of a bucket.
type boltPage struct {
	name         string
	flags, count uint64
	// bytes is its length, used is where the elements read so far end, and head is its
	// first part. The rest is read from in at offset.
	bytes  uint64
	used   uint64
	head   []byte
	in     io.ReaderAt
	offset int64
}

// page reads a page, which must not have been read before.
func (b *boltFile) page(id uint64) (*boltPage, error) {
	if id < 2 || id >= b.root.pages {
		return nil, badBolt("it refers to page %d, and it has %d", id, b.root.pages)
	}
	p := &boltPage{name: fmt.Sprintf("page %d", id), head: make([]byte, b.pageBytes), in: b.f, offset: int64(id * b.pageBytes)}
	if _, err := b.f.ReadAt(p.head, p.offset); err != nil {
		return nil, badBolt("%s cannot be read: %v", p.name, err)
	}
	if says := binary.LittleEndian.Uint64(p.head); says != id {
		return nil, badBolt("%s says that it is page %d", p.name, says)
	}
	more := uint64(binary.LittleEndian.Uint32(p.head[12:]))
	if id+more >= b.root.pages {
		return nil, badBolt("%s goes on beyond the last", p.name)
	}
	for n := id; n <= id+more; n++ {
		if b.seen[n/64]&(1<<(n%64)) != 0 {
			return nil, badBolt("page %d has two places", n)
		}
		b.seen[n/64] |= 1 << (n % 64)
	}
	p.bytes = (more + 1) * b.pageBytes
	return p, p.readHead()
}

func (p *boltPage) readHead() error {
	p.flags, p.count = uint64(binary.LittleEndian.Uint16(p.head[8:])), uint64(binary.LittleEndian.Uint16(p.head[10:]))
	p.used = pageHeadBytes + p.count*pageElementBytes
	if p.flags != flagFreelist && p.used > p.bytes {
		return badBolt("%s has no room for its %d elements", p.name, p.count)
	}
	return nil
}

// at reads n bytes of a page.
func (p *boltPage) at(from, n uint64) ([]byte, error) {
	if from+n > p.bytes {
		return nil, badBolt("%s is too short for what stands in it", p.name)
	}
	if from+n <= uint64(len(p.head)) {
		return p.head[from : from+n], nil
	}
	part := make([]byte, n)
	if _, err := p.in.ReadAt(part, p.offset+int64(from)); err != nil {
		return nil, badBolt("%s cannot be read: %v", p.name, err)
	}
	return part, nil
}

// keyBytesMax is the longest key that bbolt accepts.
const keyBytesMax = 32 << 10

// element is an element of a page: the key, and where the value is, or the page that
// holds this key and later ones.
type element struct {
	flags         uint64
	key           []byte
	value, length uint64
	page          uint64
}

// element reads the next element.
func (p *boltPage) element(i uint64) (e element, err error) {
	begin := pageHeadBytes + i*pageElementBytes
	raw, err := p.at(begin, pageElementBytes)
	if err != nil {
		return e, err
	}
	u32 := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(raw[at:])) }
	var pos, keyBytes uint64
	if p.flags == flagBranch {
		pos, keyBytes, e.page = u32(0), u32(4), binary.LittleEndian.Uint64(raw[8:])
	} else {
		e.flags, pos, keyBytes, e.length = u32(0), u32(4), u32(8), u32(12)
	}
	e.value = begin + pos + keyBytes
	if begin+pos != p.used || keyBytes > keyBytesMax || e.value+e.length > p.bytes {
		return e, badBolt("element %d of %s does not stand where it should", i, p.name)
	}
	p.used = e.value + e.length
	e.key, err = p.at(begin+pos, keyBytes)
	return e, err
}

// tree examines a page and all pages below it. Their keys must not be less than from, and
// must be less than to. A nil bound does not count.
func (b *boltFile) tree(id uint64, from, to []byte, depth int) error {
	if depth > boltDepthMax {
		return badBolt("its tree is too deep")
	}
	p, err := b.page(id)
	if err != nil {
		return err
	}
	return b.elements(p, from, to, depth)
}

func (b *boltFile) elements(p *boltPage, from, to []byte, depth int) error {
	if p.flags != flagBranch && p.flags != flagLeaf || p.flags == flagBranch && p.count == 0 {
		return badBolt("%s is of kind %#x, with %d elements", p.name, p.flags, p.count)
	}
	var before element
	for i := range p.count {
		e, err := p.element(i)
		if err != nil {
			return err
		}
		ordered := i == 0 || bytes.Compare(before.key, e.key) < 0
		if !ordered || bytes.Compare(e.key, from) < 0 || to != nil && bytes.Compare(e.key, to) >= 0 {
			return badBolt("the keys of %s are not in their order", p.name)
		}
		if i > 0 && p.flags == flagBranch {
			if err := b.tree(before.page, before.key, e.key, depth+1); err != nil {
				return err
			}
		}
		if p.flags == flagLeaf {
			if err := b.bucket(p, &e, depth); err != nil {
				return err
			}
		}
		before = e
	}
	if p.bytes > b.pageBytes && p.used <= p.bytes-b.pageBytes {
		return badBolt("%s is longer than what stands in it", p.name)
	}
	if p.flags == flagBranch {
		return b.tree(before.page, before.key, to, depth+1)
	}
	return nil
}

// bucket examines the bucket in an element, if it is one.
func (b *boltFile) bucket(p *boltPage, e *element, depth int) error {
	if e.flags == 0 {
		return nil
	}
	if e.flags != flagBucket || e.length < bucketBytes {
		return badBolt("an element of %s is no value and no bucket", p.name)
	}
	raw, err := p.at(e.value, e.length)
	if err != nil {
		return err
	}
	if root := binary.LittleEndian.Uint64(raw); root != 0 {
		return b.tree(root, nil, nil, depth+1)
	}
	inner := &boltPage{name: "the page in a bucket of " + p.name, head: raw[bucketBytes:], bytes: uint64(len(raw)) - bucketBytes}
	if inner.bytes < pageHeadBytes {
		return badBolt("%s has no room", inner.name)
	}
	if err := inner.readHead(); err != nil {
		return err
	}
	if inner.flags != flagLeaf {
		return badBolt("%s is of kind %#x", inner.name, inner.flags)
	}
	return b.elements(inner, nil, nil, boltDepthMax)
}

// freelist examines the list of free pages, of which none may be in use.
func (b *boltFile) freelist(id uint64) error {
	p, err := b.page(id)
	if err != nil {
		return err
	}
	count, at := p.count, uint64(pageHeadBytes)
	if count == 0xffff { // then the first element is the count
		raw, err := p.at(at, 8)
		if err != nil {
			return err
		}
		count, at = binary.LittleEndian.Uint64(raw), at+8
	}
	if p.flags != flagFreelist || count > (p.bytes-at)/8 {
		return badBolt("%s is of kind %#x, with %d free pages", p.name, p.flags, count)
	}
	for i := range count {
		raw, err := p.at(at+8*i, 8)
		if err != nil {
			return err
		}
		free := binary.LittleEndian.Uint64(raw)
		if free < 2 || free >= b.root.pages || b.seen[free/64]&(1<<(free%64)) != 0 {
			return badBolt("it says that page %d is free", free)
		}
		b.seen[free/64] |= 1 << (free % 64)
	}
	return nil
}
