package process

import "syscall"

// TotalMemory is the machine's memory in bytes, or 0 if unknown.
func TotalMemory() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
