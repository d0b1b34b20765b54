package podlife

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"lockstep/tests/kit/lan"
)

// lookEvery is how often the kubelet checks a pod, and restartAfter how soon it restarts a
// container that ended by itself.
const (
	lookEvery    = 200 * time.Millisecond
	restartAfter = 500 * time.Millisecond
	// restartsMost is how many restarts in one test mean that the container is broken.
	restartsMost = 20
)

// claim is the part of a pod that stays when the pod goes: its name and its volume.
type claim struct {
	s    *set
	name string
	root string
}

// logPath is the log of all containers of the pod.
func (c *claim) logPath() string { return filepath.Join(c.root, "log") }

// log returns that log.
func (c *claim) log() string {
	text, _ := os.ReadFile(c.logPath())
	return string(text)
}

// wipe empties the volume while no pod uses it.
func (c *claim) wipe() {
	c.s.t.Helper()
	data := filepath.Join(c.root, "data")
	must(c.s.t, os.RemoveAll(data))
	must(c.s.t, os.Mkdir(data, 0o755))
	must(c.s.t, os.Chown(data, c.s.chart.user, c.s.chart.user))
}

// pod is an existing pod: an address, and a container that is kept running.
type pod struct {
	*claim
	leg *lan.Leg

	mu sync.Mutex
	// cmd is the container. It is nil between two containers.
	cmd      *exec.Cmd
	exited   chan struct{}
	deleting bool
	ready    bool
	// sick is since when liveness fails, or zero if it does not.
	sick     time.Time
	restarts int
	gone     chan struct{}
	watched  chan struct{}
}

// newPod makes a pod for a claim, at a new address.
func newPod(c *claim) *pod {
	c.s.t.Helper()
	p := &pod{claim: c, leg: c.s.lan.Join(), gone: make(chan struct{}), watched: make(chan struct{})}
	conf := filepath.Join(c.root, "etc/lockstep/lockstep.conf")
	must(c.s.t, os.WriteFile(conf, []byte(c.s.chart.conf()), 0o644))
	mounted := filepath.Join(c.root, "etc/lockstep/secret")
	must(c.s.t, os.MkdirAll(mounted, 0o755))
	must(c.s.t, os.WriteFile(filepath.Join(mounted, "cluster-secret"), c.s.chart.secret(), 0o644))
	hosts := fmt.Sprintf("127.0.0.1 localhost\n%s %s %s\n", p.leg.Addr, c.s.chart.host(c.name), c.name)
	must(c.s.t, os.WriteFile(filepath.Join(c.root, "etc/hosts"), []byte(hosts), 0o644))
	return p
}

// start starts the container and watches it.
func (p *pod) start() {
	p.s.t.Helper()
	must(p.s.t, p.run())
	go p.watch()
}

// run starts the container once.
func (p *pod) run() error {
	out, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := p.s.command(&p.s.chart.node, p.claim)
	cmd.Stdout, cmd.Stderr = out, out
	if err := p.leg.Start(cmd); err != nil {
		return err
	}
	exited := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.exited = cmd, exited
	p.mu.Unlock()
	go func() {
		_ = cmd.Wait()
		p.mu.Lock()
		p.cmd, p.ready = nil, false
		p.mu.Unlock()
		close(exited)
	}()
	return nil
}

// watch is the kubelet: it runs the probes and restarts a container that ended by itself.
func (p *pod) watch() {
	defer close(p.watched)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var ended time.Time
	for {
		select {
		case <-p.gone:
			return
		case <-tick.C:
		}
		p.mu.Lock()
		runs, deleting := p.cmd != nil, p.deleting
		p.mu.Unlock()
		switch {
		case runs:
			ended = time.Time{}
			p.look(deleting)
		case deleting:
			return
		case ended.IsZero():
			ended = time.Now()
		case time.Since(ended) >= restartAfter:
			p.mu.Lock()
			p.restarts++
			again := p.restarts <= restartsMost
			p.mu.Unlock()
			if !again {
				p.s.t.Errorf("%s ended by itself %d times", p.name, restartsMost)
				return
			}
			if err := p.run(); err != nil {
				p.s.t.Errorf("%s: %v", p.name, err)
				return
			}
		}
	}
}

