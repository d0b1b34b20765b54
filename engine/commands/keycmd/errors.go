package keycmd

// Error replies of commands on keys and databases.
const (
	ErrNoLFU      = "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."
	ErrLFU        = "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust."
	ErrFirstDB    = "ERR invalid first DB index"
	ErrSecondDB   = "ERR invalid second DB index"
	ErrKeyCount   = "ERR Invalid number of keys"
	ErrIdleTime   = "ERR Invalid IDLETIME value, must be >= 0"
	ErrFreq       = "ERR Invalid FREQ value, must be >= 0 and <= 255"
	ErrRestoreTTL = "ERR Invalid TTL value, must be >= 0"
	ErrSameObject = "ERR source and destination objects are the same"
)
