package engine

import (
	"encoding/binary"
)

// deletionsMax is how many deletions a lock slot remembers for WATCH.
const deletionsMax = 32

// deletions remembers the last deletions of a lock slot. So a client that watches a key which does
// not exist learns that the key was made and deleted meanwhile. It is part of the state. For
// deletions that are forgotten, since returns true: the client's EXEC then fails and the client
// tries again.
type deletions struct {
	ring []deletion
	next int
	// horizon is the number of the newest txn whose deletions are forgotten.
	horizon uint64
}

type deletion struct {
	txnNo uint64
	hash  uint32
	db    uint8
}

func (d *deletions) add(db int, hash uint32, txnNo uint64) {
	n := deletion{txnNo, hash, uint8(db)}
	if len(d.ring) < deletionsMax {
		d.ring = append(d.ring, n)
		return
	}
	d.horizon = max(d.horizon, d.ring[d.next].txnNo)
	d.ring[d.next] = n
	d.next = (d.next + 1) % deletionsMax
}

// raise forgets all deletions up to txnNo.
func (d *deletions) raise(txnNo uint64) { d.horizon = max(d.horizon, txnNo) }

// last is the number of the newest txn that deleted something, as far as is known.
func (d *deletions) last() uint64 {
	n := len(d.ring)
	if n == 0 {
		return d.horizon
	}
	return max(d.horizon, d.ring[(d.next+n-1)%n].txnNo)
}

// since reports whether a key with this hash may have been deleted after seenAt.
func (d *deletions) since(db int, hash uint32, seenAt uint64) bool {
	if d.horizon > seenAt {
		return true
	}
	for _, x := range d.ring {
		if x.txnNo > seenAt && x.hash == hash && int(x.db) == db {
			return true
		}
	}
	return false
}

// AppendDeletions appends the encoded deletions that a captured slot remembers.
func (c *Cut) AppendDeletions(dst []byte, slot int32) []byte {
	d := &c.slots[slot].deleted
	dst = binary.AppendUvarint(dst, d.horizon)
	// Begin at the oldest, so that the encoding does not depend on where the ring begins.
	for i := range d.ring {
		x := d.ring[(d.next+i)%len(d.ring)]
		dst = binary.AppendUvarint(dst, x.txnNo)
		dst = binary.LittleEndian.AppendUint32(dst, x.hash)
		dst = append(dst, x.db)
	}
	return dst
}

// RestoreDeletions restores the deletions that AppendDeletions wrote. It returns false if they are
// not valid.
func (s *Slot) RestoreDeletions(data []byte) bool {
	var d deletions
	horizon, n := binary.Uvarint(data)
	if n <= 0 {
		return false
	}
	d.horizon, data = horizon, data[n:]
	for len(data) > 0 {
		txnNo, n := binary.Uvarint(data)
		if n <= 0 || len(data) < n+5 || len(d.ring) == deletionsMax || data[n+4] >= Databases {
			return false
		}
		d.ring = append(d.ring, deletion{txnNo, binary.LittleEndian.Uint32(data[n:]), data[n+4]})
		data = data[n+5:]
	}
	s.deleted = d
	return true
}

// Deletions reports whether a captured slot remembers any deletions.
func (c *Cut) Deletions(slot int32) bool {
	d := &c.slots[slot].deleted
	return len(d.ring) > 0 || d.horizon > 0
}
