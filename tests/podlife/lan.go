package podlife

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

	"lockstep/tests/proc"
)

// lan is a bridge in a network namespace of its own, where no rule of the machine
// drops a packet, with one leg in the machine's network: the test's.
type lan struct {
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

// newLan makes one, for as long as the test lasts. Without the right to do so
// the test is skipped.
func newLan(t testing.TB) *lan {
	t.Helper()
	proc.NeedProcesses(t)
	if os.Geteuid() != 0 {
		proc.Skip(t, "only root may make network namespaces")
	}
	proc.Tool(t, "ip")
	sweep(t)
	l := &lan{t: t, id: fmt.Sprintf("ls%d%c", os.Getpid(), 'a'+lans.Add(1)%26), net: freeNet(t), last: 1}
	if out, err := exec.Command("ip", "netns", "add", l.id).CombinedOutput(); err != nil {
		proc.Skip(t, "network namespaces cannot be made here: "+strings.TrimSpace(string(out)))
	}
	t.Cleanup(l.remove)
	l.ip("-n", l.id, "link", "add", "br0", "type", "bridge")
	l.ip("-n", l.id, "link", "set", "br0", "up")
	l.ip("link", "add", l.id+"h", "type", "veth", "peer", "name", "host0", "netns", l.id)
	l.ip("addr", "add", l.gateway()+"/24", "dev", l.id+"h")
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
	must(t, err)
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
func (l *lan) remove() {
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

// gateway is the test's own address.
func (l *lan) gateway() string { return l.net + ".1" }

// ip runs ip(8).
func (l *lan) ip(args ...string) {
	l.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		l.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
}

// leg is a place on the lan: a namespace with an address that nobody had before.
type leg struct {
	l         *lan
	namespace string
	addr      string
}

// join makes one.
func (l *lan) join() *leg {
	l.t.Helper()
	l.mu.Lock()
	l.last++
	n := l.last
	l.mu.Unlock()
	if n > addressesMost {
		l.t.Fatal("all addresses were given")
	}
	g := &leg{l: l, namespace: fmt.Sprintf("%s-%d", l.id, n), addr: fmt.Sprintf("%s.%d", l.net, n)}
	port := fmt.Sprintf("p%d", n)
	l.ip("netns", "add", g.namespace)
	l.ip("-n", g.namespace, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", l.id)
	l.ip("-n", l.id, "link", "set", port, "master", "br0", "up")
	l.ip("-n", g.namespace, "addr", "add", g.addr+"/24", "dev", "eth0")
	l.ip("-n", g.namespace, "link", "set", "lo", "up")
	l.ip("-n", g.namespace, "link", "set", "eth0", "up")
	return g
}

// leave removes it, and with it whatever came or went there.
func (g *leg) leave() {
	if out, err := exec.Command("ip", "netns", "del", g.namespace).CombinedOutput(); err != nil {
		g.l.t.Errorf("%s stays behind: %v: %s", g.namespace, err, out)
	}
}

// deafen lets nothing that is sent from here reach the other any more, without a
// word to the sender; what the other sends still comes.
func (g *leg) deafen(other *leg) {
	g.l.t.Helper()
	g.l.ip("-n", g.namespace, "neigh", "replace", other.addr, "lladdr", "02:00:00:00:00:01", "nud", "permanent", "dev", "eth0")
}

// heal undoes deafen.
func (g *leg) heal(other *leg) {
	g.l.t.Helper()
	g.l.ip("-n", g.namespace, "neigh", "del", other.addr, "dev", "eth0")
}
