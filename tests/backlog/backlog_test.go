package backlog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

const patience = 100 * time.Second

// limits make a node busy with little work: a script may do a tenth of a second of work, and the
// log may hold half a second of work.
var limits = []string{"--script-max-work-ms", "100", "--outstanding-work-max-ms", "500", "--busy-reply-threshold", "200", "--write-timeout-ms", "60000"}

// endless is a script that runs until it reaches a limit. It first increments its key, or runs if
// it has none.
const endless = "redis.call('incr', KEYS[1] or 'runs') local x = 0 while true do x = x + 1 end -- "

// counts returns the numbers in INFO's line of the first shard.
func counts(t *testing.T, addr string) map[string]int64 {
	t.Helper()
	numbers := map[string]int64{}
	for part := range strings.SplitSeq(proc.Info(addr, "raft")["raft_shard0"], ",") {
		name, value, _ := strings.Cut(part, "=")
		numbers[name], _ = strconv.ParseInt(value, 10, 64)
	}
	return numbers
}

// one returns the work of one run of an endless script, in milliseconds.
func one(t *testing.T, addr string) int64 {
	t.Helper()
	before := counts(t, addr)["work_ms"]
	if _, err := proc.Ask(addr, "EVAL", endless, "0"); err == nil || !strings.Contains(err.Error(), "script-max-work-ms") {
		t.Fatalf("an endless script ended with %v", err)
	}
	work := counts(t, addr)["work_ms"] - before
	if work < 1 {
		t.Fatalf("an endless script did %d ms of work", work)
	}
	return work
}

// send sends n commands in one write.
func send(t *testing.T, c *respconn.Conn, n int, call func(i int) []string) {
	t.Helper()
	var all []byte
	for i := range n {
		all = respconn.AppendCommand(all, call(i)...)
	}
	if err := c.Write(all); err != nil {
		t.Fatal(err)
	}
}

// tally reads n replies, and counts the scripts that ran to their limits and those that were
// refused.
func tally(t *testing.T, c *respconn.Conn, n int) (ran, refused int) {
	t.Helper()
	for range n {
		switch reply := proc.Read(t, c); {
		case strings.Contains(reply, "script-max-work-ms"):
			ran++
		case strings.Contains(reply, "OVERLOADED the commands before this one take too long"):
			refused++
		default:
			t.Errorf("a script was answered %s", reply)
		}
	}
	return ran, refused
}

// restart kills a node, and waits until it has executed its log again.
func restart(t *testing.T, n *proc.Node) {
	t.Helper()
	n.Kill9()
	n.Start()
	n.WaitReady()
	proc.Wait(t, patience, "the log has been run again", func() bool {
		c := counts(t, n.Addr())
		return c["committed"] > 0 && c["executed"] == c["committed"]
	})
}

// busy matches the error that a client gets after it has waited too long.
var busy = regexp.MustCompile(`(BUSY others hold the keys; the command was not executed|INDETERMINATE the command may or may not have been executed): (script [0-9a-f]{40}|command eval) has been running for \d+ ms on shard 0 \(node \S+\); the command has waited for \d+ ms`)

// TestABurstOfEndlessScripts: a burst of endless scripts keeps a shard busy for as much work as the
// log may hold, and one script more. The other scripts are refused and do not run. The errors of
// clients that wait say correctly whether the command may have run. After kill -9 the node does at
// most the same work again.
func TestABurstOfEndlessScripts(t *testing.T) {
	proc.NeedProcesses(t)
	for _, c := range []struct {
		name  string
		limit int64
		args  []string
	}{
		{"at the defaults", 5000, []string{"--busy-reply-threshold", "200", "--write-timeout-ms", "60000"}},
		{"within less", 500, limits},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := proc.NewNode(t, proc.Options{Shards: 1, Args: c.args})
			each := one(t, n.Addr())
			before := counts(t, n.Addr())["work_ms"]
			const sent = 12
			sender, other := proc.Dial(t, n.Addr()), proc.Dial(t, n.Addr())
			// The node has not seen these texts before.
			send(t, sender, sent, func(i int) []string { return []string{"EVAL", endless + strconv.Itoa(i), "0"} })
			proc.Wait(t, patience, "a script runs", func() bool { return proc.Info(n.Addr(), "locks")["locks_shard0_longest"] != "" })
			if told := proc.Info(n.Addr(), "locks")["locks_shard0_longest"]; told != "" && !strings.HasPrefix(told, "what=script ") {
				t.Errorf("INFO says that what has run for longest is %q", told)
			}
			read := proc.Do(t, other, "GET", "k")
			if !busy.MatchString(read) || !strings.HasPrefix(read, "BUSY") && !strings.Contains(read, "BUSY") {
				t.Errorf("a read was answered %s", read)
			}
			if killed := proc.Do(t, other, "SCRIPT", "KILL"); !strings.Contains(killed, "UNKILLABLE") || strings.Contains(killed, "SHUTDOWN") {
				t.Errorf("SCRIPT KILL was answered %s", killed)
			}
			// Before a write is answered, the shard does at most the work that the log may hold,
			// one script that had begun, and one more while the answer is on its way.
			if write := proc.Do(t, other, "SET", "k", "v"); !strings.Contains(write, "OK") && !busy.MatchString(write) {
				t.Errorf("a write was answered %s", write)
			}
			if did, most := counts(t, n.Addr())["work_ms"]-before, c.limit+2*each; did > most {
				t.Errorf("%d ms of work were done before a write, %d are allowed", did, most)
			}
			ran, refused := tally(t, sender, sent)
			if ran < 2 {
				t.Errorf("%d ran and %d were refused", ran, refused)
			}
			if runs := proc.MustAsk(t, n.Addr(), "GET", "runs"); runs != strconv.Itoa(ran+1) {
				t.Errorf("%s runs are counted, %d were answered", runs, ran+1)
			}
			if c := counts(t, n.Addr()); c["waiting_for_work"] != 0 {
				t.Errorf("%v", c)
			}
			if slow := proc.Do(t, other, "SLOWLOG", "GET", "-1"); !strings.Contains(strings.ToLower(slow), `"eval"`) {
				t.Error("SLOWLOG says nothing of the scripts")
			}
			total := counts(t, n.Addr())["work_ms"]
			restart(t, n)
			if again := counts(t, n.Addr())["work_ms"]; again > total {
				t.Errorf("behind kill -9 the node did %d ms of work, %d before", again, total)
			}
			if runs := proc.MustAsk(t, n.Addr(), "GET", "runs"); runs != strconv.Itoa(ran+1) {
				t.Errorf("behind kill -9 %s runs are counted, %d were answered", runs, ran+1)
			}
		})
	}
}

