//go:build !linux

package process

// TotalMemory is the machine's memory in bytes, or 0 if unknown.
func TotalMemory() int64 { return 0 }
