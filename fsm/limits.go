package fsm

// The longest entry of a log, and what follows from it. Everything that bounds a request, an entry or a value by
// the log reads these.
const (
	// EntryBytesMax is the longest entry a log store takes. A record of raft-wal ends at 64 MiB, and what stands
	// around the data needs room too.
	EntryBytesMax = 60 << 20
	// TxnBytesMax is the longest command or transaction, with the lengths of its arguments. What is left of an
	// entry holds its head, the rules of the user, and the names of watched keys.
	TxnBytesMax = EntryBytesMax - 1<<20
	// ValueBytesMax is the longest argument that a write may have, and the default of proto-max-bulk-len. Longer
	// strings are made by APPEND and SETRANGE.
	ValueBytesMax = TxnBytesMax
)
