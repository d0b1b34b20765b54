package podlife

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"lockstep/tests/proc"
)

// newRoot makes the root of a container: the image, and the folders that the pod
// mounts. The container's user can write to data, backup and tmp alone.
func newRoot(t testing.TB, user int, nameserver, image string) string {
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
	must(t, copyLinked(image, root))
	resolv := fmt.Sprintf("nameserver %s\nsearch db.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n", nameserver)
	must(t, os.WriteFile(filepath.Join(root, "etc/resolv.conf"), []byte(resolv), 0o644))
	return root
}

// newImage makes a folder of what is in the image: the programs where the
// Dockerfile puts them.
func newImage(t testing.TB) string {
	t.Helper()
	image, err := os.MkdirTemp("", "lockstep-test-image-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(image) })
	for name, path := range map[string]string{"lockstepd": proc.Lockstepd(t), "clusterctl": proc.Clusterctl(t)} {
		place(t, path, filepath.Join(image, "usr/bin", name))
		for _, library := range libraries(t, path) {
			place(t, library, filepath.Join(image, library))
		}
	}
	return image
}

// copyLinked makes a folder of the same files, not of copies of them.
func copyLinked(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		return os.Link(path, filepath.Join(to, name))
	})
}

// place copies a file of this machine into a root, unless it is there.
func place(t testing.TB, from, to string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if errors.Is(err, os.ErrExist) {
		return
	}
	must(t, err)
	defer out.Close()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	_, err = io.Copy(out, in)
	must(t, err)
}

// library matches a file in the output of ldd.
var library = regexp.MustCompile(`(?m)(/\S+) \(0x`)

// libraries are the files that a program is linked with as it runs: none in the
// image, where it is static; here it may be built for this machine.
func libraries(t testing.TB, program string) []string {
	t.Helper()
	f, err := elf.Open(program)
	must(t, err)
	defer f.Close()
	if linked, err := f.ImportedLibraries(); err == nil && len(linked) == 0 {
		return nil
	}
	out, err := exec.Command(proc.Tool(t, "ldd"), program).Output()
	must(t, err)
	var files []string
	for _, m := range library.FindAllStringSubmatch(string(out), -1) {
		files = append(files, m[1])
	}
	return files
}

// startIn starts a program in a network namespace. Its root, user and the rest
// are the command's.
func startIn(cmd *exec.Cmd, namespace string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(home)
	there, err := unix.Open("/run/netns/"+namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(there)
	if err := unix.Setns(there, unix.CLONE_NEWNET); err != nil {
		return err
	}
	started := cmd.Start()
	if err := unix.Setns(home, unix.CLONE_NEWNET); err != nil {
		// This thread must not run anything else; the test binary is lost.
		panic(fmt.Sprintf("no way back into the machine's network: %v", err))
	}
	return started
}

// contained is how a container's process is started.
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
