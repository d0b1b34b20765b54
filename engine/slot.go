package engine

import "sync/atomic"

// Slot is the content of one lock slot, guarded by that slot's lock.
type Slot struct {
	dbs     [Databases]*dict
	expires expiryIndex
	deleted deletions
	// keys is the number of keys of all databases. It can be read without a lock.
	keys atomic.Int64
	// cutEpoch is the last cut that has captured this slot.
	cutEpoch uint64
}

// overwrite changes a string in place, and reports whether that was possible. No cut may keep e. Here
// and below c are the counts of the keyspace: reading a pointer to them in the slot would be one more
// cache miss.
func (s *Slot) overwrite(c *counts, db int, e *Entry, text []byte, expireAtMs int64, txnNo uint64) bool {
	if !e.setText(text) {
		return false
	}
	e.flags, e.Version = 0, txnNo
	if e.ExpireAtMs != expireAtMs {
		s.reschedule(c, db, e, expireAtMs)
	}
	return true
}

// forget removes an entry, which has left the slot, from the index of expiries and the counts.
func (s *Slot) forget(c *counts, db int, e *Entry) {
	c.remove(db, e)
	s.expires.remove(db, e)
}

// reschedule changes the expiry of an entry that may be changed in place.
func (s *Slot) reschedule(c *counts, db int, e *Entry, atMs int64) {
	s.expires.remove(db, e)
	c.setExpiry(db, e, atMs)
	s.expires.add(db, e)
}

// Keys is the number of keys of a database.
func (s *Slot) Keys(db int) int {
	if d := s.dbs[db]; d != nil {
		return d.count
	}
	return 0
}

// Walk calls f for the keys of one database in hash order, beginning at hash from, until f returns
// false.
func (s *Slot) Walk(db int, from uint32, f func(hash uint32, e *Entry) bool) {
	s.dbs[db].walk(from, f)
}

// WalkRank is Walk for the entries behind the first skip entries.
func (s *Slot) WalkRank(db int, skip int, f func(e *Entry) bool) {
	for _, seg := range s.dbs[db].segments() {
		if skip >= seg.count {
			skip -= seg.count
			continue
		}
		for _, e := range seg.entries {
			switch {
			case e == nil:
			case skip > 0:
				skip--
			case !f(e):
				return
			}
		}
	}
}
