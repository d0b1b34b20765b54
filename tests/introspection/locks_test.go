package introspection

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const (
	lockSlots = 64
	permits   = 5
	busyKey   = "busy"
	// holds keeps the slot of its key locked for some time. holdsShared does the same with a shared
	// lock.
	holds       = "#!lua flags=allow-key-locking\nfor i=1,3e5 do end return redis.call('INCR',KEYS[1])"
	holdsShared = "#!lua flags=no-writes,allow-key-locking\nfor i=1,3e5 do end return redis.call('GET',KEYS[1])"
)

// repeat runs a command again and again, by several clients at once, until the test ends.
func repeat(t *testing.T, addr string, clients int, command ...string) {
	t.Helper()
	stop, ended := make(chan struct{}), make(chan error, clients)
	for range clients {
		c := proc.Dial(t, addr)
		go func() {
			for {
				select {
				case <-stop:
					ended <- nil
					return
				default:
				}
				if v, err := c.Do(command...); err != nil || v.IsError() {
					ended <- fmt.Errorf("%.20q: %s, %w", command, v, err)
					return
				}
			}
		}()
	}
	t.Cleanup(func() {
		close(stop)
		for range clients {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// held returns the row of LOCKSTEP SLOTS for a lock slot, or nil if the slot is free.
func held(t *testing.T, c *respconn.Conn, lockSlot string) map[string]string {
	t.Helper()
	v, err := c.Do("LOCKSTEP", "SLOTS")
	if err != nil || v.IsError() {
		t.Fatal(v, err)
	}
	for _, row := range v.Elems {
		fields := map[string]string{}
		for i := 0; i+1 < len(row.Elems); i += 2 {
			fields[string(row.Elems[i].Bytes)] = strings.Join(strings.Fields(row.Elems[i+1].String()), " ")
		}
		if fields["lock-slot"] == ":"+lockSlot {
			return fields
		}
	}
	return nil
}

// parts returns the fields of a line of INFO that has several fields.
func parts(line string) map[string]int {
	numbers := map[string]int{}
	for part := range strings.SplitSeq(line, ",") {
		name, value, _ := strings.Cut(part, "=")
		numbers[name], _ = strconv.Atoi(value)
	}
	return numbers
}

// TestLocksAreTold: INFO locks and LOCKSTEP SLOTS show which commands hold a lock slot and which
// ones wait for it. The numbers of slots and permits are those of the settings (B7, B8, B10).
func TestLocksAreTold(t *testing.T) {
	proc.NeedProcesses(t)
	n := proc.NewNode(t, proc.Options{Shards: 1, Args: []string{"--lock-slots", strconv.Itoa(lockSlots), "--permits", strconv.Itoa(permits)}})
	c := proc.Dial(t, n.Addr())
	hashSlot, err := strconv.Atoi(ask(t, c, "CLUSTER", "KEYSLOT", busyKey))
	if err != nil {
		t.Fatal(err)
	}
	slot := strconv.Itoa(hashSlot % lockSlots)
	told := func() map[string]int { return parts(fields(ask(t, c, "INFO", "locks"))["locks_shard0"]) }
	if i := told(); i["lock_slots"] != lockSlots || i["permits"] != permits {
		t.Errorf("%v", i)
	}
	if row := held(t, c, slot); row != nil {
		t.Errorf("before anybody came: %v", row)
	}
	await := func(mode, holder, waiting string) {
		t.Helper()
		proc.Wait(t, patience, holder+" holds the slot, "+mode+", and somebody waits", func() bool {
			row := held(t, c, slot)
			return row != nil && row["shard"] == ":0" && row["mode"] == strconv.Quote(mode) && row["holders"] != ":0" &&
				row[waiting] != ":0" && strings.Contains(row["held-by"], `"`+holder+" ") && strings.Contains(row["queue"], `"eval`)
		})
	}
	repeat(t, n.Addr(), 3, "EVAL", holds, "1", busyKey)
	await("exclusive", "eval", "waiting-writers")
	proc.Wait(t, patience, "INFO counts who runs and who waits", func() bool {
		i := told()
		return i["permits_in_use"] > 0 && i["permits_in_use"] <= permits && i["waiting_tickets"] > 0
	})
	repeat(t, n.Addr(), 2, "EVAL_RO", holdsShared, "1", busyKey)
	await("exclusive", "eval", "waiting-readers")
	await("shared", "eval_ro", "waiting-writers")
	i := told()
	if i["tickets"] <= i["waited"] || i["waited"] == 0 || i["wait_usec"] == 0 {
		t.Errorf("%v", i)
	}
	hottest := fields(ask(t, c, "INFO", "locks"))["locks_shard0_hot0"]
	if h := parts(hottest); !strings.HasPrefix(hottest, "lock_slot="+slot+",") || h["waited"] == 0 || h["wait_usec"] == 0 {
		t.Errorf("the hottest lock slot is %s, not %s", hottest, slot)
	}
}

// TestRaftIsTold: INFO raft shows the progress of a replica. At any time the replica has executed
// no more than it has queued, and queued no more than is committed.
func TestRaftIsTold(t *testing.T) {
	proc.NeedProcesses(t)
	c := proc.NewCluster(t, 3, proc.Options{Shards: 1, Args: proc.OneLeader})
	leader := c.WaitLeader()
	for _, n := range c.Nodes {
		repeat(t, n.Addr(), 2, "INCR", "n"+n.Name)
	}
	for _, n := range c.Nodes {
		conn, role := proc.Dial(t, n.Addr()), "follower"
		if n == leader {
			role = "leader"
		}
		// A follower may hear of the last voter a moment later than the leader.
		var info map[string]string
		if !proc.Poll(patience, func() bool {
			info = fields(ask(t, conn, "INFO", "raft"))
			return info["raft_role"] == role && info["raft_leader"] == leader.Name && info["raft_voters"] == "3" && info["raft_term"] != "0"
		}) {
			t.Errorf("%s: %v", n.Name, info)
		}
		line := parts(info["raft_shard0"])
		for _, name := range []string{"term", "committed", "queued", "executed"} {
			if line[name] == 0 {
				t.Errorf("%s: %q has no %s", n.Name, info["raft_shard0"], name)
			}
		}
		const looks, by = 100, 20
		first := executedBy(t, n, info)
		proc.Wait(t, patience, n.Name+" goes on", func() bool {
			now := uint64(0)
			for range looks {
				now = executedBy(t, n, fields(ask(t, conn, "INFO", "raft")))
			}
			return now >= first+by
		})
	}
}

// executedBy returns how far a node has executed the log. It checks that this is not beyond the
// queued index, and the queued index not beyond the committed one.
func executedBy(t *testing.T, n *proc.Node, info map[string]string) uint64 {
	t.Helper()
	index := func(name string) uint64 {
		v, err := strconv.ParseUint(info[name], 10, 64)
		if err != nil {
			t.Fatalf("%s of %s: %v", name, n.Name, err)
		}
		return v
	}
	executed, queued, committed := index("raft_executed"), index("raft_queued"), index("raft_committed")
	if executed == 0 || executed > queued || queued > committed || committed > index("raft_last_index") || index("raft_lag") != committed-executed {
		t.Fatalf("%s: %v", n.Name, info)
	}
	return executed
}
