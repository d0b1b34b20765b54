package stream

// The lag of a group follows the rules of Redis 7.2.7. Versions before that counted some deleted
// entries as unread, or as read.

// hasDeletionsFrom reports whether an entry from an ID on was deleted by its ID, as far as the
// stream remembers.
func (s *Stream) hasDeletionsFrom(id ID) bool {
	return s.length > 0 && !s.State.MaxDeleted.IsZero() && id.Compare(s.State.MaxDeleted) <= 0
}

// EntriesUpTo is the number of entries that were ever added up to an ID, or EntriesReadUnknown if
// that is not known.
func (s *Stream) EntriesUpTo(id ID) int64 {
	st := &s.State
	added := int64(st.Added)
	fromLast := id.Compare(st.Last)
	switch {
	case added == 0:
		return 0
	case s.length == 0 && fromLast <= 0:
		return added
	case !id.IsZero() && id.Compare(st.MaxDeleted) < 0:
		return EntriesReadUnknown
	case fromLast == 0:
		return added
	case fromLast > 0:
		return EntriesReadUnknown
	}
	if st.MaxDeleted.IsZero() || st.MaxDeleted.Compare(st.First) < 0 {
		switch fromFirst := id.Compare(st.First); {
		case fromFirst < 0:
			return added - int64(s.length)
		case fromFirst == 0:
			return added - int64(s.length) + 1
		}
	}
	return EntriesReadUnknown
}

// Lag is the number of entries that were not delivered to a group yet. It returns false if that is
// not known.
func (s *Stream) Lag(g *Group) (n int64, ok bool) {
	st := &s.State
	added := int64(st.Added)
	switch {
	case added == 0 || s.length == 0:
		return 0, true
	case g.last.Compare(st.First) < 0 && st.MaxDeleted.Compare(st.First) < 0:
		return int64(s.length), true
	case g.entriesRead != EntriesReadUnknown && !s.hasDeletionsFrom(g.last):
		return added - g.entriesRead, true
	}
	read := s.EntriesUpTo(g.last)
	return added - read, read != EntriesReadUnknown
}

// Advance records that the entry with an ID is delivered to a group.
func (s *Stream) Advance(g *Group, id ID) {
	if id.Compare(g.last) <= 0 {
		return
	}
	if g.entriesRead != EntriesReadUnknown && g.last.Compare(s.State.First) >= 0 && !s.hasDeletionsFrom(g.last) {
		g.entriesRead++
	} else if s.State.Added > 0 {
		g.entriesRead = s.EntriesUpTo(id)
	}
	g.last = id
}
