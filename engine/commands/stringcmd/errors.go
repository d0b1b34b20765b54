package stringcmd

// Error replies of commands on strings.
const (
	ErrLCSType      = "ERR The specified keys must contain string values"
	ErrLCSOptions   = "ERR If you want both the length and indexes, please just use IDX."
	ErrLCSMemory    = "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"
	ErrDecrOverflow = "ERR decrement would overflow"
	ErrOffsetRange  = "ERR offset is out of range"
)
