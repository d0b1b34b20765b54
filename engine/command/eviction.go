package command

import (
	"slices"

	"lockstep/engine"
)

// Policy is maxmemory-policy: it says which keys are deleted when memory is full.
type Policy int64

// The policies of Redis. The numbers are part of logs and snapshots.
const (
	PolicyNone Policy = iota
	PolicyAllKeysLRU
	PolicyAllKeysLFU
	PolicyAllKeysRandom
	PolicyVolatileLRU
	PolicyVolatileLFU
	PolicyVolatileRandom
	PolicyVolatileTTL
)

// policyNames are the names in redis.conf, by number.
var policyNames = []string{
	"noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random",
	"volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
}

// PolicyNamed is the policy of a name in redis.conf, or PolicyNone if there is no such name.
func PolicyNamed(name string) Policy { return Policy(max(slices.Index(policyNames, name), 0)) }

// String is the policy's name in redis.conf.
func (p Policy) String() string { return policyNames[p] }

// LFU reports whether the policy counts uses, instead of recording the last one.
func (p Policy) LFU() bool { return p == PolicyAllKeysLFU || p == PolicyVolatileLFU }

// Volatile reports whether the policy deletes only keys with an expiry.
func (p Policy) Volatile() bool { return p >= PolicyVolatileLRU }

// Policy is the policy in force.
func (s *Settings) Policy() Policy { return Policy(s.EvictionPolicy) }

// LFU returns how uses are counted under an LFU policy.
func (s *Settings) LFU() engine.LFU {
	return engine.LFU{LogFactor: s.LFULogFactor, DecayMin: s.LFUDecayMin}
}

// Minute is the clock of uses in an LFU record.
func (u *Uses) Minute() uint16 { return engine.UseMinute(u.UseTick) }

// Touch records that a command uses a key, unless the client does not want that.
func (c *Ctx) Touch(e *engine.Entry) {
	if c.UseTick == 0 || c.NoTouch {
		return
	}
	if !c.Settings.Policy().LFU() {
		e.Touch(c.UseTick)
		return
	}
	c.touches++
	c.touched = e
	chance := Chance{c.Seed + c.touches<<32}
	e.TouchLFU(c.Minute(), chance.Next(), c.Settings.LFU())
}

// touchStored records that a key got a value. Under an LFU policy a command that has looked the key
// up has counted the use already.
func (c *Ctx) touchStored(e *engine.Entry) {
	switch {
	case c.UseTick == 0:
	case !c.Settings.Policy().LFU():
		e.Touch(c.UseTick)
	case e.Use() == 0:
		e.TouchLFU(c.Minute(), 0, c.Settings.LFU())
	case c.touched == nil || c.touched.Key() != e.Key():
		c.Touch(e)
	}
}
