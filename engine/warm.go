package engine

// Lookup is a key that is about to be looked up, for Warm.
type Lookup struct {
	Slot int32
	DB   int
	Key  []byte

	hash    uint32
	at      int32
	dict    *dict
	segment *segment
	entry   *Entry
}

// Warm loads the memory that Find of each key will read into the processor's cache. A lookup is a
// chain of loads, each of which waits for the one before it. Here all keys take their first step,
// then all take their second, so that the processor waits for many loads at once. Warm changes
// nothing. The caller holds the slots of all keys. For a single key it has no benefit.
func (k *Keyspace) Warm(keys []Lookup) {
	for i := range keys {
		keys[i].hash = k.hasher.hash(keys[i].Key)
	}
	for i := range keys {
		l := &keys[i]
		l.dict = k.slots[l.Slot].dbs[l.DB]
	}
	for i := range keys {
		if l := &keys[i]; l.dict != nil && l.dict.count > 0 {
			l.segment = l.dict.dir[l.dict.place(l.hash)]
		}
	}
	for i := range keys {
		if l := &keys[i]; l.segment != nil {
			l.at = int32(l.segment.home(l.hash))
		}
	}
	for i := range keys {
		if l := &keys[i]; l.segment != nil {
			l.entry = l.segment.first(int(l.at), l.hash)
		}
	}
	for i := range keys {
		if e := keys[i].entry; e != nil {
			// Any use of the loaded memory will do, as long as the compiler keeps it.
			keys[i].at = int32(e.keyLen)
		}
	}
}

// first is the first entry with this hash, or nil if there is none. home is the hash's home.
func (s *segment) first(home int, hash uint32) *Entry {
	for i, h := range s.hashes[home:] {
		if h == hash {
			return s.entries[home+i]
		}
		if h > hash || h == 0 {
			break
		}
	}
	return nil
}
