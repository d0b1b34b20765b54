package packages

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/proc"
)

// page is the first page that a new user reads.
const page = "../../docs/getting-started.md"

// commandsOf returns the commands in a section of the page.
func commandsOf(t *testing.T, title string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+title+"\n")
	if !found {
		t.Fatalf("%s has no section %q", page, title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var lines strings.Builder
	for line := range strings.Lines(section) {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			lines.WriteString(command)
		}
	}
	return lines.String()
}

// elsewhere returns the commands with other ports instead of 7000 and the following ones.
func elsewhere(commands string, base int) string {
	return regexp.MustCompile(`\b1?70([0-9]{2}\b|0\$i)`).ReplaceAllStringFunc(commands, func(text string) string {
		text, counted := strings.CutSuffix(text, "$i")
		if counted {
			text += "0"
		}
		n, _ := strconv.Atoi(text)
		if n = n - 7000 + base; counted {
			return fmt.Sprintf("$((%d+i))", n)
		}
		return strconv.Itoa(n)
	})
}

// TestThePageForBeginnersIsTrue: the commands of the page, run one after the other, do what the
// page says.
func TestThePageForBeginnersIsTrue(t *testing.T) {
	proc.NeedProcesses(t)
	proc.Tool(t, "redis-cli")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{proc.Lockstepd(t), proc.Clusterctl(t)} {
		if err := os.Symlink(program, filepath.Join(dir, "bin", filepath.Base(program))); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	script := elsewhere(commandsOf(t, "Three nodes on this machine"), ports.Row(t, 11)) + "\nkill $(jobs -p); wait\n"
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = dir
	// The nodes end with the script, also if the script is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	rest := string(out)
	for _, want := range []string{
		": healthy, 3 nodes", "OK\n", "hello\n", "OK\n", "node n1 does not answer", "written to monday: 1 keys", ": healthy, 1 node", "all was loaded and compared", "still here\n",
	} {
		_, behind, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%v; it does not say %q, or not where the page says so: %.3000s", err, want, out)
		}
		rest = behind
	}
}
