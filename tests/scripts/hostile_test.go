package scripts

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
	"lockstep/tests/scripts/zoo"
)

func TestMain(m *testing.M) { proc.Main(m) }

const (
	patience = 3 * time.Minute
	// replayPatience is how long three nodes may take to run all hostile scripts again, on the
	// slowest machine.
	replayPatience = 4 * time.Minute
	mb             = 1 << 20
	// rssMax bounds the memory of a node while hostile scripts run, in bytes. It is several times
	// what the scripts may allocate, because the garbage collector decides when it runs.
	rssMax = 2048 * mb
	// cpuMax bounds the processor time that a node may take for one script. It is several times the
	// default limit, because this machine may be busy, and slower than the one on which the prices
	// were measured.
	cpuMax = 6 * time.Second
)

func say(t *testing.T, c *respconn.Conn, args ...string) string {
	t.Helper()
	c.Patience = patience
	v, err := c.Do(args...)
	if err != nil {
		t.Fatalf("%.80q: %v", args, err)
	}
	return v.String()
}

// logged are the variants that add an entry to the log.
var logged = []string{"flagged", "function", "global"}

// variantsOf returns the ways in which the i-th hostile script is run. A long test uses all of
// them. A short one uses one of those that every node runs, now and once more after a restart. A
// script that calls commands writes to keys of its own, so it runs under the global lock or as a
// function.
func variantsOf(i int, a zoo.Animal) []string {
	ways := slices.Concat(logged, []string{"reading"})
	if strings.HasPrefix(a.Name, "redis.call") {
		ways = []string{"global", "function"}
	}
	if proc.Long() {
		return ways
	}
	return ways[i%2 : i%2+1]
}

// worst are hostile scripts that run every time, because they once took more time or more memory
// than others.
var worst = []string{
	"loop", "doubling in pcall", "growing key", "reply after a write", "metamethods in coroutines", "lua: growing fields", "lua: __index chain of computed keys",
	"lua: __call of no function", "pcall: error", "cjson.decode: error", "table.concat of nothing", "redis.call: RESTORE stream", "redis.call: MEMORY USAGE hash",
}

// drawn is about how many of the other scripts run.
const drawn = 8

// animals returns the hostile scripts to run: in a long test all of them, and in a short one the
// worst and some that are drawn at random.
func animals(t *testing.T) []zoo.Animal {
	all := slices.Concat(zoo.Animals, zoo.Dear)
	if proc.Long() {
		return all
	}
	rng := rand.New(rand.NewPCG(proc.Seed(t, uint64(time.Now().UnixNano())), 0))
	var run []zoo.Animal
	for _, a := range all {
		if slices.Contains(worst, a.Name) || rng.IntN(len(all)) < drawn {
			run = append(run, a)
		}
	}
	return run
}

// variants are the ways in which a script is run: under the global lock, under the lock of its key,
// as a read that adds nothing to the log, and as a function.
var variants = map[string]func(source string) (call []string){
	"global":   func(s string) []string { return []string{"EVAL", s, "1", "{zoo}k"} },
	"flagged":  func(s string) []string { return []string{"EVAL", "#!lua flags=allow-key-locking\n" + s, "1", "{zoo}k"} },
	"reading":  func(s string) []string { return []string{"EVAL_RO", s, "1", "{zoo}k"} },
	"function": func(string) []string { return []string{"FCALL", "animal", "1", "{zoo}k"} },
}

// asLibrary returns a library with a function that does the same as a script.
func asLibrary(source string) string {
	return "#!lua name=zoo\nredis.register_function('animal', function(KEYS, ARGV) " + source + "\nend)"
}

// visit runs a hostile script, and checks how it ended and what it left behind.
func visit(t *testing.T, c *respconn.Conn, variant string, a zoo.Animal) {
	t.Helper()
	want := a.Want
	if want == "" && slices.ContainsFunc(zoo.Dear, func(d zoo.Animal) bool { return d.Name == a.Name }) {
		want = zoo.Ended
	}
	if a.SmallLimits {
		want = ""
	}
	switch {
	case variant == "function":
		if got := say(t, c, "FUNCTION", "LOAD", "REPLACE", asLibrary(a.Source)); got != `"zoo"` {
			t.Fatalf("%s: %s", a.Name, got)
		}
	case variant == "reading" && a.Writes:
		want = zoo.RefusedToWrite
	}
	began := time.Now()
	got := say(t, c, variants[variant](a.Source)...)
	if want != "" && (got[0] != '-' || !strings.Contains(got, want)) {
		t.Errorf("%s, %s: %.300s", a.Name, variant, got)
	}
	t.Logf("%s, %s: %v", a.Name, variant, time.Since(began).Round(time.Millisecond))
	if a.Writes && variant != "reading" {
		if got := say(t, c, a.Ask, "{zoo}k"); got != a.Left {
			t.Errorf("%s, %s: it left %s, not %s", a.Name, variant, got, a.Left)
		}
	}
}

