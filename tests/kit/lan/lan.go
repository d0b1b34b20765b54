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

// Lan is a bridge in a network namespace of its own, where no rule of the machine
// drops a packet, with one leg in the machine's network: the test's.
type Lan struct {
	t testing.TB
	// id begins the names of all that is made.
	id string
	// net is the first three bytes of all addresses.
	net string

	mu   sync.Mutex
	last int // of the addresses
}

// addressesMost is how many addresses a lan has; none is given twice.
const addressesMost = 250

// New makes one, for as long as the test lasts. Without the right to do so
// the test is skipped.
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

// lans counts those of this process.
var lans atomic.Int32

// ours matches the namespaces of a process.
var ours = regexp.MustCompile(`^ls(\d+)[a-z]`)

// sweep removes the namespaces of tests that were killed; their processes have
// died with them.
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

// freeNet is the beginning of addresses that nothing on this machine has, of
// those that are set aside for tests of networks (RFC 2544).
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

// remove takes away all that begins with the lan's id: what a scenario that
// failed has left, too.
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

// Leg is a place on the lan: a namespace with an address that nobody had before.
type Leg struct {
	l *Lan
	// port is its end at the bridge.
	port string
	// Namespace is its name, Addr its address.
	Namespace, Addr string
}

// Join makes one.
func (l *Lan) Join() *Leg {
	l.t.Helper()
	g, err := l.TryJoin()
	if err != nil {
		l.t.Fatal(err)
	}
	return g
}

// TryJoin is Join for others than the test's own goroutine.
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

// Leave removes it, and with it whatever came or went there.
func (g *Leg) Leave() {
	if out, err := exec.Command("ip", "netns", "del", g.Namespace).CombinedOutput(); err != nil {
		g.l.t.Errorf("%s stays behind: %v: %s", g.Namespace, err, out)
	}
}

// Deafen lets nothing that is sent from here reach the other any more, without a
// word to the sender; what the other sends still comes.
func (g *Leg) Deafen(other *Leg) {
	g.l.t.Helper()
	g.l.ip("-n", g.Namespace, "neigh", "replace", other.Addr, "lladdr", "02:00:00:00:00:01", "nud", "permanent", "dev", "eth0")
}

// Heal undoes Deafen.
func (g *Leg) Heal(other *Leg) {
	g.l.t.Helper()
	g.l.ip("-n", g.Namespace, "neigh", "del", other.Addr, "dev", "eth0")
}

// Narrow lets no more than so many megabits in a second leave this place, and no more
// arrive here. Where the kernel cannot do that the test is skipped.
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
