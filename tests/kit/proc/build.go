package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// built and builtCtl are the paths of the programs, made once per test binary.
var (
	built = sync.OnceValues(func() (string, error) {
		if path := os.Getenv("LOCKSTEP_BINARY"); path != "" {
			return filepath.Abs(path)
		}
		return build("lockstepd")
	})
	builtCtl = sync.OnceValues(func() (string, error) { return build("clusterctl") })
)

// OtherLockstepd builds a lockstepd that is linked with other values of string variables, for
// example "lockstep/engine/version.newest=2", to get a program of the past or of the future.
func OtherLockstepd(t testing.TB, values ...string) string {
	t.Helper()
	NeedProcesses(t)
	path, err := build("lockstepd", values...)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// build builds one of this module's programs. The values are for the linker.
func build(program string, values ...string) (string, error) {
	args := []string{"build", "-tags", "hashicorpmetrics"}
	name := program
	if os.Getenv("LOCKSTEP_RACE") != "" {
		args = append(args, "-race")
		name += "-race"
	}
	if len(values) > 0 {
		args = append(args, "-ldflags", "-X "+strings.Join(values, " -X "))
		name += "-" + strings.NewReplacer("/", "_", "=", "_").Replace(strings.Join(values, "-"))
	}
	module, shared, unlock, err := lockShared()
	if err != nil {
		return "", err
	}
	defer unlock()
	// The go command links again only if the existing file is from another source tree.
	latest := filepath.Join(shared, name)
	cmd := exec.Command("go", append(args, "-o", latest, "lockstep/cmd/"+program)...)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return keep(latest, program)
}

// lockShared returns the folder of this module, which test binaries of another module may use, and
// a folder for its programs. That folder is the same for all test binaries, so a program is linked
// only once. Only one process at a time may use it.
func lockShared() (module, dir string, unlock func(), err error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "lockstep").Output()
	if err != nil {
		return "", "", nil, fmt.Errorf("go list -m: %w", err)
	}
	module = strings.TrimSpace(string(out))
	dir = filepath.Join(os.TempDir(), "lockstep-test-programs"+strings.ReplaceAll(module, "/", "-"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", "", nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", "", nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return "", "", nil, err
	}
	return module, dir, func() { _ = f.Close() }, nil
}

// keep gives this test binary its own hard link to a program. If another binary builds from a
// changed tree, the go command writes a new file.
func keep(latest, program string) (string, error) {
	dir, err := os.MkdirTemp("", "lockstep-test-bin-")
	if err != nil {
		return "", err
	}
	binariesMu.Lock()
	binaryDirs = append(binaryDirs, dir)
	binariesMu.Unlock()
	path := filepath.Join(dir, program)
	return path, os.Link(latest, path)
}

// binaryDirs are the folders with the programs of this binary.
var (
	binariesMu sync.Mutex
	binaryDirs []string
)

// Main runs a package's tests and then removes the programs it built: call it
// from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	for _, dir := range binaryDirs {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// Clusterctl is the path of the operator's program.
func Clusterctl(t testing.TB) string {
	t.Helper()
	NeedProcesses(t)
	path, err := builtCtl()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Lockstepd is the path of the server under test.
func Lockstepd(t testing.TB) string {
	t.Helper()
	NeedProcesses(t)
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
