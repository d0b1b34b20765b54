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

// Types of values. Those named after a compact form hold one blob of it; types of
// versions past are read and not written.
const (
	TypeString             = 0
	TypeList               = 1
	TypeSet                = 2
	TypeZSetText           = 3 // scores as texts; read only
	TypeHash               = 4
	TypeZSet               = 5 // scores as eight bytes
	TypeHashZipmap         = 9
	TypeListZiplist        = 10
	TypeSetIntset          = 11
	TypeZSetZiplist        = 12
	TypeHashZiplist        = 13
	TypeListQuicklist      = 14 // of ziplists; read only
	TypeStreamListpacks    = 15
	TypeHashListpack       = 16
	TypeZSetListpack       = 17
	TypeListQuicklist2     = 18 // of listpacks and plain texts
	TypeStreamListpacks2   = 19
	TypeSetListpack        = 20 // Redis 7.2
	TypeStreamListpacks3   = 21 // Redis 7.2
	TypeHashMetadata       = 24 // Redis 7.4: fields that expire
	TypeHashListpackExpiry = 25 // Redis 7.4
)
