package engine

import "sync/atomic"

// Counts count the keys of one database, including those that are due but not deleted yet.
type Counts struct {
	Keys int64
	// Volatile is the number of keys that have an expiry, and MeanExpirySec the mean of these
	// expiries in Unix time, or 0 if there is none.
	Volatile, MeanExpirySec int64
	// Perishing is the number of keys of which a part has an expiry.
	Perishing int64
}

// counts count the keys and the memory of each database. They can be read without a lock.
type counts struct {
	keys     [Databases]atomic.Int64
	volatile [Databases]atomic.Int64
	// expirySec is the sum of the expiries, in seconds, and perishing the number of keys of which a
	// part has an expiry.
	expirySec [Databases]atomic.Int64
	perishing [Databases]atomic.Int64
	memory    [Databases]atomic.Int64
}

func (c *counts) of(db int) Counts {
	n := Counts{Keys: c.keys[db].Load(), Volatile: c.volatile[db].Load(), Perishing: c.perishing[db].Load()}
	if n.Volatile > 0 {
		n.MeanExpirySec = c.expirySec[db].Load() / n.Volatile
	}
	return n
}

// add counts an entry, except in keys.
func (c *counts) add(db int, e *Entry) {
	if e.ExpireAtMs != 0 {
		c.volatile[db].Add(1)
		c.expirySec[db].Add(e.ExpireAtMs / 1000)
	}
	c.resize(db, e, 1)
}

// remove undoes add.
func (c *counts) remove(db int, e *Entry) {
	if e.ExpireAtMs != 0 {
		c.volatile[db].Add(-1)
		c.expirySec[db].Add(-(e.ExpireAtMs / 1000))
	}
	c.resize(db, e, -1)
}

// resize adds what a change of the entry's value may alter (by 1), or subtracts it (by -1).
func (c *counts) resize(db int, e *Entry, by int64) {
	c.memory[db].Add(by * int64(e.MemoryBytes()))
	if p := e.perishable(); p != nil && p.FirstExpiryMs() != 0 {
		c.perishing[db].Add(by)
	}
}

// setExpiry changes the expiry of an entry that counts.
func (c *counts) setExpiry(db int, e *Entry, atMs int64) {
	switch was := e.ExpireAtMs != 0; {
	case was && atMs == 0:
		c.volatile[db].Add(-1)
	case !was && atMs != 0:
		c.volatile[db].Add(1)
	}
	c.expirySec[db].Add(atMs/1000 - e.ExpireAtMs/1000)
	e.ExpireAtMs = atMs
}

// all are the counts of each kind.
func (c *counts) all() [5]*[Databases]atomic.Int64 {
	return [5]*[Databases]atomic.Int64{&c.keys, &c.volatile, &c.expirySec, &c.perishing, &c.memory}
}

// drop forgets all keys of a database.
func (c *counts) drop(db int) {
	for _, n := range c.all() {
		n[db].Store(0)
	}
}

// swap exchanges two databases.
func (c *counts) swap(a, b int) {
	for _, n := range c.all() {
		n[a].Store(n[b].Swap(n[a].Load()))
	}
}
