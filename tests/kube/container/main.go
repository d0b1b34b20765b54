// Command container starts a container's program. It runs in new namespaces: it mounts there what
// the program may see, and then replaces itself by the program. Its first argument is a box.Box in
// JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"lockstep/tests/kube/kubelet/box"
)

func main() {
	// Settings of one thread must be those of the thread that becomes the program.
	runtime.LockOSThread()
	if err := become(); err != nil {
		fmt.Fprintln(os.Stderr, "container:", err)
		os.Exit(127)
	}
}

func become() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("%d arguments", len(os.Args)-1)
	}
	var b box.Box
	if err := json.Unmarshal([]byte(os.Args[1]), &b); err != nil {
		return err
	}
	if err := furnish(&b); err != nil {
		return err
	}
	if err := confine(&b); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", b.Argv[0], syscall.Exec(b.Argv[0], b.Argv, b.Env))
}

// furnish mounts the contents of the box and enters it. The mounts are in this process's namespace,
// so they go when it ends.
func furnish(b *box.Box) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("a mount namespace of its own: %w", err)
	}
	mounts := append([]box.Mount{{Source: b.Root, Target: ""}}, b.Mounts...)
	for _, device := range []string{"/dev/null", "/dev/zero", "/dev/urandom"} {
		mounts = append(mounts, box.Mount{Source: device, Target: device})
	}
	for _, m := range mounts {
		target := filepath.Join(b.Root, m.Target)
		if err := unix.Mount(m.Source, target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s at %s: %w", m.Source, m.Target, err)
		}
		if m.ReadOnly {
			if err := unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
				return fmt.Errorf("%s for reading alone: %w", m.Target, err)
			}
		}
	}
	if err := unix.Mount("proc", filepath.Join(b.Root, "proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	if b.ReadOnlyRoot {
		if err := unix.Mount("", b.Root, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("the root for reading alone: %w", err)
		}
	}
	if err := unix.Sethostname([]byte(b.Hostname)); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	if err := unix.Chroot(b.Root); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	return unix.Chdir("/")
}

// confine switches to the container's user. The process cannot switch back.
func confine(b *box.Box) error {
	if err := syscall.Setgroups(b.Groups); err != nil {
		return fmt.Errorf("groups: %w", err)
	}
	if err := syscall.Setgid(b.Group); err != nil {
		return fmt.Errorf("group: %w", err)
	}
	if err := syscall.Setuid(b.User); err != nil {
		return fmt.Errorf("user: %w", err)
	}
	if b.NoNewPrivileges {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("no new privileges: %w", err)
		}
	}
	// The change of the user has cleared the signal that ends this process with its parent.
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0)
}