// look runs the probes. A pod that is being deleted is not ready, whatever its probe returns.
func (p *pod) look(deleting bool) {
	ready := p.probe(p.s.chart.node.ReadinessProbe) == nil && !deleting
	live := p.probe(p.s.chart.node.LivenessProbe)
	startup := p.probe(p.s.chart.node.StartupProbe)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = ready && p.cmd != nil
	if live == nil || startup != nil || deleting || p.cmd == nil {
		p.sick = time.Time{}
		return
	}
	if p.sick.IsZero() {
		p.sick = time.Now()
	}
	of := p.s.chart.node.LivenessProbe
	if most := time.Duration(of.PeriodSeconds*of.FailureThreshold) * time.Second; time.Since(p.sick) > most {
		p.s.t.Errorf("%s would have been restarted: its liveness fails for %v: %v", p.name, most, live)
	}
}

// probe runs one probe.
func (p *pod) probe(of probe) error {
	// The kubelet verifies no certificate.
	way := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	client := http.Client{Timeout: time.Duration(of.TimeoutSeconds) * time.Second, Transport: way}
	answer, err := client.Get(fmt.Sprintf("%s://%s:%d%s", cmp.Or(strings.ToLower(of.HTTPGet.Scheme), "http"), p.leg.Addr, p.s.chart.port(of.HTTPGet.Port), of.HTTPGet.Path))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	if answer.StatusCode < 200 || answer.StatusCode >= 400 {
		return fmt.Errorf("%d: %s", answer.StatusCode, strings.TrimSpace(string(text)))
	}
	return nil
}

// isReady returns the result of the last check.
func (p *pod) isReady() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready
}

// restartCount is how often the container has ended by itself.
func (p *pod) restartCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restarts
}

// finish deletes the pod: it leaves the Service at once, and its container gets SIGTERM and, after
// the grace period, SIGKILL. It returns how long that took.
func (p *pod) finish(grace time.Duration) time.Duration {
	p.s.t.Helper()
	began := time.Now()
	p.mu.Lock()
	p.deleting, p.ready = true, false
	cmd, exited := p.cmd, p.exited
	if cmd != nil {
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	p.mu.Unlock()
	if cmd != nil {
		select {
		case <-exited:
		case <-time.After(grace):
			p.s.t.Errorf("%s was killed: it did not end in %v of grace", p.name, grace)
			_ = cmd.Process.Kill()
			<-exited
		}
	}
	p.vanish()
	return time.Since(began)
}

// crash ends the pod without a chance to clean up, as when its machine fails.
func (p *pod) crash() {
	p.mu.Lock()
	p.deleting, p.ready = true, false
	cmd, exited := p.cmd, p.exited
	if cmd != nil {
		_ = cmd.Process.Kill()
	}
	p.mu.Unlock()
	if cmd != nil {
		<-exited
	}
	p.vanish()
}

// vanish removes the rest of a pod whose container has ended.
func (p *pod) vanish() {
	close(p.gone)
	<-p.watched
	p.leg.Leave()
}

// command returns the command of a container, in the root of a claim.
func (s *set) command(in *container, c *claim) *exec.Cmd {
	env := s.chart.environment(in, c.name)
	var known []string
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		known = append(known, "$("+name+")", value)
	}
	var args []string
	for _, arg := range slices.Concat(in.Command[1:], in.Args) {
		args = append(args, strings.NewReplacer(known...).Replace(arg))
	}
	cmd := exec.Command(in.Command[0], args...)
	cmd.Dir = "/"
	cmd.Env = append(env, "HOSTNAME="+c.name, "PATH=/usr/bin")
	cmd.SysProcAttr = contained(c.root, s.chart.user)
	return cmd
}
