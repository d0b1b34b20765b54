package sight

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// TestProbesOfANodeThatStarts: a node that waits until a cluster admits it is alive, but has not
// started.
func TestProbesOfANodeThatStarts(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	lone := proc.NewCluster(t, 1, proc.Options{})
	lone.Nodes[0].Pause()
	n := join(t, lone)
	n.await(t, "/livez", http.StatusOK)
	n.expect(t, "/startupz", http.StatusServiceUnavailable)
	n.expect(t, "/readyz", http.StatusServiceUnavailable)
	n.expect(t, "/readyz?stale", http.StatusServiceUnavailable)
	n.expect(t, "/metrics", http.StatusServiceUnavailable)
	lone.Nodes[0].Continue()
	n.await(t, "/startupz", http.StatusOK)
	n.await(t, "/readyz", http.StatusOK)
	n.expect(t, "/livez", http.StatusOK)
}

// TestProbesWithoutAQuorum: the liveness probe never depends on a quorum. The readiness probe does,
// after the grace period.
func TestProbesWithoutAQuorum(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c, nodes := three(t, "--ready-leader-grace-ms", "2500")
	var leader *seen
	var others []*seen
	proc.Wait(t, patience, "the leader is ready as one, and nobody else", func() bool {
		leader, others = byRole(t, c, nodes)
		code, _ := leader.get("/readyz?leader")
		for _, n := range others {
			if other, _ := n.get("/readyz?leader"); other != http.StatusServiceUnavailable {
				return false
			}
		}
		return code == http.StatusOK
	})
	last := others[0]
	leader.Kill9()
	others[1].Kill9()
	last.await(t, "/readyz", http.StatusServiceUnavailable)
	if _, text := last.get("/readyz?verbose"); !strings.Contains(text, "[-] leaders: shard 0 has had no leader for ") || !strings.Contains(text, "[+] caught-up: ok") {
		t.Errorf("verbose is %q", text)
	}
	for _, path := range []string{"/livez", "/startupz", "/readyz?noleader", "/readyz?stale", "/metrics"} {
		last.expect(t, path, http.StatusOK)
	}
	if last.scrape(t).sum("lockstep_ready") != 0 {
		t.Error("lockstep_ready is not 0")
	}
	// A node that starts without a leader has started, but has not caught up.
	last.Kill9()
	last.Start()
	last.await(t, "/startupz", http.StatusOK)
	last.expect(t, "/livez", http.StatusOK)
	for _, path := range []string{"/readyz", "/readyz?noleader"} {
		last.expect(t, path, http.StatusServiceUnavailable)
	}
	last.expect(t, "/readyz?stale", http.StatusOK)
	leader.Start()
	others[1].Start()
	for _, n := range nodes {
		n.await(t, "/readyz", http.StatusOK)
	}
}

// TestProbesOfANodeThatStops: a node that is told to stop first reports that, and still serves for
// a while.
func TestProbesOfANodeThatStops(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	port := proc.FreePort(t)
	n := &seen{proc.NewNode(t, proc.Options{Args: []string{"--admin-port", strconv.Itoa(port), "--shutdown-delay-ms", "15000"}}), fmt.Sprintf("http://127.0.0.1:%d", port)}
	n.await(t, "/readyz", http.StatusOK)
	stopped := make(chan int, 1)
	go func() { stopped <- n.Stop() }()
	proc.Wait(t, patience, "it says that it is stopping", func() bool {
		code, text := n.get("/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "is stopping")
	})
	if code, text := n.get("/livez?verbose"); code != http.StatusOK || text != "[+] disk: ok\n[+] applying: ok\n" {
		t.Errorf("/livez is %d: %s", code, text)
	}
	proc.MustAsk(t, n.Addr(), "SET", "while", "stopping")
	if code := <-stopped; code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// TestProfilesAreOff: profiles exist only after the setting has turned them on.
func TestProfilesAreOff(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	port := proc.FreePort(t)
	const secret = "open-Sesame-2264"
	n := &seen{proc.NewNode(t, proc.Options{Args: []string{"--admin-port", strconv.Itoa(port), "--masterauth", secret}}), fmt.Sprintf("http://127.0.0.1:%d", port)}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/goroutine", "/debug/pprof/cmdline", "/debug/pprof/symbol"} {
		n.expect(t, path, http.StatusNotFound)
	}
	proc.MustAsk(t, n.Addr(), "CONFIG", "SET", "admin-pprof", "yes")
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/goroutine", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
		n.expect(t, path, http.StatusOK)
	}
	// Flags may contain passwords.
	if _, text := n.get("/debug/pprof/cmdline"); !strings.Contains(text, "lockstepd") || strings.Contains(text, secret) {
		t.Errorf("the command line is %q", text)
	}
}
