// Package rdb reads and writes Redis's RDB format: the one form in which values
// leave memory. Raft snapshots, DUMP and RESTORE, backups and imports all use
// it, so a snapshot opens in redis-server and a dump of Redis opens here. What
// Redis has no word for travels in auxiliary fields, which it ignores.
//
// The format is that of Redis 7.0 (version 10), which everything later reads
// too; files and payloads of versions up to 12 are taken as long as they hold
// only what is known here.
//
// Invariants: nothing here does I/O beyond the io.Reader or io.Writer it was
// given; no room is made for what is merely announced; an error names what was
// wrong, and no input makes the package panic.
package rdb

// Versions of the format.
const (
	// Version is what is written, in files and payloads.
	Version = 10
	// VersionMax is the newest that is read.
	VersionMax = 12
)

// TypeString is the type of a string's value.
const TypeString = 0
