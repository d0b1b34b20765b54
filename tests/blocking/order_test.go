package blocking

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// TestWhoWaitsHasItsElementWhenThePushIsAnswered: when a push is answered, a waiting client already
// has the element. The list is empty then, and the pusher cannot take the element back, whichever
// nodes the two clients use.
func TestWhoWaitsHasItsElementWhenThePushIsAnswered(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const rounds = 200
	c := proc.NewCluster(t, 3, proc.Options{Args: proc.OneLeader})
	leader, follower := c.WaitLeader().Addr(), c.Follower().Addr()
	for _, at := range [][2]string{{leader, leader}, {follower, follower}, {leader, follower}, {follower, leader}} {
		w, p := proc.Dial(t, at[0]), proc.Dial(t, at[1])
		for i := range rounds {
			if err := w.Send("BLPOP", "q", "0"); err != nil {
				t.Fatal(err)
			}
			blocked(t, c, 1)
			got, err := p.Pipeline([]string{"RPUSH", "q", fmt.Sprint(i)})
			if err != nil || got[0].String() != ":1" {
				t.Fatalf("RPUSH: %v %v", got, err)
			}
			for command, want := range map[string]string{"LLEN": ":0", "LPOP": "(nil)"} {
				if got := proc.Do(t, p, command, "q"); got != want {
					t.Errorf("round %d: %s: %s", i, command, got)
				}
			}
			if got, want := proc.Read(t, w), fmt.Sprintf(`*2 "q" "%d"`, i); got != want {
				t.Fatalf("round %d: who waited got %s", i, got)
			}
		}
	}
}

// TestAPlannedTransferKeepsTheOrder: waiting clients keep their order when the leadership is
// transferred.
func TestAPlannedTransferKeepsTheOrder(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const rounds, clients = 4, 9
	c := proc.NewCluster(t, 3, proc.Options{Args: proc.OneLeader})
	for round := range rounds {
		var waiting []*respconn.Conn
		for i := range clients {
			w := proc.Dial(t, c.Nodes[i%3].Addr())
			if err := w.Send("BLPOP", "q", "0"); err != nil {
				t.Fatal(err)
			}
			blocked(t, c, i+1)
			waiting = append(waiting, w)
		}
		c.Lead(c.Follower())
		pusher := proc.Dial(t, c.Nodes[round%3].Addr())
		for i := range clients {
			proc.Do(t, pusher, "RPUSH", "q", fmt.Sprint(i))
		}
		for i, w := range waiting {
			if got, want := proc.Read(t, w), fmt.Sprintf(`*2 "q" "%d"`, i); got != want {
				t.Errorf("round %d: client %d got %s", round, i, got)
			}
			w.Close()
		}
	}
}

// TestWaitsWithoutAQuorum: without a quorum no node knows what a list holds, so no client may get a
// reply that says that nothing came. A blocking command ends soon after its timeout, and its error
// says whether it may have run.
func TestWaitsWithoutAQuorum(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	for _, of := range []string{"leader", "follower"} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			c := proc.NewCluster(t, 3, proc.Options{})
			home := c.WaitLeader()
			if of == "follower" {
				home = c.Follower()
			}
			w := &withoutQuorum{t: t, home: home}
			w.fill()
			for _, n := range c.Nodes {
				if n != home {
					n.Kill9()
				}
			}
			// The test asks while the node may believe that it leads, and again when it knows that
			// it does not.
			w.ask(false)
			// Its role says so a moment before the shard stops accepting waits.
			proc.Wait(t, patience, "it knows that it does not lead", func() bool {
				_, err := proc.Ask(home.Addr(), "BLPOP", "none", "0.01")
				return home.Role() != "leader" && err != nil && strings.Contains(err.Error(), "CLUSTERDOWN")
			})
			w.ask(true)
			for _, n := range c.Nodes {
				if n != home {
					n.Start()
				}
			}
			w.count()
		})
	}
}

// withoutQuorum is a node without the other nodes of its cluster.
type withoutQuorum struct {
	t    *testing.T
	home *proc.Node
	// mayHave is the number of elements that a client may have taken without getting a reply.
	mayHave int
}

const elementsThere = 3

func (w *withoutQuorum) fill() {
	c := proc.Dial(w.t, w.home.Addr())
	proc.Do(w.t, c, "RPUSH", "q", "a", "b", "c")
	proc.Do(w.t, c, "XADD", "s", "1-1", "f", "v")
}

// ask sends several blocking commands at the same time, and checks their replies. If knows is true,
// the node knows that there is no leader, and no new command may run.
func (w *withoutQuorum) ask(knows bool) {
	// late is how long after its own timeout a command may still end. slow is how long a busy
	// machine may delay it in addition.
	const ownTime, late, slow = 500 * time.Millisecond, 5 * time.Second, 4 * time.Second
	commands := [][]string{
		{"BRPOP", "q", "0.1"}, {"BLPOP", "none", "0.1"}, {"BLMOVE", "q", "r", "LEFT", "LEFT", "0.5"}, {"BZPOPMIN", "z", "0.5"},
		{"XREAD", "BLOCK", "500", "STREAMS", "s", "1-1"}, {"XREAD", "BLOCK", "500", "STREAMS", "s", "$"},
	}
	begun := time.Now()
	var all []*respconn.Conn
	for _, command := range commands {
		c := proc.Dial(w.t, w.home.Addr())
		if err := c.Send(command...); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, c)
	}
	for i, c := range all {
		got := proc.Read(w.t, c)
		if took := time.Since(begun); took > ownTime+late+slow {
			w.t.Errorf("%s took %v", commands[i], took)
		}
		unknown, takes := strings.HasPrefix(got, "-INDETERMINATE"), commands[i][1] == "q"
		if commands[i][0] == "BRPOP" && unknown {
			w.mayHave++
		}
		// A command that has begun may still run. While the leader has its lease, an empty key is
		// known to be empty.
		ok := strings.HasPrefix(got, "-CLUSTERDOWN") || !knows && (takes && unknown || !takes && got == "(nil array)")
		if !ok {
			w.t.Errorf("%s, known that nobody leads: %v: %s", commands[i], knows, got)
		}
	}
}

// count checks the number of elements that are left when the other nodes are back.
func (w *withoutQuorum) count() {
	c := proc.Dial(w.t, w.home.Addr())
	var q, r int
	proc.Wait(w.t, patience, "it serves", func() bool {
		got, err := c.Pipeline([]string{"LLEN", "q"}, []string{"LLEN", "r"})
		if err != nil {
			return false
		}
		n, _ := fmt.Sscanf(got[0].String()+got[1].String(), ":%d:%d", &q, &r)
		return n == 2
	})
	if left := q + r; left > elementsThere || left < elementsThere-w.mayHave {
		w.t.Errorf("%d of %d elements are left, and %d may have gone", left, elementsThere, w.mayHave)
	}
}
