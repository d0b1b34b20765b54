package software

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// python returns a command of a Python that has the modules. It tries Debian's Python first,
// because another Python earlier in PATH does not see Debian's packages.
func python(t *testing.T, modules []string, args ...string) *exec.Cmd {
	t.Helper()
	for _, path := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(deadline(t), path, "-c", "import "+strings.Join(modules, ", ")).Run() != nil {
			continue
		}
		cmd := exec.CommandContext(deadline(t), path, args...)
		cmd.Dir = filepath.Join("testdata", "python")
		cmd.Env = append(os.Environ(), "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
		return cmd
	}
	proc.Skip(t, "no Python has "+strings.Join(modules, " and ")+": apt-get install python3-redis python3-rq python3-celery")
	return nil
}
