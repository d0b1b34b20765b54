package fsm

// The longest entry of a log, and the bounds derived from it. Everything that bounds a request, an entry or a value
// by the log uses these.
const (
	// EntryBytesMax is the longest entry a log store takes. A record of raft-wal is at most 64 MiB, and the framing
	// around the data needs room too.
	EntryBytesMax = 60 << 20
	// TxnBytesMax is the longest command or transaction, including the lengths of its arguments. The rest of an entry
	// holds its header, the rules of the user, and the names of watched keys.
	TxnBytesMax = EntryBytesMax - 1<<20
	// ValueBytesMax is the longest argument that a write may have, and the default of proto-max-bulk-len. Longer
	// strings can be made by APPEND and SETRANGE.
	ValueBytesMax = TxnBytesMax
)
