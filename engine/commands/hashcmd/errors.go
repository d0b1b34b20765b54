package hashcmd

// Error replies of the commands on hashes.
const (
	ErrHashNotInteger  = "ERR hash value is not an integer"
	ErrHashNotFloat    = "ERR hash value is not a float"
	ErrIncrementNaN    = "ERR value is NaN or Infinity"
	ErrFieldsMissing   = "ERR Mandatory argument FIELDS is missing or not at the right position"
	ErrFieldsMismatch  = "ERR The `numfields` parameter must match the number of arguments"
	ErrNumFieldsZero   = "ERR Parameter `numFields` should be greater than 0"
	ErrNumFields       = "ERR Number of fields must be a positive integer"
	ErrNumFieldsSetEx  = "ERR invalid number of fields"
	ErrFieldExpireSign = "ERR invalid expire time, must be >= 0"
	ErrFieldExpireNone = "ERR missing expire time"
	ErrFieldCondition  = "ERR Only one of FXX or FNX arguments can be specified"
	ErrFieldExpireMany = "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"
)
