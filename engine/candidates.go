package engine

// Candidate is a key that eviction may choose.
type Candidate struct {
	DB  int
	Key string
	// Version is the key's version when it was looked at. For eviction, a key that has changed
	// since then is another one.
	Version    uint64
	ExpireAtMs int64
	// Use is the record of how the key was used; see Entry.Use.
	Use   uint32
	Bytes int
}

func candidate(db int, e *Entry) Candidate {
	return Candidate{DB: db, Key: e.Key(), Version: e.Version, ExpireAtMs: e.ExpireAtMs, Use: e.Use(), Bytes: e.MemoryBytes()}
}

// Weight is the approximate number of keys of a lock slot, or of those that have an expiry. It
// needs no lock.
func (k *Keyspace) Weight(slot int32, volatile bool) int64 {
	if volatile {
		return k.slots[slot].expires.size.Load()
	}
	return k.slots[slot].keys.Load()
}

// AllKeys is the number of keys of all databases, or of those that have an expiry. It needs no
// lock.
func (k *Keyspace) AllKeys(volatile bool) int64 {
	var sum int64
	for db := range Databases {
		if volatile {
			sum += k.counts.volatile[db].Load()
		} else {
			sum += k.counts.keys[db].Load()
		}
	}
	return sum
}

// Sample appends up to n random keys of a lock slot, or of those that have an expiry. A key may
// come twice. It needs a shared lock on the slot.
func (k *Keyspace) Sample(dst []Candidate, slot int32, volatile bool, n int, chance func(below int) int) []Candidate {
	s := &k.slots[slot]
	if volatile {
		return s.expires.sample(dst, n, chance)
	}
	total := 0
	for _, d := range s.dbs {
		if d != nil {
			total += d.count
		}
	}
	if total == 0 {
		return dst
	}
	for range n {
		rank := chance(total)
		for db, d := range s.dbs {
			if d == nil {
				continue
			}
			if rank < d.count {
				dst = append(dst, candidate(db, d.draw(rank, chance)))
				break
			}
			rank -= d.count
		}
	}
	return dst
}

// draw returns a random entry of the segment that contains the entry with a rank. So segments are
// drawn with a probability proportional to their size, and the entry within the segment by another
// draw.
func (d *dict) draw(rank int, chance func(below int) int) *Entry {
	for p := 0; p < len(d.dir); p = d.next(p) {
		if rank < d.dir[p].count {
			return d.dir[p].draw(chance)
		}
		rank -= d.dir[p].count
	}
	return nil
}

// draw returns a random entry. The table is usually at least a quarter full, so one of a few draws
// hits an entry. If none does, draw returns the next entry.
func (s *segment) draw(chance func(below int) int) *Entry {
	const drawsMax = 32
	at := 0
	for range drawsMax {
		at = chance(len(s.entries))
		if e := s.entries[at]; e != nil {
			return e
		}
	}
	for i := range s.entries {
		if e := s.entries[(at+i)%len(s.entries)]; e != nil {
			return e
		}
	}
	return nil
}

// sample draws random keys that have an expiry of their own. The index also contains hashes with
// fields that have one.
func (x *expiryIndex) sample(dst []Candidate, n int, chance func(below int) int) []Candidate {
	const drawsPerKey = 4
	total := int(x.size.Load())
	if total == 0 {
		return dst
	}
	for draws := n * drawsPerKey; n > 0 && draws > 0; draws-- {
		if it := x.at(chance(total)); it.e.ExpireAtMs != 0 {
			dst = append(dst, candidate(it.db, it.e))
			n--
		}
	}
	return dst
}

// at returns the entry with a rank, database by database.
func (x *expiryIndex) at(rank int) indexed {
	for db, tree := range &x.trees {
		if tree == nil {
			continue
		}
		if it, ok := tree.GetAt(rank); ok {
			return indexed{it, db}
		}
		rank -= tree.Len()
	}
	panic("engine: a rank beyond the index of expiries")
}

// nearestLooksMax bounds how many entries AppendNearest looks at, in each database.
const nearestLooksMax = 4096

// AppendNearest appends up to limit keys of a lock slot whose expiry is not later than untilMs,
// nearest first, except for hashes whose fields expire. It needs a shared lock on the slot.
func (k *Keyspace) AppendNearest(dst []Candidate, slot int32, untilMs int64, limit int) []Candidate {
	suits := func(e *Entry) bool { return e.ExpireAtMs != 0 && e.ExpireAtMs <= untilMs }
	for _, it := range k.slots[slot].expires.nearest(untilMs, limit, nearestLooksMax, suits) {
		dst = append(dst, candidate(it.db, it.e))
	}
	return dst
}
