package hllcmd

// Error replies of the HyperLogLog commands.
const (
	ErrNotHLL     = "WRONGTYPE Key is not a valid HyperLogLog string value."
	ErrCorruptHLL = "INVALIDOBJ Corrupted HLL object detected"
	ErrHLLNoKey   = "ERR The specified key does not exist"
	ErrHLLDense   = "ERR HLL encoding is not sparse"
)
