package clusterctl

import (
	"os/exec"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// atTerminal runs a verb at a terminal and types an answer.
func atTerminal(t *testing.T, answer, addr string, args ...string) (said string, code int) {
	t.Helper()
	line := strings.Join(append([]string{proc.Clusterctl(t), "-a", addr}, args...), " ")
	cmd := exec.CommandContext(t.Context(), proc.Tool(t, "script"), "--quiet", "--return", "--flush", "--command", line, "/dev/null")
	cmd.Stdin = strings.NewReader(answer + "\n")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// At a terminal a destructive verb asks first, and does nothing unless the answer is yes.
func TestDestructiveVerbsAsk(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{})
	addr, last := c.Nodes[0].Addr(), c.Nodes[2]
	healthy(t, addr, 3, 0)
	for verb, question := range map[string]string{
		"remove n3":                    "Remove node n3? Its data folder will never be accepted again. [yes/no]",
		"replace n3 n2":                "Replace node n3? Its data folder will never be accepted again. [yes/no]",
		"leave":                        "Let the node at " + addr + " leave the cluster? [yes/no]",
		"bench --for 1s --kill-leader": "Kill the leader of shard 0 in the middle?",
		"scale --to 2 --prefix n":      "Remove n3, n2? Their data folders will never be accepted again. [yes/no]",
	} {
		for _, answer := range []string{"no", "", "maybe"} {
			// If there is no leader at that moment, the verb is refused before it asks.
			var out string
			var code int
			proc.Poll(patience, func() bool {
				out, code = atTerminal(t, answer, addr, strings.Fields(verb)...)
				return code != 4 || strings.Contains(out, question)
			})
			if code != 4 {
				t.Errorf("%s, answered %q: exit %d", verb, answer, code)
			}
			says(t, out, question, "nothing was done: the answer was not yes")
		}
	}
	healthy(t, addr, 3, 0)
	out, code := atTerminal(t, "yes", addr, "remove", last.Name)
	if code != 0 {
		t.Errorf("answered yes: exit %d", code)
	}
	says(t, out, "was removed")
	healthy(t, addr, 2, 0)
}

// At a terminal top redraws in place.
func TestTopStaysInPlace(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	out, code := atTerminal(t, "", n.Addr(), "top", "--count", "3", "--every", "100ms")
	if code != 0 || strings.Count(out, "\x1b[H") != 3 || strings.Count(out, "OPS/S") != 3 {
		t.Errorf("exit %d, %q", code, out)
	}
}
