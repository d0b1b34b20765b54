package software

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"lockstep/tests/kit/proc"
)

// nodeScripts is the folder testdata/node.
var nodeScripts = os.DirFS(filepath.Join("testdata", "node"))

// packages installs the npm packages, once, into a folder with the scripts.
var packages = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "lockstep-test-npm-")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, nodeScripts); err != nil {
		return dir, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// "npm ci" would fail, because the lock file does not have the optional packages for other
	// systems.
	install := exec.CommandContext(ctx, "npm", "install", "--no-save", "--omit=optional", "--silent", "--no-audit", "--no-fund", "--ignore-scripts")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

// node runs a script of testdata/node with the address and further arguments.
func node(t *testing.T, script, addr string, more ...string) {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			proc.Skip(t, tool+" is not installed")
		}
	}
	dir, err := packages()
	if err != nil {
		proc.Skip(t, fmt.Sprintf("npm install failed (no registry?): %v", err))
	}
	host, port := split(t, addr)
	run := exec.CommandContext(deadline(t), "node", append([]string{script, host, port}, more...)...)
	run.Dir = dir
	wantWell(t, run)
}
