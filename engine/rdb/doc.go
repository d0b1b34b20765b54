// Package rdb reads and writes Redis's RDB format, the only form in which values leave memory. Raft
// snapshots, DUMP and RESTORE, backups and imports all use it. So redis-server opens a snapshot of
// Lockstep, and Lockstep opens a dump of Redis. Data for which Redis has no form is in auxiliary
// fields, which Redis ignores.
//
// The format is that of Redis 7.0 (version 10), which all later versions read. Files and payloads
// of versions up to 12 are accepted if they contain only known types.
//
// Invariants: the package does I/O only through the io.Reader or io.Writer that it was given. It
// allocates no memory for a length that is only claimed. An error says what was wrong, and no input
// makes the package panic.
package rdb

// Versions of the format.
const (
	// Version is the version that is written, in files and payloads.
	Version = 10
	// VersionMax is the newest version that is read.
	VersionMax = 12
)

// Types of values. Types with the name of a compact form hold one blob of that form. Types of older
// versions are read and not written.
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
