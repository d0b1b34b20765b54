package raftio

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData syncs the data of a file, and of its metadata only what is needed to read the
// data.
func syncData(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for {
			if failed = unix.Fdatasync(int(fd)); failed != unix.EINTR {
				return
			}
		}
	})
	if err == nil && failed != nil {
		err = os.NewSyscallError("fdatasync", failed)
	}
	return err
}
