package fulldisk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockstep/tests/kit/proc"
)

// frozenSizeBytes is the size of a disk that hangs. It has room for raft-wal's files of 64 MB, one
// for each of two groups. The image is sparse.
const frozenSizeBytes = 256 << 20

// freezable is an ext4 file system of its own under a node's data folder. It can be made to hang: a
// process that writes to it then waits, and cannot be killed meanwhile.
type freezable struct {
	t    testing.TB
	path string
	// tool is the path of fsfreeze(8).
	tool string
}

// mountFreezable mounts such a file system as the node's data folder until the test ends. It skips
// the test without the right to do so, or without the tools.
//
// A guard, which is a shell that outlives this process, waits for the end of its input. Then it
// unfreezes and unmounts the disk. So no process that cannot be killed remains, however the test
// ends.
func mountFreezable(t testing.TB, n *proc.Node) *freezable {
	t.Helper()
	if os.Geteuid() != 0 {
		proc.Skip(t, "only root may mount a disk that hangs")
	}
	d := &freezable{t: t, path: n.DataDir(), tool: proc.Tool(t, "fsfreeze")}
	mkfs, mount, umount := proc.Tool(t, "mkfs.ext4"), proc.Tool(t, "mount"), proc.Tool(t, "umount")
	image := filepath.Join(t.TempDir(), "image")
	err := os.WriteFile(image, nil, 0o600)
	if err == nil {
		err = os.Truncate(image, frozenSizeBytes)
	}
	if err == nil {
		err = os.Mkdir(d.path, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(mkfs, "-q", "-F", image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v: %s", err, out)
	}
	guard := exec.Command("/bin/sh", "-c", fmt.Sprintf(`read -r _; %s --unfreeze "$0"; %s --lazy "$0"`, d.tool, umount), d.path)
	// Signals to this process and its group must not reach the guard.
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := guard.StdinPipe()
	if err == nil {
		err = guard.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = input.Close(); _ = guard.Wait(); n.Kill9() })
	if out, err := exec.Command(mount, "-o", "loop", image, d.path).CombinedOutput(); err != nil {
		proc.Skip(t, "a loop device cannot be mounted here: "+strings.TrimSpace(string(out)))
	}
	return d
}

// freeze makes the disk hang.
func (d *freezable) freeze() { d.run("--freeze") }

// thaw makes it work again.
func (d *freezable) thaw() { d.run("--unfreeze") }

func (d *freezable) run(what string) {
	d.t.Helper()
	if out, err := exec.Command(d.tool, what, d.path).CombinedOutput(); err != nil {
		d.t.Fatalf("fsfreeze %s: %v: %s", what, err, out)
	}
}
