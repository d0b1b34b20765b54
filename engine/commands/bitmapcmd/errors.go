package bitmapcmd

// Errors of the bitmap commands, in Redis's words.
const (
	ErrBitOffset     = "ERR bit offset is not an integer or out of range"
	ErrBitValue      = "ERR bit is not an integer or out of range"
	ErrBitArgument   = "ERR The bit argument must be 1 or 0."
	ErrBitNot        = "ERR BITOP NOT must be called with a single source key."
	ErrFieldType     = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
	ErrFieldOverflow = "ERR Invalid OVERFLOW type specified"
	ErrFieldReadOnly = "ERR BITFIELD_RO only supports the GET subcommand"
)