// TestScriptsThatWereCheap: scripts that were cheap a hundred times and then all run endlessly are
// bounded like other scripts, whether they lock everything, one slot, or one slot each.
func TestScriptsThatWereCheap(t *testing.T) {
	proc.NeedProcesses(t)
	const locksKeys = "#!lua flags=allow-key-locking\n"
	const turns = "if ARGV[1] == 'x' then redis.call('incr', KEYS[1]) while true do end end"
	for _, c := range []struct {
		name, text string
		key        func(i int) string
	}{
		{"they lock everything", turns, func(int) string { return "k" }},
		{"they lock one slot", locksKeys + turns, func(int) string { return "k" }},
		{"each locks its own", locksKeys + turns, func(i int) string { return fmt.Sprint("k", i) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := proc.NewNode(t, proc.Options{Shards: 1, Args: append([]string{"--permits", "8"}, limits...)})
			each := one(t, n.Addr())
			sender := proc.Dial(t, n.Addr())
			proc.Do(t, sender, "CLIENT", "SETNAME", "sender")
			const sent = 120
			send(t, sender, sent, func(i int) []string { return []string{"EVAL", c.text, "1", c.key(i), "y"} })
			for range sent {
				if reply := proc.Read(t, sender); strings.Contains(reply, "ERR") {
					t.Fatalf("while it is cheap: %s", reply)
				}
			}
			// The client closes its connection. The commands that wait before the log then need not
			// run.
			before := counts(t, n.Addr())["work_ms"]
			send(t, sender, sent, func(i int) []string { return []string{"EVAL", c.text, "1", c.key(i), "x"} })
			proc.Wait(t, patience, "they run", func() bool { return counts(t, n.Addr())["work_ms"] > before })
			sender.Close()
			if set := proc.MustAsk(t, n.Addr(), "SET", "elsewhere", "v"); set != "OK" {
				t.Error(set)
			}
			proc.Wait(t, patience, "the node has missed the client", func() bool {
				return !strings.Contains(proc.MustAsk(t, n.Addr(), "CLIENT", "LIST"), "name=sender")
			})
			proc.Wait(t, patience, "what is in the log has run", func() bool {
				c := counts(t, n.Addr())
				return c["outstanding_txns"] == 0 && c["waiting_for_work"] == 0
			})
			// The bound has three parts: the work that is in the log at first; the scripts that run
			// beside each other, which have six of the eight permits; and the work that enters the
			// log before the node notices that the client is gone. The node checks that twice a
			// second, and lets in no more than the limit each time.
			did, most := counts(t, n.Addr())["work_ms"]-before, 4*(500+each)+6*each
			if did > most {
				t.Errorf("%d ms of work were done, %d are allowed", did, most)
			}
			if keys := proc.MustAsk(t, n.Addr(), "DBSIZE"); keys == "0" {
				t.Error("none of them ran")
			}
		})
	}
}

