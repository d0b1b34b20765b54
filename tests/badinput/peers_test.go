package badinput

import (
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/cluster/router"
	"lockstep/fsm"
	"lockstep/tests/kit/proc"
)

// adminAddr is the address of a node's HTTP port.
func adminAddr(n *proc.Node, ports map[*proc.Node]int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[n]))
}

func get(t *testing.T, addr, path string) []byte {
	t.Helper()
	answer, err := http.Get("http://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, answer.Status, err)
	}
	return body
}

// TestPeersOfAnIllProgram: a program that knows everything that a member knows sends requests of
// every kind, mutated in a few places, to every node; Raft requests that no correct program sends;
// and noise to the HTTP ports. No process ends and no panic is caught. Afterwards every node writes
// and reads, and all have the same state.
func TestPeersOfAnIllProgram(t *testing.T) {
	seed := proc.Seed(t, 1)
	r := rand.New(rand.NewPCG(seed, seed))
	admin := map[*proc.Node]int{}
	c := proc.NewCluster(t, 3, proc.Options{Before: func(n *proc.Node) {
		admin[n] = proc.FreePort(t)
		n.Flags("--admin-port", strconv.Itoa(admin[n]), "--write-timeout-ms", "30000")
	}})
	var addrs []string
	pids := map[*proc.Node]int{}
	for i, n := range c.Nodes {
		addrs = append(addrs, n.PeerAddr())
		pids[n] = n.Pid()
		for k := range 50 {
			proc.MustAsk(t, n.Addr(), "RPUSH", "list", strconv.Itoa(100*i+k))
		}
	}
	i := newImpostor(t, c.Nodes[1], r)
	t.Logf("%d of 3000 changed requests were answered", i.storm(addrs, 1000))
	for _, n := range c.Nodes {
		i.raftStorm(t, n.PeerAddr(), 0, 5)
		i.raftStorm(t, n.PeerAddr(), meta.GroupID, 5)
		adminNoise(r, i, adminAddr(n, admin), 100)
	}
	for _, n := range c.Nodes {
		proc.Wait(t, patience, n.Name+" writes and reads", func() bool {
			v, err := proc.Ask(n.Addr(), "SET", "behind-"+n.Name, "v")
			return err == nil && v == "OK"
		})
		mustLive(t, n, pids[n])
		if got := proc.MustAsk(t, n.Addr(), "LLEN", "list"); got != "150" {
			t.Errorf("%s: the list has %s elements", n.Name, got)
		}
		if panics := metric(t, adminAddr(n, admin), "lockstep_connection_panics_total") + metric(t, adminAddr(n, admin), "lockstep_panics_total"); panics != 0 {
			t.Errorf("%s: %v panics; its log ends:\n%s", n.Name, panics, n.LogTail(5000))
		}
	}
	if _, err := c.SameState(); err != nil {
		t.Error(err)
	}
}

// TestAGatewayInWhoseNameSomebodySpokeHeals: an impostor uses up the numbers of a gateway, with a
// boot number far ahead and with acknowledgements. Once the gateway answered INDETERMINATE to each
// later write; now it takes a new boot number. In the name of another node than its own the
// impostor can do nothing.
func TestAGatewayInWhoseNameSomebodySpokeHeals(t *testing.T) {
	admin := map[*proc.Node]int{}
	c := proc.NewCluster(t, 3, proc.Options{Before: func(n *proc.Node) {
		admin[n] = proc.FreePort(t)
		n.Flags("--admin-port", strconv.Itoa(admin[n]))
	}})
	leader, follower := c.WaitLeader(), c.Follower()
	for _, n := range c.Nodes {
		proc.MustAsk(t, n.Addr(), "INCR", "n")
	}
	i := newImpostor(t, follower, rand.New(rand.NewPCG(1, 1)))
	propose := func(o fsm.Origin, seq, acked uint64) []byte {
		t.Helper()
		answer, err := i.Call(t.Context(), leader.PeerAddr(), router.KindPropose, bundle(o, seq, acked, "set", "forged", "v"))
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	own, others := i.as, identityOf(t, leader)
	// Answers with a reply begin with 0.
	if answer := propose(fsm.Origin{Node: others.Incarnation, Boot: others.Boot + 1<<40}, 0, 0); answer[0] == 0 {
		t.Errorf("it speaks in another node's name: %q", answer)
	}
	if answer := propose(fsm.Origin{Node: own.Incarnation, Boot: 1<<64 - 1}, 0, 0); strings.Contains(string(answer), "OK") {
		t.Errorf("a boot number that none can follow: %q", answer)
	}
	for lane := range uint32(fsm.Lanes) {
		propose(fsm.Origin{Node: own.Incarnation, Boot: own.Boot, Lane: lane}, 1<<30, 1<<30)
	}
	if answer := propose(fsm.Origin{Node: own.Incarnation, Boot: own.Boot + 1<<40}, 0, 0); !strings.Contains(string(answer), "OK") {
		t.Errorf("nothing was forged: %q", answer)
	}
	for k := range 100 {
		n := c.Nodes[k%3]
		if got, err := proc.Ask(n.Addr(), "INCR", "n"); err != nil || got != strconv.Itoa(k+4) {
			t.Fatalf("%s: %q, %v", n.Name, got, err)
		}
	}
	if renewed := metric(t, adminAddr(follower, admin), "lockstep_gateway_renewals_total"); renewed != 1 {
		t.Errorf("%s began anew %v times", follower.Name, renewed)
	}
	if refused := metric(t, adminAddr(leader, admin), "lockstep_peer_requests_refused_total"); refused != 1 {
		t.Errorf("%s has refused %v requests", leader.Name, refused)
	}
	// After a restart the gateway continues with its new boot number.
	follower.Stop()
	follower.Start()
	follower.WaitReady()
	if got := proc.MustAsk(t, follower.Addr(), "INCR", "n"); got != "104" {
		t.Errorf("behind a restart: %q", got)
	}
}
