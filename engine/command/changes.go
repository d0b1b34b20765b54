package command

// Changes are the names of the keys that a txn changed, in order, whatever
// their database. Client-side caches are told of them (package proto/tracking).
// The names are valid as long as the txn runs.
type Changes struct {
	// Keys may name a key several times; nil stands for every key there is.
	Keys [][]byte
}

// ChangedKey notes that a key was made, changed or removed. It is called where the
// keyspace is, so that no command can forget it.
func (l *Listeners) ChangedKey(key []byte) {
	if l.Changes == nil {
		return
	}
	if key == nil {
		key = emptyKey
	}
	l.Changes.Keys = append(l.Changes.Keys, key)
}

// emptyKey is the key of no bytes, which is a key like any other.
var emptyKey = []byte{}

// ChangedAll notes that any key may have changed: whole databases have another
// content, or a command failed in the middle.
func (l *Listeners) ChangedAll() {
	if l.Changes != nil {
		l.Changes.Keys = append(l.Changes.Keys, nil)
	}
}

// changesKept is how many names' room is worth keeping.
const changesKept = 64

// Reset forgets the names.
func (c *Changes) Reset() {
	if cap(c.Keys) > changesKept {
		c.Keys = nil
	}
	clear(c.Keys)
	c.Keys = c.Keys[:0]
}