// TestWhatWaitsBeforeTheLogIsTakenBack: a command that waits before the log can be cancelled by the
// end of its connection, by CLIENT KILL and by SCRIPT KILL, also if the client is connected to a
// follower. The command does not run.
func TestWhatWaitsBeforeTheLogIsTakenBack(t *testing.T) {
	proc.NeedProcesses(t)
	// The log holds two seconds of work each time, so that the node has time to notice that the
	// client is gone.
	c := proc.NewCluster(t, 3, proc.Options{Shards: 1, Args: append(limits, "--script-max-work-ms", "400", "--outstanding-work-max-ms", "2000")})
	leader := c.WaitLeader()
	gateways := map[string]*proc.Node{"at the leader": leader, "elsewhere": c.Follower()}
	one(t, leader.Addr())
	for where, gateway := range gateways {
		for how, end := range map[string]func(t *testing.T, waits *respconn.Conn, id string){
			"closed": func(_ *testing.T, waits *respconn.Conn, _ string) { waits.Close() },
			"CLIENT KILL": func(t *testing.T, _ *respconn.Conn, id string) {
				proc.MustAsk(t, gateway.Addr(), "CLIENT", "KILL", "ID", id)
			},
			"SCRIPT KILL": func(t *testing.T, waits *respconn.Conn, _ string) {
				// The scripts that fill the log are running, so the answer is UNKILLABLE, and says
				// what was cancelled.
				if reply, _ := proc.Ask(gateway.Addr(), "SCRIPT", "KILL"); strings.Contains(reply, "NOTBUSY") {
					t.Errorf("SCRIPT KILL: %s", reply)
				}
				if reply := proc.Read(t, waits); !strings.Contains(reply, "killed by user with SCRIPT KILL") {
					t.Errorf("the one that waited was told %s", reply)
				}
			},
		} {
			t.Run(where+", "+how, func(t *testing.T) {
				before := counts(t, leader.Addr())["taken_back"]
				var fill []*respconn.Conn
				for i := range 7 {
					conn := proc.Dial(t, leader.Addr())
					fill = append(fill, conn)
					send(t, conn, 1, func(int) []string { return []string{"EVAL", endless, "0", strconv.Itoa(i)} })
				}
				proc.Wait(t, patience, "one of them waits", func() bool { return counts(t, leader.Addr())["waiting_for_work"] > 0 })
				waiting := counts(t, leader.Addr())["waiting_for_work"]
				waits := proc.Dial(t, gateway.Addr())
				id := strings.TrimFunc(proc.Do(t, waits, "CLIENT", "ID"), func(r rune) bool { return r < '0' || r > '9' })
				send(t, waits, 1, func(int) []string { return []string{"EVAL", "redis.call('incr', 'waited')", "0"} })
				// One of the waiting commands may have entered the log meanwhile, so the number may
				// not grow.
				proc.Poll(time.Second, func() bool { return counts(t, leader.Addr())["waiting_for_work"] > waiting })
				end(t, waits, id)
				for _, conn := range fill {
					proc.Read(t, conn)
				}
				proc.Wait(t, patience, "nothing waits", func() bool {
					c := counts(t, leader.Addr())
					return c["waiting_for_work"] == 0 && c["outstanding_txns"] == 0
				})
				if back := counts(t, leader.Addr())["taken_back"]; back <= before {
					t.Errorf("%d were taken back, %d before", back, before)
				}
			})
		}
	}
	if waited, err := proc.Ask(leader.Addr(), "EXISTS", "waited"); err != nil || waited != "0" {
		t.Errorf("what was taken back has run: %s, %v", waited, err)
	}
	same, err := c.SameState()
	if err != nil || same == "" {
		t.Errorf("%q, %v", same, err)
	}
}

// TestThroughAnotherNodeTheSameIsTold: a read and a write through a follower wait too long. Their
// errors say what runs, and on which node.
func TestThroughAnotherNodeTheSameIsTold(t *testing.T) {
	proc.NeedProcesses(t)
	c := proc.NewCluster(t, 3, proc.Options{Shards: 1, Args: limits})
	leader, gateway := c.WaitLeader(), c.Follower()
	proc.MustAsk(t, gateway.Addr(), "CONFIG", "SET", "outstanding-work-max-ms", "5000")
	proc.MustAsk(t, gateway.Addr(), "CONFIG", "SET", "script-max-work-ms", "1000")
	proc.MustAsk(t, gateway.Addr(), "CONFIG", "SET", "write-timeout-ms", "1000")
	name := regexp.MustCompile(`\(node (\S+)\)`)
	sender, other := proc.Dial(t, leader.Addr()), proc.Dial(t, gateway.Addr())
	const sent = 4
	send(t, sender, sent, func(i int) []string { return []string{"EVAL", endless + strconv.Itoa(i), "0"} })
	proc.Wait(t, patience, "a script runs", func() bool { return proc.Info(leader.Addr(), "locks")["locks_shard0_longest"] != "" })
	for _, command := range [][]string{{"GET", "k"}, {"SET", "k", "v"}} {
		reply := proc.Do(t, other, command...)
		if strings.Contains(reply, "CLUSTERDOWN") {
			t.Errorf("%s: %s", command[0], reply)
		}
		if !busy.MatchString(reply) {
			t.Logf("%s was answered %s", command[0], reply) // it did not wait long enough
			continue
		}
		if node := name.FindStringSubmatch(reply); node == nil || !strings.Contains(proc.MustAsk(t, leader.Addr(), "LOCKSTEP", "STATUS"), node[1]) {
			t.Errorf("%s: %s", command[0], reply)
		}
	}
	for range sent {
		proc.Read(t, sender)
	}
}
