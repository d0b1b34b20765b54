package podlife

import (
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/node/status"
	"lockstep/tests/kit/certs"
	"lockstep/tests/kit/image"
	"lockstep/tests/kit/lan"
	"lockstep/tests/kit/proc"
)

// patience is how long a change may take on the slowest machine.
const patience = 90 * time.Second

// set is the StatefulSet and its surroundings.
type set struct {
	t     testing.TB
	chart *chart
	lan   *lan.Lan
	image string

	mu sync.Mutex
	// claims are kept when pods go, like volumes.
	claims map[int]*claim
	pods   map[int]*pod
	jobs   int
	// tls is the source of the Secret with certificates, or nil if there is none.
	tls *trust
}

// trust is the authority, the certificate in the Secret, its mounts, and the TLS configuration of
// clients.
type trust struct {
	authority *certs.Authority
	pair      certs.Pair
	mounts    []*certs.Mount
	client    *tls.Config
}

// newSet makes the release for a set of values, without pods.
func newSet(t testing.TB, values string) *set {
	t.Helper()
	s := &set{t: t, lan: lan.New(t), chart: readChart(t, values), claims: map[int]*claim{}, pods: map[int]*pod{}}
	s.image = image.New(t)
	if s.chart.secure() {
		s.trust()
	}
	s.lan.ServeNames(s.lookup)
	t.Cleanup(s.end)
	return s
}

// trust makes an authority sign the certificates of the Secret, with the names that cert-manager
// would get.
func (s *set) trust() {
	s.t.Helper()
	s.tls = &trust{authority: certs.NewAuthority(s.t, "issuer")}
	s.tls.pair = s.tls.authority.Issue(certs.Wish{Names: s.chart.dnsNames})
	client := s.tls.authority.Issue(certs.Wish{ClientOnly: true, Names: []string{"client"}})
	s.tls.client = certs.ClientTLS(s.t, &client, s.tls.authority)
	s.tls.client.ServerName = s.chart.name + "." + s.chart.domain()
}

// renew makes the authority sign again, and changes the Secret's mounts.
func (s *set) renew() {
	s.t.Helper()
	s.tls.pair = s.tls.authority.Issue(certs.Wish{Names: s.chart.dnsNames})
	for _, m := range s.tls.mounts {
		m.Set(s.tls.pair, s.tls.authority)
	}
}

// root makes a container's root with the pod's mounts.
func (s *set) root() string {
	s.t.Helper()
	root := newRoot(s.t, s.chart.user, s.lan.Gateway(), s.image)
	if s.tls != nil {
		s.tls.mounts = append(s.tls.mounts, certs.NewMountAt(s.t, filepath.Join(root, "etc/lockstep/tls"), s.chart.user, s.tls.pair, s.tls.authority))
	}
	return root
}

// end kills all pods, and shows the logs if the test failed.
func (s *set) end() {
	for i := range s.ordinals() {
		s.pod(i).crash()
	}
	if !s.t.Failed() {
		return
	}
	for _, c := range s.claims {
		text := c.log()
		s.t.Logf("%s is kept in %s; its log ends:\n%s", c.name, c.root, text[max(0, len(text)-3000):])
	}
}

// lookup is the cluster's DNS.
func (s *set) lookup(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, p := range s.pods {
		switch {
		case name == s.chart.host(p.name), name == s.chart.headless+"."+s.chart.domain():
			all = append(all, p.leg.Addr)
		case name == s.chart.name+"."+s.chart.domain() && p.isReady():
			all = append(all, p.leg.Addr)
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// client is the address of a client port.
func (s *set) client(addr string) string { return fmt.Sprintf("%s:%d", addr, s.chart.port("client")) }

// pod returns the pod with an ordinal, or nil if there is none.
func (s *set) pod(i int) *pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[i]
}

// ordinals returns the ordinals of the existing pods.
func (s *set) ordinals() map[int]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[int]bool{}
	for i := range s.pods {
		all[i] = true
	}
	return all
}

// claim returns the claim of an ordinal, and makes it if necessary.
func (s *set) claim(i int) *claim {
	s.t.Helper()
	if s.claims[i] == nil {
		s.claims[i] = &claim{s, fmt.Sprintf("%s-%d", s.chart.name, i), s.root()}
	}
	return s.claims[i]
}

// create makes pods, in the order given.
func (s *set) create(ordinals ...int) {
	s.t.Helper()
	for _, i := range ordinals {
		p := newPod(s.claim(i))
		s.mu.Lock()
		s.pods[i] = p
		s.mu.Unlock()
		p.start()
	}
}

// forget removes a pod from the DNS.
func (s *set) forget(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, i)
}

