package software

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"lockstep/tests/kit/proc"
)

// sidekiq runs a worker and a client that sends it jobs. The worker's scheduler takes due jobs by a
// script.
func sidekiq(t *testing.T, addr string) {
	if _, err := exec.LookPath("/usr/bin/sidekiq"); err != nil {
		proc.Skip(t, "Sidekiq is not installed: apt-get install ruby-sidekiq")
	}
	ruby := func(args ...string) *exec.Cmd {
		// This is Debian's Ruby. Another Ruby earlier in PATH does not see Debian's packages.
		cmd := exec.CommandContext(deadline(t), "/usr/bin/ruby", args...)
		cmd.Dir = filepath.Join("testdata", "ruby")
		cmd.Env = append(os.Environ(), "REDIS_SERVER=redis://"+addr+"/0")
		return cmd
	}
	background(t, ruby("/usr/bin/sidekiq", "-r", "./work.rb", "-q", "sums", "-q", "default", "-c", "4"))
	wantWell(t, ruby("use_sidekiq.rb"))
}
