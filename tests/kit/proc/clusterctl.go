package proc

import (
	"os/exec"
	"testing"
)

// Ctl runs clusterctl against the node at addr and returns its standard output and standard error,
// together, and its exit code.
func Ctl(t testing.TB, addr string, args ...string) (said string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Clusterctl(t), append([]string{"-a", addr}, args...)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