// remove deletes a pod in good order and returns how long that took.
func (s *set) remove(i int) time.Duration {
	s.t.Helper()
	took := s.pod(i).finish(s.chart.grace)
	s.forget(i)
	return took
}

// crash ends pods without a chance to clean up, all at once.
func (s *set) crash(ordinals ...int) {
	s.t.Helper()
	var all sync.WaitGroup
	for _, i := range ordinals {
		all.Go(func() {
			s.pod(i).crash()
			s.forget(i)
		})
	}
	all.Wait()
}

// whole waits until that many pods exist, all are ready, and the cluster has as many members and is
// healthy, according to clusterctl in each pod.
func (s *set) whole(replicas int) {
	s.t.Helper()
	proc.Wait(s.t, patience, fmt.Sprintf("%d pods are ready and see %d members, all well", replicas, replicas), func() bool {
		if len(s.ordinals()) != replicas {
			return false
		}
		for i := range s.ordinals() {
			if !s.pod(i).isReady() {
				return false
			}
		}
		for i := range s.ordinals() {
			if c := s.status(s.pod(i)); c == nil || len(c.Nodes) != replicas || c.Health != status.Healthy {
				return false
			}
		}
		return true
	})
}

// roll deletes and recreates one pod after the other, the highest first, each when the one before
// is ready, like an upgrade without minReadySeconds.
func (s *set) roll(replicas int) (longest time.Duration) {
	s.t.Helper()
	for i := replicas - 1; i >= 0; i-- {
		longest = max(longest, s.remove(i))
		s.create(i)
		s.waitReady(i)
	}
	return longest
}

// size is how many pods there should be, as text.
func (s *set) size() string {
	return s.chart.values[[3]string{"ConfigMap", s.chart.name + "-size", "replicas"}]
}

func (s *set) waitReady(i int) {
	s.t.Helper()
	proc.Wait(s.t, patience, s.claim(i).name+" is ready", func() bool { return s.pod(i).isReady() })
}

// upgrade is helm upgrade with another replicaCount: the Job comes first, then the StatefulSet
// grows or shrinks.
func (s *set) upgrade(replicas int) {
	s.t.Helper()
	s.chart.resize(replicas)
	if out, err := s.job(); err != nil {
		s.t.Fatalf("the hook before the upgrade to %d failed: %v\n%s", replicas, err, out)
	}
	s.shrink(replicas)
	for i := range replicas {
		if s.pod(i) == nil {
			s.create(i)
		}
	}
	s.whole(replicas)
}

// shrink removes the pods with the highest ordinals, as the StatefulSet's controller does for a
// lower count.
func (s *set) shrink(replicas int) {
	s.t.Helper()
	var ends sync.WaitGroup
	for i := range s.ordinals() {
		if i >= replicas {
			ends.Go(func() { s.remove(i) })
		}
	}
	ends.Wait()
}

// job runs the Job that precedes an upgrade.
func (s *set) job() (string, error) {
	s.t.Helper()
	s.jobs++
	c := &claim{s, fmt.Sprintf("%s-scale-down-%d", s.chart.name, s.jobs), s.root()}
	return s.runIn(c, &s.chart.job)
}

// runIn runs a container to its end in its own pod.
func (s *set) runIn(c *claim, in *container) (string, error) {
	s.t.Helper()
	g := s.lan.Join()
	defer g.Leave()
	cmd := s.command(in, c)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := g.Start(cmd); err != nil {
		return "", err
	}
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Wait()
	return out.String(), err
}
