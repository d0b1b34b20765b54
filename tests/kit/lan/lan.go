package lan

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"lockstep/tests/kit/proc"
)

// Lan is a bridge in a network namespace of its own, where no rule of the machine drops a packet.
// One leg is in the machine's network, for the test itself.
type Lan struct {
	t testing.TB
	// id begins the names of all network objects of the lan.
	id string
	// net is the first three bytes of all addresses.
	net string

	mu   sync.Mutex
	last int // the last byte of the newest address
}

// addressesMost is how many addresses a lan has. Each is given out only once.
const addressesMost = 250

// New makes a lan that lasts until the test ends. If the process lacks the rights, the test is
// skipped.
func New(t testing.TB) *Lan {
	t.Helper()
	proc.NeedProcesses(t)
	if os.Geteuid() != 0 {
		proc.Skip(t, "only root may make network namespaces")
	}
	proc.Tool(t, "ip")
	sweep(t)
	l := &Lan{t: t, id: fmt.Sprintf("ls%d%c", os.Getpid(), 'a'+lans.Add(1)%26), net: freeNet(t), last: 1}
	if out, err := exec.Command("ip", "netns", "add", l.id).CombinedOutput(); err != nil {
		proc.Skip(t, "network namespaces cannot be made here: "+strings.TrimSpace(string(out)))
	}
	t.Cleanup(l.remove)
	l.ip("-n", l.id, "link", "add", "br0", "type", "bridge")
	l.ip("-n", l.id, "link", "set", "br0", "up")
	l.ip("link", "add", l.id+"h", "type", "veth", "peer", "name", "host0", "netns", l.id)
	l.ip("addr", "add", l.Gateway()+"/24", "dev", l.id+"h")
	l.ip("link", "set", l.id+"h", "up")
	l.ip("-n", l.id, "link", "set", "host0", "master", "br0", "up")
	return l
}

// lans counts the lans of this process.
var lans atomic.Int32

// ours matches the namespaces of this package, with the process id.
var ours = regexp.MustCompile(`^ls(\d+)[a-z]`)

// sweep removes the namespaces of tests that were killed. Their processes ended with them.
func sweep(t testing.TB) {
	t.Helper()
	names, err := os.ReadDir("/run/netns")
	if err != nil {
		return // none was ever made
	}
	for _, name := range names {
		of := ours.FindStringSubmatch(name.Name())
		if of == nil {
			continue
		}
		if pid, err := strconv.Atoi(of[1]); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			t.Logf("%s is left over from a test that was killed; it goes", name.Name())
			_ = exec.Command("ip", "netns", "del", name.Name()).Run()
		}
	}
}

// freeNet is the beginning of addresses that nothing on this machine uses, from the range that is
// reserved for tests of networks (RFC 2544).
func freeNet(t testing.TB) string {
	t.Helper()
	taken, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		begin := fmt.Sprintf("198.18.%d", rand.IntN(256))
		if !slices.ContainsFunc(taken, func(a net.Addr) bool { return strings.HasPrefix(a.String(), begin+".") }) {
			return begin
		}
	}
	t.Fatal("no free addresses in 1000 draws")
	return ""
}

// remove removes everything whose name begins with the lan's id, including leftovers of a scenario
// that failed.
func (l *Lan) remove() {
	_ = exec.Command("ip", "link", "del", l.id+"h").Run()
	names, err := filepath.Glob("/run/netns/" + l.id + "*")
	if err != nil {
		l.t.Error(err)
	}
	for _, name := range names {
		if out, err := exec.Command("ip", "netns", "del", filepath.Base(name)).CombinedOutput(); err != nil {
			l.t.Errorf("%s stays behind: %v: %s", name, err, out)
		}
	}
}

// Gateway is the test's own address.
func (l *Lan) Gateway() string { return l.net + ".1" }

// ip runs ip(8), or ends the test.
func (l *Lan) ip(args ...string) {
	l.t.Helper()
	if err := ip(args...); err != nil {
		l.t.Fatal(err)
	}
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// Leg is a host on the lan: a namespace with an address that was never used before.
type Leg struct {
	l *Lan
	// port is the leg's end at the bridge.
	port string
	// Namespace is the name of the namespace, Addr the address.
	Namespace, Addr string
}

// Join adds a leg.
func (l *Lan) Join() *Leg {
	l.t.Helper()
	g, err := l.TryJoin()
	if err != nil {
		l.t.Fatal(err)
	}
	return g
}

// TryJoin is Join for goroutines other than the test's own.
func (l *Lan) TryJoin() (*Leg, error) {
	l.mu.Lock()
	l.last++
	n := l.last
	l.mu.Unlock()
	if n > addressesMost {
		return nil, errors.New("all addresses were given")
	}
	g := &Leg{l: l, port: fmt.Sprintf("p%d", n), Namespace: fmt.Sprintf("%s-%d", l.id, n), Addr: fmt.Sprintf("%s.%d", l.net, n)}
	for _, args := range [][]string{
		{"netns", "add", g.Namespace},
		{"-n", g.Namespace, "link", "add", "eth0", "type", "veth", "peer", "name", g.port, "netns", l.id},
		{"-n", l.id, "link", "set", g.port, "master", "br0", "up"},
		{"-n", g.Namespace, "addr", "add", g.Addr + "/24", "dev", "eth0"},
		{"-n", g.Namespace, "link", "set", "lo", "up"},
		{"-n", g.Namespace, "link", "set", "eth0", "up"},
	} {
		if err := ip(args...); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Leave removes the leg, with all its connections.
func (g *Leg) Leave() {
	if out, err := exec.Command("ip", "netns", "del", g.Namespace).CombinedOutput(); err != nil {
		g.l.t.Errorf("%s stays behind: %v: %s", g.Namespace, err, out)
	}
}

// Deafen drops all packets from this leg to the other, without an error for the sender. Packets in
// the other direction still arrive.
func (g *Leg) Deafen(other *Leg) {
	g.l.t.Helper()
	g.l.ip("-n", g.Namespace, "neigh", "replace", other.Addr, "lladdr", "02:00:00:00:00:01", "nud", "permanent", "dev", "eth0")
}

// Heal undoes Deafen.
func (g *Leg) Heal(other *Leg) {
	g.l.t.Helper()
	g.l.ip("-n", g.Namespace, "neigh", "del", other.Addr, "dev", "eth0")
}

// Narrow limits the bandwidth of this leg in each direction, in megabits per second. If the kernel
// cannot do that, the test is skipped.
func (g *Leg) Narrow(mbits int) {
	g.l.t.Helper()
	proc.Tool(g.l.t, "tc")
	rate := []string{"root", "tbf", "rate", fmt.Sprintf("%dmbit", mbits), "burst", "128kb", "latency", "50ms"}
	for _, at := range [][]string{
		{"-n", g.Namespace, "qdisc", "replace", "dev", "eth0"},
		{"-n", g.l.id, "qdisc", "replace", "dev", g.port},
	} {
		if out, err := exec.Command("tc", append(at, rate...)...).CombinedOutput(); err != nil {
			proc.Skip(g.l.t, "this kernel bounds no bandwidth: "+strings.TrimSpace(string(out)))
		}
	}
}
