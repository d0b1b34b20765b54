package command

// Changes are the names of the keys that a txn changed, in order, in any database. Client-side
// caches are invalidated by them (package proto/tracking). The names are valid as long as the txn
// runs.
type Changes struct {
	// Keys may name a key several times. nil stands for all keys.
	Keys [][]byte
}

// ChangedKey records that a key was made, changed or removed. The methods that change the keyspace
// call it, so that no command can forget it.
func (l *Listeners) ChangedKey(key []byte) {
	if l.Changes == nil {
		return
	}
	if key == nil {
		key = emptyKey
	}
	l.Changes.Keys = append(l.Changes.Keys, key)
}

// emptyKey is the key of zero bytes, which is a valid key.
var emptyKey = []byte{}

// ChangedAll records that any key may have changed: whole databases have new content, or a command
// failed halfway.
func (l *Listeners) ChangedAll() {
	if l.Changes != nil {
		l.Changes.Keys = append(l.Changes.Keys, nil)
	}
}

// changesKept is the number of names for which memory is kept.
const changesKept = 64

// Reset forgets the names.
func (c *Changes) Reset() {
	if cap(c.Keys) > changesKept {
		c.Keys = nil
	}
	clear(c.Keys)
	c.Keys = c.Keys[:0]
}
