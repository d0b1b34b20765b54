package software

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"lockstep/tests/kit/proc"
)

// A worker with its scheduler, which takes what is due by a script, and one who
// gives it work.
func sidekiq(t *testing.T, addr string) {
	if _, err := exec.LookPath("/usr/bin/sidekiq"); err != nil {
		proc.Skip(t, "Sidekiq is not installed: apt-get install ruby-sidekiq")
	}
	ruby := func(args ...string) *exec.Cmd {
		// Debian's Ruby, whose packages another one that may stand before it in PATH
		// does not see.
		cmd := exec.CommandContext(deadline(t), "/usr/bin/ruby", args...)
		cmd.Dir = filepath.Join("testdata", "ruby")
		cmd.Env = append(os.Environ(), "REDIS_SERVER=redis://"+addr+"/0")
		return cmd
	}
	background(t, ruby("/usr/bin/sidekiq", "-r", "./work.rb", "-q", "sums", "-q", "default", "-c", "4"))
	wantWell(t, ruby("use_sidekiq.rb"))
}
