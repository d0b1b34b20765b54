package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// built is the path of lockstepd, made once per test binary.
var built = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("LOCKSTEP_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	dir, err := os.MkdirTemp("", "lockstep-test-bin-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "lockstepd")
	args := []string{"build", "-tags", "hashicorpmetrics", "-o", path}
	if os.Getenv("LOCKSTEP_RACE") != "" {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, "lockstep/cmd/lockstepd")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("build lockstepd: %w\n%s", err, out)
	}
	binaryDir = dir
	return path, nil
})

// binaryDir is the folder of a lockstepd that was built here.
var binaryDir string

// Main runs a package's tests and then removes the binary it built: call it
// from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if binaryDir != "" {
		_ = os.RemoveAll(binaryDir)
	}
	os.Exit(code)
}

// Lockstepd is the path of the server under test.
func Lockstepd(t testing.TB) string {
	t.Helper()
	NeedProcesses(t)
	path, err := built()
	if err != nil {
		if strings.Contains(err.Error(), "no Go files") || strings.Contains(err.Error(), "no required module provides") {
			Skip(t, "there is no lockstepd")
		}
		t.Fatal(err)
	}
	return path
}
