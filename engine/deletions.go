package engine

import "unsafe"

// deletionsMax is how many deletions a lock slot remembers for WATCH.
const deletionsMax = 32

// deletions remembers the last deletions of a lock slot, so that a client that
// watched a key which did not exist learns that it came and went meanwhile.
// It is part of the state. Where memory ends, since says yes: the client's
// EXEC then fails and is tried again.
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

// raise forgets everything up to txnNo.
func (d *deletions) raise(txnNo uint64) { d.horizon = max(d.horizon, txnNo) }

// since tells whether a key with this hash may have been deleted after seenAt.
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

// unsafeBytes views a string as bytes that must not be changed.
func unsafeBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
