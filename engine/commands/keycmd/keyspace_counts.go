package keycmd

import (
	"bytes"

	"lockstep/engine"
	"lockstep/engine/command"
)

// KeyCounts are a database's keys in one shard, or in several together.
type KeyCounts struct {
	// Keys counts all keys, Volatile those that expire, and Perishing the hashes with fields that
	// expire.
	Keys, Volatile, Perishing int64
	// ExpirySec is the sum of the volatile keys' expiries by the time of day, in Unix seconds.
	ExpirySec int64
}

// CountKeys takes the counts of a database from the keyspace's counters. dayOffsetMs is
// Ctx.DayOffsetMs.
func CountKeys(ks *engine.Keyspace, db int, dayOffsetMs int64) KeyCounts {
	n := ks.Counts(db)
	return KeyCounts{
		Keys: n.Keys, Volatile: n.Volatile, Perishing: n.Perishing, ExpirySec: (n.MeanExpirySec + dayOffsetMs/1000) * n.Volatile,
	}
}

// Add adds another shard's counts.
func (c *KeyCounts) Add(o KeyCounts) {
	c.Keys += o.Keys
	c.Volatile += o.Volatile
	c.Perishing += o.Perishing
	c.ExpirySec += o.ExpirySec
}

// MeanTTLMs is the mean time to live of the volatile keys, in milliseconds.
func (c *KeyCounts) MeanTTLMs(nowSec int64) int64 {
	return 1000 * max(c.ExpirySec-nowSec*c.Volatile, 0) / max(c.Volatile, 1)
}

// keyCountFields is the number of integers for one database.
const keyCountFields = 4

// runKeyCounts answers the counts of all databases as one row of integers. ParseKeyCounts reads
// them.
func runKeyCounts(c *command.Ctx, _ [][]byte) {
	c.Out.Array(keyCountFields * engine.Databases)
	for db := range engine.Databases {
		k := CountKeys(c.KS, db, c.DayOffsetMs)
		for _, n := range [keyCountFields]int64{k.Keys, k.Volatile, k.Perishing, k.ExpirySec} {
			c.Out.Int(n)
		}
	}
}

// ParseKeyCounts reads the reply of lockstep.keycounts. It returns false if the reply is not valid.
func ParseKeyCounts(reply []byte) (counts [engine.Databases]KeyCounts, ok bool) {
	fields := bytes.Split(bytes.TrimSuffix(reply, []byte("\r\n")), []byte("\r\n"))
	if len(fields) != 1+keyCountFields*engine.Databases || len(fields[0]) == 0 || fields[0][0] != '*' {
		return counts, false
	}
	for db := range counts {
		c := &counts[db]
		for i, into := range [keyCountFields]*int64{&c.Keys, &c.Volatile, &c.Perishing, &c.ExpirySec} {
			text := fields[1+keyCountFields*db+i]
			if len(text) < 2 || text[0] != ':' {
				return counts, false
			}
			if *into, ok = command.ParseInt(text[1:]); !ok {
				return counts, false
			}
		}
	}
	return counts, true
}