// TestHostileScriptsEndOnACluster: at the default limits each script ends with an error that names
// a limit, on all nodes alike and after about the same processor time. No process dies, and other
// clients are served meanwhile. All nodes reach the same state again after they are killed and
// replay their logs.
func TestHostileScriptsEndOnACluster(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	// Other tests cover reading scripts that take long, and clients that wait longer than the
	// defaults allow. Here a busy machine may take its time.
	cluster := proc.NewCluster(t, 3, proc.Options{Args: []string{"--busy-reply-threshold", "600000", "--write-timeout-ms", "60000"}})
	c := proc.Dial(t, cluster.Follower().Addr())
	pids := pidsOf(cluster)
	watch := watchNodes(cluster)
	probe := startProbe(t, cluster.WaitLeader().Addr())
	spent, runs := cpuOf(cluster), 0
	for i, a := range animals(t) {
		for _, variant := range variantsOf(i, a) {
			visit(t, c, variant, a)
			say(t, c, "DEL", "li", "se", "is", "zs", "ha", "st", "xs", "ge", "hl", "hm") // the keys of zoo.Dear
			runs++
		}
	}
	probe.stop(t)
	for name, bytes := range watch() {
		t.Logf("%s: %d MB at its highest", name, bytes/mb)
		if bytes > rssMax {
			t.Errorf("%s took %d MB", name, bytes/mb)
		}
	}
	for i, now := range cpuOf(cluster) {
		each := (now - spent[i]) / time.Duration(runs)
		t.Logf("%s: %v of a processor for each of %d scripts", cluster.Nodes[i].Name, each.Round(time.Millisecond), runs)
		if each > cpuMax {
			t.Errorf("%s took %v of a processor for each script", cluster.Nodes[i].Name, each)
		}
	}
	if now := pidsOf(cluster); !slices.Equal(now, pids) {
		t.Errorf("processes were %v and are %v", pids, now)
	}
	say(t, c, "SET", "{zoo}last", "1")
	before, executed := same(t, cluster, 0)
	cluster.Restart()
	cluster.WaitLeader()
	if after, _ := same(t, cluster, executed); after != before {
		t.Errorf("the state was %s, and is %s after a restart", before, after)
	}
}

func cpuOf(c *proc.Cluster) []time.Duration {
	var spent []time.Duration
	for _, n := range c.Nodes {
		spent = append(spent, n.CPU())
	}
	return spent
}

func pidsOf(c *proc.Cluster) []int {
	var pids []int
	for _, n := range c.Nodes {
		pids = append(pids, n.Pid())
	}
	return pids
}

// watchNodes measures the memory of the nodes until most is called, which returns the largest
// values.
func watchNodes(c *proc.Cluster) (most func() map[string]int64) {
	highest, done := map[string]int64{}, make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				for _, n := range c.Nodes {
					highest[n.Name] = max(highest[n.Name], n.RSS())
				}
			}
		}
	})
	return func() map[string]int64 {
		close(done)
		wg.Wait()
		return highest
	}
}

// probe increments a key that no script uses.
type probe struct {
	took []time.Duration
	done chan struct{}
	wg   sync.WaitGroup
	err  string
}

func startProbe(t *testing.T, addr string) *probe {
	p := &probe{done: make(chan struct{})}
	c := proc.Dial(t, addr)
	c.Patience = patience
	p.wg.Go(func() {
		for {
			select {
			case <-p.done:
				return
			default:
			}
			began := time.Now()
			v, err := c.Do("INCR", "elsewhere")
			// The number may begin anew: FLUSHALL, FLUSHDB and SWAPDB are among the scripts' commands.
			if err != nil || !strings.HasPrefix(v.String(), ":") {
				p.err = v.String()
				return
			}
			p.took = append(p.took, time.Since(began))
		}
	})
	return p
}

func (p *probe) stop(t *testing.T) {
	t.Helper()
	close(p.done)
	p.wg.Wait()
	if p.err != "" || len(p.took) == 0 {
		t.Fatalf("another key: %d INCRs, and then %q", len(p.took), p.err)
	}
	slices.Sort(p.took)
	t.Logf("another key meanwhile: %d INCRs, p50 %v, p99 %v, at most %v", len(p.took), p.took[len(p.took)/2], p.took[len(p.took)*99/100], p.took[len(p.took)-1])
}

// same waits until all nodes have executed the same entries, up to atLeast or further, and have the
// same state. It returns the digest of that state and the last executed entry.
func same(t *testing.T, c *proc.Cluster, atLeast int) (state string, executed int) {
	t.Helper()
	proc.Wait(t, replayPatience, "all nodes have the same state", func() bool {
		seen := map[string]bool{}
		for _, n := range c.Nodes {
			var err error
			if state, err = proc.Digest(n.Addr()); err != nil {
				return false
			}
			index := proc.Info(n.Addr(), "raft")["raft_executed"]
			executed, _ = strconv.Atoi(index)
			seen[state+index] = true
		}
		return len(seen) == 1 && executed >= atLeast
	})
	return state, executed
}
