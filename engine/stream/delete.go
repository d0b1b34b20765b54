package stream

// Delete deletes entries and returns how many of them existed. It calls each for every ID.
func (s *Stream) Delete(ids []ID, each func()) int {
	deleted, first := 0, false
	for _, id := range ids {
		each()
		if !s.deleteOne(id) {
			continue
		}
		deleted++
		first = first || id == s.State.First
		if id.Compare(s.State.MaxDeleted) > 0 {
			s.State.MaxDeleted = id
		}
	}
	if deleted > 0 && (first || s.length == 0) {
		s.State.First = s.firstEntryID()
	}
	return deleted
}

// deleteOne marks an entry as deleted. It removes the entry's node if no other entry is left in it.
func (s *Stream) deleteOne(id ID) bool {
	i, place, ok := s.locate(id)
	if !ok {
		return false
	}
	s.length--
	n := openNode(s.nodes.at(i))
	if n.live == 1 {
		s.nodes.remove(i)
		return true
	}
	s.nodes.change(i, func(record []byte) []byte {
		d := edited{record}
		flags, _ := number(record, place)
		d.put(place, flags|flagDeleted)
		d.setCounts(n.live-1, n.deleted+1)
		return d.record
	})
	return true
}

// locate finds an entry: the index of its node and its offset in the record.
func (s *Stream) locate(id ID) (i, place int, ok bool) {
	if s.nodes.tail == nil {
		return 0, 0, false
	}
	var e Entry
	i = s.nodes.seek(id) - 1
	s.nodes.from(i+1, func(record []byte) bool {
		i++
		n := openNode(record)
		for at := n.entriesAt; n.next(&e, at); at = e.nextAt {
			if !e.deleted() && e.ID.Compare(id) >= 0 {
				place, ok = at, e.ID == id
				return false
			}
		}
		return true
	})
	return i, place, ok
}

// Trim says which entries to delete: all except the last MaxLen, or those before MinID.
type Trim struct {
	// ByID chooses MinID; otherwise MaxLen counts.
	ByID   bool
	MaxLen int64
	MinID  ID
	// Approximate deletes only whole nodes, and at most LimitMax entries (0 for any number).
	Approximate bool
	LimitMax    int64
}

// Trim deletes entries from the front and returns how many. It calls each for every node.
func (s *Stream) Trim(t Trim, each func()) int {
	deleted := int64(0)
	for s.nodes.len() > 0 {
		each()
		if !t.ByID && int64(s.length) <= t.MaxLen {
			break
		}
		n := openNode(s.nodes.at(0))
		if t.LimitMax > 0 && deleted+n.live > t.LimitMax {
			break
		}
		if t.takesAll(&n, int64(s.length)) {
			s.nodes.remove(0)
			s.length -= int(n.live)
			deleted += n.live
			continue
		}
		if !t.Approximate {
			deleted += s.trimNode(&n, t)
		}
		break
	}
	if deleted > 0 || s.length == 0 {
		s.State.First = s.firstEntryID()
	}
	return int(deleted)
}

// takesAll reports whether the first node, of a stream with length entries, is deleted as a whole.
func (t *Trim) takesAll(n *node, length int64) bool {
	if !t.ByID {
		return length-n.live >= t.MaxLen
	}
	var e Entry
	for at := n.entriesAt; n.next(&e, at); at = e.nextAt {
	}
	// For Redis it makes no difference whether the last entry was deleted.
	return e.ID.Compare(t.MinID) < 0
}

// trimNode deletes entries of the first node and returns how many.
func (s *Stream) trimNode(n *node, t Trim) (deleted int64) {
	s.nodes.change(0, func(record []byte) []byte {
		d := edited{record}
		var e Entry
		for at := n.entriesAt; n.next(&e, at); at = e.nextAt {
			if t.ByID && e.ID.Compare(t.MinID) >= 0 || !t.ByID && int64(s.length) <= t.MaxLen {
				break
			}
			if !e.deleted() {
				d.put(at, e.flags|flagDeleted)
				s.length--
				deleted++
			}
		}
		d.setCounts(n.live-deleted, n.deleted+deleted)
		return d.record
	})
	return deleted
}
