package podlife

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"lockstep/tests/kit/image"
)

// newRoot makes the root of a container: the image, and the folders that the pod mounts. The
// container's user can write only to data, backup and tmp.
func newRoot(t testing.TB, user int, nameserver, from string) string {
	t.Helper()
	root, err := os.MkdirTemp("", "lockstep-test-pod-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(root)
		}
	})
	must(t, os.Chmod(root, 0o755))
	for _, dir := range []string{"usr/bin", "etc/lockstep/tls", "data", "backup", "tmp"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for _, dir := range []string{"data", "backup", "tmp"} {
		must(t, os.Chown(filepath.Join(root, dir), user, user))
	}
	must(t, image.CopyLinked(from, root))
	resolv := fmt.Sprintf("nameserver %s\nsearch db.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n", nameserver)
	must(t, os.WriteFile(filepath.Join(root, "etc/resolv.conf"), []byte(resolv), 0o644))
	return root
}

// contained returns how a container's process is started.
func contained(root string, user int) *syscall.SysProcAttr {
	id := uint32(user)
	return &syscall.SysProcAttr{
		Chroot: root, Credential: &syscall.Credential{Uid: id, Gid: id},
		Setpgid: true, Pdeathsig: syscall.SIGKILL,
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
