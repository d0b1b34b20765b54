package evict

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

const (
	patience = 90 * time.Second
	mb       = 1 << 20
	oom      = "OOM command not allowed when used memory > 'maxmemory'."
)

// run sends commands in pipelines, and fails the test on an error reply.
func run(t *testing.T, c *respconn.Conn, commands ...[]string) []respconn.Value {
	t.Helper()
	const pipeline = 200
	var all []respconn.Value
	for len(commands) > 0 {
		n := min(pipeline, len(commands))
		replies, err := c.Pipeline(commands[:n]...)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range replies {
			if r.IsError() {
				t.Fatalf("%.80q: %s", commands[i], r)
			}
		}
		all, commands = append(all, replies...), commands[n:]
	}
	return all
}

// say sends one command and returns its reply in readable form.
func say(t *testing.T, c *respconn.Conn, args ...string) string {
	t.Helper()
	v, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%.80q: %v", args, err)
	}
	if text, err := v.Text(); err == nil {
		return text
	}
	return v.String()
}

func used(addr string) int64 { return number(addr, "memory", "used_memory") }

func number(addr, section, field string) int64 {
	n, err := strconv.ParseInt(proc.Info(addr, section)[field], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// watchUsed samples used_memory of the nodes until stop is called. stop takes a last sample and
// returns the highest one.
func watchUsed(addrs []string) (stop func() int64) {
	done := make(chan struct{})
	var highest int64
	var all sync.WaitGroup
	look := func() {
		for _, addr := range addrs {
			highest = max(highest, used(addr))
		}
	}
	all.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			look()
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() int64 { close(done); all.Wait(); look(); return highest }
}

// exists returns how many of the keys prefix0, prefix1, ... exist. It does not count as an access.
func exists(t *testing.T, c *respconn.Conn, prefix string, from, to int) int {
	t.Helper()
	say(t, c, "CLIENT", "NO-TOUCH", "ON")
	var commands [][]string
	for i := from; i < to; i++ {
		commands = append(commands, []string{"EXISTS", prefix + strconv.Itoa(i)})
	}
	n := 0
	for _, v := range run(t, c, commands...) {
		if text, _ := v.Text(); text == "1" {
			n++
		}
	}
	say(t, c, "CLIENT", "NO-TOUCH", "OFF")
	return n
}

// converged waits until all nodes have executed the same entries, and compares their keys.
func converged(t *testing.T, c *proc.Cluster) {
	t.Helper()
	if _, err := c.SameState(); err != nil {
		t.Fatal(err)
	}
	proc.Wait(t, patience, "all nodes count the same keys", func() bool {
		counts := map[string]bool{}
		for _, n := range c.Nodes {
			counts[proc.Info(n.Addr(), "keyspace")["db0"]] = true
		}
		return len(counts) == 1
	})
}

// TestACacheStaysBelowItsLimit writes three times maxmemory through all nodes of a cluster, while
// it reads one set of hot keys again and again.
func TestACacheStaysBelowItsLimit(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const limit, hot, cold = 4 * mb, 250, 12_000
	// Only the leader knows which keys are read. A new leader would not know the hot keys.
	c := proc.NewCluster(t, 3, proc.Options{Args: append([]string{"--maxmemory", "4mb", "--maxmemory-policy", "allkeys-lru", "--notify-keyspace-events", "Ee"}, proc.OneLeader...)})
	value := strings.Repeat("v", 1000)
	evictions := listen(t, c)
	setUp := proc.Dial(t, c.Nodes[0].Addr())
	for i := range hot {
		run(t, setUp, []string{"SET", "hot" + strconv.Itoa(i), value})
	}
	highest := watchUsed(c.Addrs())
	var conns []*respconn.Conn
	for _, n := range c.Nodes {
		conns = append(conns, proc.Dial(t, n.Addr()))
	}
	// No writer is more than one turn ahead of the others, so the last keys are those that were
	// written last.
	for turn := 0; turn < cold && !t.Failed(); turn += 3 * 100 {
		var all sync.WaitGroup
		for w, conn := range conns {
			all.Go(func() {
				var commands [][]string
				for k := turn + w; k < min(turn+300, cold); k += 3 {
					commands = append(commands, []string{"SET", "cold" + strconv.Itoa(k), value}, []string{"GET", "hot" + strconv.Itoa(k%hot)})
				}
				replies, err := conn.Pipeline(commands...)
				if err != nil {
					t.Error(err)
					return
				}
				for k, r := range replies {
					if r.IsError() {
						t.Errorf("%.40q: %s", commands[k], r)
						return
					}
				}
			})
		}
		all.Wait()
	}
	if got := highest(); got > limit+mb/2 || got < limit*3/4 {
		t.Errorf("used_memory was %d at most, the limit is %d", got, limit)
	} else {
		t.Logf("used_memory was %.1f%% of the limit at most", 100*float64(got)/limit)
	}
	conn := proc.Dial(t, c.WaitLeader().Addr())
	kept, first, last := exists(t, conn, "hot", 0, hot), exists(t, conn, "cold", 0, cold/2), exists(t, conn, "cold", cold-1000, cold)
	t.Logf("%d of %d hot keys, %d of the first %d and %d of the last 1000 cold ones are left", kept, hot, first, cold/2, last)
	if kept < hot*9/10 || first > cold/200 || last < 750 {
		t.Error("others went")
	}
	converged(t, c)
	// The last evictions may still be on their way to the replicas.
	var told string
	same := proc.Poll(patience, func() bool {
		told = ""
		evicted := number(c.Nodes[0].Addr(), "stats", "evicted_keys")
		same := evicted >= cold/2
		for i, n := range c.Nodes {
			says, heard := number(n.Addr(), "stats", "evicted_keys"), evictions[i]()
			told += fmt.Sprintf("%s says that %d keys were evicted, and told of %d\n", n.Name, says, heard)
			same = same && says == evicted && heard == evicted
		}
		return same
	})
	if !same {
		t.Error(told)
	}
}

// listen counts the evicted events that each node sends.
func listen(t *testing.T, c *proc.Cluster) (heard []func() int64) {
	for _, n := range c.Nodes {
		conn := proc.Dial(t, n.Addr())
		if err := conn.Send("SUBSCRIBE", "__keyevent@0__:evicted"); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(); err != nil {
			t.Fatal(err)
		}
		conn.Patience = 10 * time.Minute
		var mu sync.Mutex
		var count int64
		go func() {
			for {
				if _, err := conn.Read(); err != nil {
					return
				}
				mu.Lock()
				count++
				mu.Unlock()
			}
		}()
		heard = append(heard, func() int64 { mu.Lock(); defer mu.Unlock(); return count })
	}
	return heard
}

// TestFullMemoryRefusesWritesAndServesReads: if nothing may be evicted, every node answers as Redis
// does, also in a transaction.
func TestFullMemoryRefusesWritesAndServesReads(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--maxmemory", "4mb"}})
	value := strings.Repeat("v", 10_000)
	for _, n := range []*proc.Node{c.WaitLeader(), c.Follower()} {
		conn := proc.Dial(t, n.Addr())
		refused := ""
		for i := 0; refused == "" && i < 1000; i++ {
			if got := say(t, conn, "SET", "k"+strconv.Itoa(i), value); got != "OK" {
				refused = got
			}
		}
		if !strings.Contains(refused, oom) {
			t.Fatalf("refused with %q", refused)
		}
		proc.Wait(t, patience, "the node itself knows", func() bool { return used(n.Addr()) > 4*mb })
		if got := used(n.Addr()); got > 4*mb+mb/4 {
			t.Errorf("%s uses %d", n.Name, got)
		}
		if got := say(t, conn, "GET", "k0"); got != value {
			t.Errorf("GET answers %.40q", got)
		}
		queueFails(t, conn)
		execFails(t, n.Addr())
		// In a pipeline, the commands that need no memory run, and the memory that they free can be
		// used.
		replies, err := conn.Pipeline([]string{"SET", "x", "1"}, []string{"EXPIRE", "k1", "1000"}, []string{"LPUSH", "l", "1"},
			[]string{"DEL", "k2", "k3", "k4", "k5"}, []string{"SET", "x", "2"}, []string{"GET", "x"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range replies {
			text, err := r.Text()
			if err != nil {
				text = strings.TrimPrefix(err.Error(), "error reply: ")
			}
			got = append(got, text)
		}
		if want := oom + "|1|" + oom + "|4|OK|2"; strings.Join(got, "|") != want {
			t.Errorf("the pipeline answers %q", got)
		}
		if got := say(t, conn, "FLUSHALL"); got != "OK" {
			t.Error(got)
		}
	}
	converged(t, c)
}

// queueFails expects that a command that needs memory is refused in MULTI, and then EXEC, too.
func queueFails(t *testing.T, conn *respconn.Conn) {
	t.Helper()
	for _, step := range [][2]string{
		{"MULTI", "OK"}, {"SET q 1", oom}, {"GET k0", "QUEUED"}, {"EXEC", "EXECABORT Transaction discarded because of previous errors."},
		{"MULTI", "OK"}, {"STRLEN k0", "QUEUED"}, {"EXEC", ":10000"},
	} {
		if got := say(t, conn, strings.Fields(step[0])...); !strings.Contains(got, step[1]) {
			t.Errorf("%s: %q, want %q", step[0], got, step[1])
		}
	}
}

// execFails expects that EXEC is refused if its commands were queued while there was room.
func execFails(t *testing.T, addr string) {
	t.Helper()
	conn, other := proc.Dial(t, addr), proc.Dial(t, addr)
	// The leader, which is another node, may learn of a limit a moment later.
	say(t, other, "CONFIG", "SET", "maxmemory", "0")
	proc.Wait(t, patience, "there is room", func() bool { return say(t, other, "SET", "room", "1") == "OK" })
	say(t, conn, "MULTI")
	say(t, conn, "SET", "q", "1")
	say(t, other, "CONFIG", "SET", "maxmemory", "4mb")
	proc.Wait(t, patience, "there is none", func() bool { return strings.Contains(say(t, other, "SET", "room", "1"), oom) })
	if got, want := say(t, conn, "EXEC"), "EXECABORT Transaction discarded because of: "+oom; !strings.Contains(got, want) {
		t.Errorf("EXEC: %q", got)
	}
	if got := say(t, conn, "EXISTS", "q"); !strings.HasSuffix(got, "0") {
		t.Errorf("it ran: %q", got)
	}
}

// TestVolatilePoliciesEvictOnlyWhatExpires fills a node with keys with and without an expiry.
func TestVolatilePoliciesEvictOnlyWhatExpires(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{Args: []string{"--maxmemory", "4mb"}})
	conn := proc.Dial(t, n.Addr())
	value := strings.Repeat("v", 1000)
	for _, policy := range []string{"volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"} {
		say(t, conn, "FLUSHALL")
		if got := say(t, conn, "CONFIG", "SET", "maxmemory-policy", policy); got != "OK" {
			t.Fatal(got)
		}
		const keep, expiring = 1000, 6000
		var commands [][]string
		for i := range keep {
			commands = append(commands, []string{"SET", "keep" + strconv.Itoa(i), value})
		}
		for i := range expiring {
			// A key that is written later expires earlier.
			commands = append(commands, []string{"SET", "k" + strconv.Itoa(i), value, "EX", strconv.Itoa(100_000 - i)})
		}
		run(t, conn, commands...)
		if got := exists(t, conn, "keep", 0, keep); got != keep {
			t.Errorf("%s: %d of %d keys that never expire are left", policy, got, keep)
		}
		if got := used(n.Addr()); got > 4*mb+mb/4 {
			t.Errorf("%s: %d bytes are used", policy, got)
		}
		early, late := exists(t, conn, "k", 0, 1000), exists(t, conn, "k", expiring-1000, expiring)
		t.Logf("%s: of 1000 %d of the first and %d of the last written are left", policy, early, late)
		if policy == "volatile-ttl" && early < 990 || policy == "volatile-lru" && late < 800 {
			t.Errorf("%s: others went", policy)
		}
		// When no key with an expiry is left, memory is full.
		full := ""
		for i := 0; full == "" && i < 5000; i += 20 {
			full = firstError(t, conn, "more"+strconv.Itoa(i)+":", value)
		}
		if !strings.Contains(full, oom) || exists(t, conn, "k", 0, expiring) != 0 {
			t.Errorf("%s: the end is %q, %d keys that expire are left", policy, full, exists(t, conn, "k", 0, expiring))
		}
	}
}

// firstError writes twenty keys and returns the first error, or "".
func firstError(t *testing.T, conn *respconn.Conn, prefix, value string) string {
	t.Helper()
	var commands [][]string
	for i := range 20 {
		commands = append(commands, []string{"SET", prefix + strconv.Itoa(i), value})
	}
	replies, err := conn.Pipeline(commands...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range replies {
		if r.IsError() {
			return r.String()
		}
	}
	return ""
}

func TestClientsThatDoNotTouch(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	conn, quiet := proc.Dial(t, n.Addr()), proc.Dial(t, n.Addr())
	say(t, conn, "SET", "k", "v")
	say(t, quiet, "CLIENT", "NO-TOUCH", "ON")
	// The test waits for two seconds, because an access and the check may be on both sides of the
	// end of a second.
	idle := func() bool {
		seconds, err := strconv.Atoi(say(t, conn, "OBJECT", "IDLETIME", "k"))
		if err != nil {
			t.Fatal(err)
		}
		return seconds >= 2
	}
	proc.Wait(t, patience, "the key is idle", idle)
	for _, args := range [][]string{{"GET", "k"}, {"STRLEN", "k"}, {"SET", "k", "w", "NX"}} {
		say(t, quiet, args...)
		if !idle() {
			t.Errorf("%s counts as a use", args)
		}
	}
	proc.Wait(t, patience, "GET of another client is a use", func() bool { say(t, conn, "GET", "k"); return !idle() })
	if got := say(t, conn, "CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"); got != "OK" {
		t.Fatal(got)
	}
	// The end of a minute lowers a count by one. It cannot come in both of two tries.
	var counts string
	counted := func() bool {
		say(t, conn, "DEL", "f")
		say(t, conn, "SET", "f", "v")
		fresh := strings.TrimPrefix(say(t, conn, "OBJECT", "FREQ", "f"), ":")
		say(t, quiet, "GET", "f")
		say(t, conn, "GET", "f")
		counts = fresh + " and " + strings.TrimPrefix(say(t, conn, "OBJECT", "FREQ", "f"), ":")
		return counts == "5 and 6"
	}
	right := counted()
	if !right {
		right = counted()
	}
	if !right {
		t.Errorf("the counts of a new key and of one that was used are %s", counts)
	}
	if got := say(t, conn, "OBJECT", "IDLETIME", "f"); !strings.Contains(got, "An LFU maxmemory policy is selected") {
		t.Errorf("%q", got)
	}
}

func keyOf(n uint64) string { return fmt.Sprintf("key:%d", n) }

// TestFarWritesDoNotPassTheLimitTogether sends, through a follower, a pipeline of short commands
// that need megabytes each. As in Redis, the commands that come when the memory is full are
// refused.
func TestFarWritesDoNotPassTheLimitTogether(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const limit, count, value = 16 * mb, 100, 2 * mb
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--maxmemory", strconv.Itoa(limit)}})
	conn := proc.Dial(t, c.Follower().Addr())
	var pipeline [][]string
	for i := range count {
		pipeline = append(pipeline, []string{"SETRANGE", "far" + strconv.Itoa(i), strconv.Itoa(value), "x"})
	}
	replies, err := conn.Pipeline(pipeline...)
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for i, r := range replies {
		switch {
		case !r.IsError():
			done++
		case !strings.Contains(r.String(), oom):
			t.Fatalf("SETRANGE %d: %s", i, r)
		}
	}
	leader := c.WaitLeader()
	if got := used(leader.Addr()); done < limit/(2*value) || got > limit+2*value {
		t.Errorf("%d were done, and %d MB are used of %d", done, got/mb, limit/mb)
	}
	// Writes within an existing value need no more memory.
	say(t, conn, "CONFIG", "SET", "maxmemory", strconv.FormatInt(used(leader.Addr())+mb, 10))
	proc.Wait(t, patience, "the limit is in force", func() bool { return say(t, conn, "SET", "room", "1") == "OK" })
	for i := range pipeline {
		pipeline[i] = []string{"SETBIT", "far0", strconv.Itoa(8 * (value/2 + i)), "1"}
	}
	replies, err = conn.Pipeline(pipeline...)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range replies {
		if r.IsError() {
			t.Fatalf("SETBIT %d: %s", i, r)
		}
	}
}
