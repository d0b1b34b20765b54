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

// frozenSizeBytes is the size of a disk that hangs: room for raft-wal's files of
// 64 MB, one for each of two groups. The image is sparse.
const frozenSizeBytes = 256 << 20

// freezable is an ext4 of its own under a node's data folder, which can be made to
// hang: whoever writes to it waits, and cannot be killed meanwhile.
type freezable struct {
	t    testing.TB
	path string
	// tool is fsfreeze(8).
	tool string
}

// mountFreezable mounts one where the node will put its data, until the test ends.
// Without the right to do so, or the tools, the test is skipped.
//
// A guard, a shell that outlives this process, waits for the end of its input, lets
// the disk go on and unmounts it: however the test ends, nothing stays that nobody
// can kill.
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
	// What is sent to this process and its group is not for the guard.
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

// freeze lets the disk hang from now on.
func (d *freezable) freeze() { d.run("--freeze") }

// thaw lets it go on.
func (d *freezable) thaw() { d.run("--unfreeze") }

func (d *freezable) run(what string) {
	d.t.Helper()
	if out, err := exec.Command(d.tool, what, d.path).CombinedOutput(); err != nil {
		d.t.Fatalf("fsfreeze %s: %v: %s", what, err, out)
	}
}
