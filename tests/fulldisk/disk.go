package fulldisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lockstep/tests/proc"
)

// disk is a small disk of its own under a node's data folder.
type disk struct {
	t    testing.TB
	path string
}

// mountUnder mounts a disk of so many bytes where the node will put its data,
// until the test ends. Without the right to do so the test is skipped.
func mountUnder(t testing.TB, n *proc.Node, sizeBytes int64) *disk {
	t.Helper()
	d := &disk{t, n.DataDir()}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		t.Fatal(err)
	}
	err := syscall.Mount("lockstep-test", d.path, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", sizeBytes))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		proc.Skip(t, "no right to mount a small disk")
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

func (d *disk) freeBytes() int64 {
	d.t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.path, &s); err != nil {
		d.t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}

func (d *disk) ballast() string { return filepath.Join(d.path, "ballast") }

// fill puts a file on the disk that leaves so many bytes free.
func (d *disk) fill(leaveBytes int64) {
	d.t.Helper()
	size := d.freeBytes() - leaveBytes
	if size <= 0 {
		return
	}
	if err := os.WriteFile(d.ballast(), make([]byte, size), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// empty removes the file again.
func (d *disk) empty() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Fatal(err)
	}
}
