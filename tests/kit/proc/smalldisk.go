package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// SmallDisk is a small disk under a node's data folder that a test can fill.
type SmallDisk struct {
	t    testing.TB
	path string
}

// MountSmall mounts a disk of this size at the node's data folder, until the test ends. It returns
// nil if the process lacks the rights.
func MountSmall(t testing.TB, n *Node, sizeBytes int64) *SmallDisk {
	t.Helper()
	d := &SmallDisk{t, n.DataDir()}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("lockstep-test", d.path, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", sizeBytes))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.Kill9()
		if err := syscall.Unmount(d.path, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *SmallDisk) freeBytes() int64 {
	d.t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.path, &s); err != nil {
		d.t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}

func (d *SmallDisk) ballast() string { return filepath.Join(d.path, "ballast") }

// Fill writes a file that leaves only leaveBytes of the disk free.
func (d *SmallDisk) Fill(leaveBytes int64) {
	d.t.Helper()
	size := d.freeBytes() - leaveBytes
	if size <= 0 {
		return
	}
	// The node may write at the same time, so the disk may already be full.
	if err := os.WriteFile(d.ballast(), make([]byte, size), 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
}

// Empty removes the file.
func (d *SmallDisk) Empty() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.t.Fatal(err)
	}
}
