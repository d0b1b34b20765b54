package clients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const (
	shards = 4
	// patience bounds every wait, because these tests share a machine.
	patience = 60 * time.Second
	keys     = 50
	// steps is the number of operations that a client must complete between two disturbances. It
	// covers every key at least once.
	steps = keys + 10
	// pace is the shortest time between two operations of a client. It leaves the machine free for
	// the cluster, which the tests wait for.
	pace = 4 * time.Millisecond
)

// spread makes node i mod 3 the leader of shard i, and waits until all nodes report that.
func spread(t *testing.T, c *proc.Cluster) {
	t.Helper()
	for shard := range shards {
		give(t, c, shard, shard%len(c.Nodes))
	}
}

// give makes a node the leader of a shard.
func give(t *testing.T, c *proc.Cluster, shard, node int) {
	t.Helper()
	proc.Wait(t, patience, fmt.Sprintf("%s leads shard %d", c.Nodes[node].Name, shard), func() bool {
		if leads(c, shard) == c.Nodes[node].Port {
			return true
		}
		_, _ = proc.Ask(c.Nodes[node].Addr(), "LOCKSTEP", "TRANSFER", fmt.Sprint(shard), c.Nodes[node].Name)
		return false
	})
}

// leads returns the client port of a shard's leader if all running nodes name the same one, and 0
// otherwise.
func leads(c *proc.Cluster, shard int) int {
	port := 0
	for _, n := range c.Nodes {
		if !n.Running() {
			continue
		}
		ports := leaderPorts(n.Addr())
		if len(ports) != shards || port != 0 && ports[shard] != port {
			return 0
		}
		port = ports[shard]
	}
	return port
}

// slotRange is a range of hash slots with the client ports of its nodes, the leader's first.
type slotRange struct {
	first, last string
	ports       []int
}

// slots returns a node's answer to CLUSTER SLOTS, or nil if it does not answer.
func slots(addr string) []slotRange {
	c, err := respconn.DialTimeout(addr, patience)
	if err != nil {
		return nil
	}
	defer c.Close()
	v, err := c.Do("CLUSTER", "SLOTS")
	if err != nil || v.IsError() {
		return nil
	}
	var all []slotRange
	for _, e := range v.Elems {
		r := slotRange{first: string(e.Elems[0].Bytes), last: string(e.Elems[1].Bytes)}
		for _, node := range e.Elems[2:] {
			port, _ := strconv.Atoi(string(node.Elems[1].Bytes))
			r.ports = append(r.ports, port)
		}
		all = append(all, r)
	}
	return all
}

// leaderPorts returns the client ports of the leaders of all shards, as a node reports them.
func leaderPorts(addr string) []int {
	var ports []int
	for _, r := range slots(addr) {
		ports = append(ports, r.ports[0])
	}
	return ports
}

// load is a running client.
type load struct {
	name   string
	ops    atomic.Int64
	mu     sync.Mutex
	errors []string
	stop   func()
	// gives matches the errors that the library may return after a node has died. It is nil if
	// there are none.
	gives *regexp.Regexp
	// bereft is true after a node has died.
	bereft atomic.Bool
}

func (l *load) failed(text string) {
	if l.bereft.Load() && l.gives != nil && l.gives.MatchString(text) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.errors) < 10 {
		l.errors = append(l.errors, text)
	}
}

// goOn waits until every client of all has completed steps more operations.
func goOn(t *testing.T, c *proc.Cluster, all []*load, when string) {
	t.Helper()
	from := map[*load]int64{}
	for _, l := range all {
		from[l] = l.ops.Load()
	}
	stays := func(l *load) bool { return l.ops.Load() < from[l]+steps }
	if proc.Poll(patience, func() bool { return !slices.ContainsFunc(all, stays) }) {
		return
	}
	for _, n := range c.Nodes {
		t.Logf("%s sees:\n%s", n.Name, view(n.Addr()))
	}
	for _, l := range all {
		if stays(l) {
			l.mu.Lock()
			t.Errorf("%s, %s: %d operations and no more; errors: %q", l.name, when, l.ops.Load(), l.errors)
			l.mu.Unlock()
		}
	}
	t.FailNow()
}

// loop starts a load in Go that writes a key and reads it back.
func loop(name string, set func(ctx context.Context, key, value string) error, get func(ctx context.Context, key string) (string, error)) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l, done := &load{}, make(chan struct{})
	l.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for i := 0; ctx.Err() == nil; i++ {
			<-tick.C
			key, value := fmt.Sprintf("%s:%d", name, i%keys), fmt.Sprint(i)
			if err := set(ctx, key, value); err != nil && ctx.Err() == nil {
				l.failed(fmt.Sprintf("SET %s: %v", key, err))
				continue
			}
			if got, err := get(ctx, key); ctx.Err() == nil && (err != nil || got != value) {
				l.failed(fmt.Sprintf("GET %s: %q and not %q, %v", key, got, value, err))
			}
			l.ops.Add(1)
		}
	}()
	return l
}

func goRedisLoad(t *testing.T, c redis.UniversalClient, name string) *load {
	t.Cleanup(func() { c.Close() })
	return loop(name,
		func(ctx context.Context, key, value string) error { return c.Set(ctx, key, value, 0).Err() },
		func(ctx context.Context, key string) (string, error) { return c.Get(ctx, key).Result() })
}

// clusterClients are the client libraries that follow the hash slots. go-redis reloads the slots
// after a MOVED reply and every ClusterStateReloadInterval. The default is a minute, and a
// UniversalClient has no way to set it. Until the reload it tries a dead node again and again.
// rueidis never sends a write twice by itself.
var clusterClients = []struct {
	name  string
	start func(*testing.T, *proc.Cluster) *load
	// gives matches the errors that the library returns to its caller after a node has died,
	// instead of trying again. It is nil if there are none.
	gives *regexp.Regexp
	// waits is true if the library does not look for the new leader, so that it continues only when
	// the node is back.
	waits bool
	// byNode is true if the client needs Node.js.
	byNode bool
}{
	// MaxRedirects also bounds the time. So many tries last longer than an election on the busiest
	// machine.
	{"go-redis ClusterClient", func(t *testing.T, c *proc.Cluster) *load {
		return goRedisLoad(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), MaxRedirects: 60, ClusterStateReloadInterval: time.Second, ReadTimeout: patience, WriteTimeout: patience}), "clusterclient")
	}, nil, false, false},
	// It tries a command four times, at least twice at the dead node. The last try may reach a node
	// that answers MOVED.
	{"go-redis UniversalClient", func(t *testing.T, c *proc.Cluster) *load {
		return goRedisLoad(t, redis.NewUniversalClient(&redis.UniversalOptions{Addrs: c.Addrs(), ReadTimeout: patience, WriteTimeout: patience}), "universal")
	}, regexp.MustCompile("connection refused|connection reset|EOF|broken pipe|MOVED"), true, false},
	{"rueidis", func(t *testing.T, c *proc.Cluster) *load {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: c.Addrs(), ConnWriteTimeout: patience})
		must(t, err)
		t.Cleanup(client.Close)
		return loop("rueidis",
			func(ctx context.Context, key, value string) error {
				return client.Do(ctx, client.B().Set().Key(key).Value(value).Build()).Error()
			},
			func(ctx context.Context, key string) (string, error) {
				return client.Do(ctx, client.B().Get().Key(key).Build()).ToString()
			})
	}, regexp.MustCompile("connection refused|connection reset|EOF|broken pipe|closing"), false, false},
	{"ioredis.Cluster", func(t *testing.T, c *proc.Cluster) *load { return nodeLoad(t, "ioredis", c) }, nil, false, true},
	{"node-redis createCluster", func(t *testing.T, c *proc.Cluster) *load { return nodeLoad(t, "redis", c) }, regexp.MustCompile(`ECONNRESET|EPIPE|Socket closed|ECONNREFUSED`), true, true},
}

// nodeLoad runs cluster.js.
func nodeLoad(t *testing.T, library string, c *proc.Cluster) *load {
	run := exec.Command("node", append([]string{"cluster.js", library}, c.Addrs()...)...)
	run.Dir = nodeModules(t)
	return programLoad(t, run)
}

// pythonLoad runs cluster.py with a Python that has redis-py, such as Debian's.
func pythonLoad(t *testing.T, c *proc.Cluster) *load {
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import redis.cluster").Run() == nil {
			return programLoad(t, exec.Command(python, append([]string{filepath.Join("python", "cluster.py")}, c.Addrs()...)...))
		}
	}
	proc.Skip(t, "no Python has redis: apt-get install python3-redis")
	return nil
}

// programLoad runs a load in a program that prints its progress.
func programLoad(t *testing.T, run *exec.Cmd) *load {
	in, err := run.StdinPipe()
	must(t, err)
	out, err := run.StdoutPipe()
	must(t, err)
	run.Stderr = run.Stdout
	must(t, proc.StartMortal(run))
	l, done := &load{}, make(chan struct{})
	go func() {
		defer close(done)
		l.readLines(out)
		_ = run.Wait()
	}()
	l.stop = sync.OnceFunc(func() {
		in.Close()
		select {
		case <-done:
		case <-time.After(patience):
			l.failed("it does not end")
			_ = run.Process.Kill()
			<-done
		}
	})
	t.Cleanup(l.stop)
	return l
}

// readLines reads the lines that a program prints.
func (l *load) readLines(out io.Reader) {
	ended := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		var n int64
		switch {
		case word == "done":
			ended = true
		case word == "n" && func() bool { _, err := fmt.Sscan(rest, &n); return err == nil }():
			l.ops.Store(n)
		default:
			l.failed(lines.Text())
		}
	}
	if !ended {
		l.failed("it ended by itself")
	}
}

// disturb moves the leadership of each shard. Then it kills the node that leads shard 0, and starts
// the node again. Before each step the clients must have completed more operations. The clients in
// wait need do so only when the node is back.
func disturb(t *testing.T, c *proc.Cluster, all, wait []*load) {
	t.Helper()
	spread(t, c)
	goOn(t, c, all, "at the start")
	for shard := range shards {
		give(t, c, shard, (shard+1)%len(c.Nodes))
		goOn(t, c, all, fmt.Sprintf("shard %d has moved", shard))
	}
	victim := c.Nodes[1]
	for _, l := range all {
		l.bereft.Store(true)
	}
	victim.Kill9()
	goOn(t, c, slices.DeleteFunc(slices.Clone(all), func(l *load) bool { return slices.Contains(wait, l) }), victim.Name+" is dead")
	victim.Start()
	victim.WaitReady()
	goOn(t, c, all, victim.Name+" is back")
}

// throughChanges runs all clients at the same time through changes of the leaders.
func throughChanges(t *testing.T, c *proc.Cluster) {
	var all, wait []*load
	for _, client := range clusterClients {
		if _, why := installed(); client.byNode && why != "" {
			t.Run(client.name, func(t *testing.T) { proc.Skip(t, why) })
			continue
		}
		l := client.start(t, c)
		l.name, l.gives = client.name, client.gives // failed reads gives only after bereft is set
		t.Cleanup(l.stop)
		all = append(all, l)
		if client.waits {
			wait = append(wait, l)
		}
	}
	disturb(t, c, all, wait)
	for _, l := range all {
		l.stop()
		t.Logf("%s: %d operations", l.name, l.ops.Load())
		for _, text := range l.errors {
			t.Errorf("%s gave the error %s", l.name, text)
		}
	}
}

// TestClusterClientsThroughChangesOfLeader runs every cluster-aware client through transfers of
// leadership and the death of a leader, with both routing modes. The clients see no errors except
// those that a library returns because it does not try again by itself.
func TestClusterClientsThroughChangesOfLeader(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	for _, routing := range []string{"forward", "redirect"} {
		t.Run(routing, func(t *testing.T) {
			t.Parallel()
			c := proc.NewCluster(t, 3, proc.Options{Shards: shards, Args: []string{"--routing", routing}})
			t.Run("libraries", func(t *testing.T) { throughChanges(t, c) })
			t.Run("redis-cli -c", func(t *testing.T) { redisCLICluster(t, c) })
			t.Run("redis-cli --cluster", func(t *testing.T) { redisCLITools(t, c) })
			t.Run("redis-benchmark --cluster", func(t *testing.T) { benchmarkCluster(t, c) })
		})
	}
}

// cli is a running redis-cli -c.
type cli struct {
	run   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func openCLI(ctx context.Context, t *testing.T, c *proc.Cluster) *cli {
	t.Helper()
	host, port := split(t, c.Nodes[0].Addr())
	run := exec.CommandContext(ctx, proc.Tool(t, "redis-cli"), "-c", "-h", host, "-p", port)
	in, err := run.StdinPipe()
	must(t, err)
	out, err := run.StdoutPipe()
	must(t, err)
	run.Stderr = run.Stdout
	must(t, proc.StartMortal(run))
	return &cli{run, in, bufio.NewScanner(out)}
}

// say types a command, and returns the answer.
func (c *cli) say(format string, args ...any) (string, error) {
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		return "", err
	}
	for c.lines.Scan() {
		if text := c.lines.Text(); text != "" && !strings.HasPrefix(text, "-> Redirected") {
			return text, nil
		}
	}
	return "", errors.Join(c.lines.Err(), io.ErrUnexpectedEOF)
}

func (c *cli) end() error {
	c.in.Close()
	return c.run.Wait()
}

// redisCLICluster types commands on all shards into redis-cli -c while the leaders of the shards
// change.
func redisCLICluster(t *testing.T, c *proc.Cluster) {
	spread(t, c)
	person := openCLI(deadline(t), t, c)
	for i := range 5 * keys {
		if i%keys == 0 {
			give(t, c, i/keys%shards, (i/keys+2)%len(c.Nodes))
		}
		if got, err := person.say("SET cli:%d %d", i%keys, i); err != nil || got != "OK" {
			t.Fatalf("SET %d: %q, %v", i, got, err)
		}
		if got, err := person.say("GET cli:%d", i%keys); err != nil || got != fmt.Sprint(i) {
			t.Fatalf("GET behind SET %d: %q, %v", i, got, err)
		}
	}
	must(t, person.end())
}

// wantTool waits until the output of redis-cli --cluster against a node contains all of wants. One
// run may fail, because a leader may change between two requests of redis-cli.
func wantTool(t *testing.T, n *proc.Node, verb string, wants ...string) {
	t.Helper()
	var out []byte
	var err error
	if !proc.Poll(patience, func() bool {
		out, err = exec.CommandContext(deadline(t), proc.Tool(t, "redis-cli"), "--cluster", verb, n.Addr()).CombinedOutput()
		return err == nil && !slices.ContainsFunc(wants, func(want string) bool { return !strings.Contains(string(out), want) })
	}) {
		t.Errorf("--cluster %s %s: %v\n%s", verb, n.Name, err, out)
	}
}

// redisCLITools runs the cluster commands of redis-cli against every node.
func redisCLITools(t *testing.T, c *proc.Cluster) {
	spread(t, c)
	for _, n := range c.Nodes {
		wantTool(t, n, "check", "[OK] All nodes agree about slots configuration.", "[OK] All 16384 slots covered.")
		wantTool(t, n, "info", "3 masters", "| 8192 slots |")
	}
	// With one node dead, the others still agree and cover all slots.
	c.Nodes[2].Kill9()
	proc.Wait(t, patience, "the others lead all shards", func() bool {
		ports := leaderPorts(c.Nodes[0].Addr())
		return len(ports) == shards && !slices.Contains(ports, c.Nodes[2].Port)
	})
	wantTool(t, c.Nodes[0], "check", "All nodes agree", "All 16384 slots covered")
	c.Nodes[2].Start()
	c.Nodes[2].WaitReady()
}

// leaderUnknown is the error of redis-benchmark when a reply redirects it to a node that led
// nothing when the benchmark began. It knows only the nodes that led a shard then.
const leaderUnknown = "could not find node with ID"

// benchmarkCluster runs redis-benchmark --cluster again and again, until the leader of every shard
// has changed meanwhile. redis-benchmark ends when a connection breaks, so the test kills no node.
func benchmarkCluster(t *testing.T, c *proc.Cluster) {
	spread(t, c)
	host, port := split(t, c.Nodes[0].Addr())
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	tool := proc.Tool(t, "redis-benchmark")
	var changes atomic.Int64
	ended := make(chan string, 1)
	go func() {
		for {
			out, err := exec.CommandContext(ctx, tool, "--cluster", "-h", host, "-p", port, "-t", "set,get,incr", "-n", "2000", "-c", "12", "-q").CombinedOutput()
			switch {
			case ctx.Err() == nil && strings.Contains(string(out), leaderUnknown):
			case err != nil || strings.Count(string(out), "requests per second") < 3 || strings.Contains(string(out), "Error"):
				ended <- fmt.Sprintf("after %d changes of leader: %v\n%s", changes.Load(), err, out)
				return
			case changes.Load() >= shards:
				ended <- ""
				return
			}
		}
	}()
	for i := 0; ; i++ {
		select {
		case wrong := <-ended:
			if wrong != "" {
				t.Error(wrong)
			}
			return
		default:
			give(t, c, i%shards, (i+1+i/shards)%len(c.Nodes))
			changes.Add(1)
		}
	}
}

// TestAllNodesGiveTheSameView compares the descriptions of the cluster by all nodes after each
// change.
func TestAllNodesGiveTheSameView(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: shards})
	epoch := 0
	for round := range 6 {
		switch {
		case round == 4:
			c.Nodes[0].Kill9()
		case round == 5:
			c.Nodes[0].Start()
			c.Nodes[0].WaitReady()
		default:
			give(t, c, round, (round+1)%len(c.Nodes))
		}
		var views []string
		proc.Wait(t, patience, fmt.Sprintf("all nodes give the same view after change %d", round), func() bool {
			views = views[:0]
			for _, n := range c.Nodes {
				if n.Running() {
					views = append(views, view(n.Addr()))
				}
			}
			settled := round != 4 || strings.Count(views[0], ",fail ") == 1 && strings.Count(views[0], "health=failed") == shards && !strings.Contains(views[0], fmt.Sprintf("leads %d", c.Nodes[0].Port))
			return settled && len(slices.Compact(slices.Clone(views))) == 1 && !strings.Contains(views[0], "none")
		})
		proc.Wait(t, patience, fmt.Sprintf("the cluster is well after change %d", round), func() bool {
			now := 0
			text, err := proc.Ask(c.Nodes[1].Addr(), "CLUSTER", "INFO")
			must(t, err)
			_, err = fmt.Sscanf(text[strings.Index(text, "cluster_current_epoch:"):], "cluster_current_epoch:%d", &now)
			must(t, err)
			if now < epoch {
				t.Errorf("change %d: the epoch was %d, and then\n%s", round, epoch, text)
			}
			epoch = now
			return strings.Contains(text, "cluster_state:ok") || round == 4
		})
	}
}

// view returns a node's description of the cluster, without its marks on itself. It returns "none"
// if the node gives no complete description.
func view(addr string) string {
	nodes, err := proc.Ask(addr, "CLUSTER", "NODES")
	if err != nil {
		return "none"
	}
	lines := strings.Split(strings.ReplaceAll(nodes, "myself,", ""), "\n")
	slices.Sort(lines)
	text := strings.Join(lines, "\n")
	whole, err := shardsTold(addr)
	if err != nil {
		return "none"
	}
	text += whole
	ranges := slots(addr)
	if len(ranges) != shards {
		return "none"
	}
	for _, r := range ranges {
		slices.Sort(r.ports[1:])
		text += fmt.Sprintf("\n%s-%s leads %d, then %v", r.first, r.last, r.ports[0], r.ports[1:])
	}
	return text
}

// shardsTold returns the answer to CLUSTER SHARDS without the offsets, which change all the time.
func shardsTold(addr string) (string, error) {
	c, err := respconn.DialTimeout(addr, patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	v, err := c.Do("CLUSTER", "SHARDS")
	if err != nil {
		return "", err
	}
	text := ""
	for _, shard := range v.Elems {
		text += "\nslots " + strings.Join(strings.Fields(shard.Elems[1].String()), " ")
		var nodes []string
		for _, node := range shard.Elems[3].Elems {
			said := ""
			for i := 0; i+1 < len(node.Elems); i += 2 {
				if name := string(node.Elems[i].Bytes); name != "replication-offset" {
					said += " " + name + "=" + string(node.Elems[i+1].Bytes)
				}
			}
			nodes = append(nodes, said)
		}
		slices.Sort(nodes)
		text += strings.Join(nodes, ";")
	}
	return text, nil
}

// nodeModules returns the folder with the scripts and the installed modules. They are installed
// once.
func nodeModules(t *testing.T) string {
	t.Helper()
	dir, why := installed()
	if why != "" {
		proc.Skip(t, why)
	}
	return dir
}

var installed = sync.OnceValues(func() (dir, why string) {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", tool + " is not installed: no client of Node.js was tried"
		}
	}
	dir, err := filepath.Abs("node")
	if err != nil {
		return "", err.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "ci", "--silent", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Sprintf("npm ci failed (no registry?): %v %s", err, out)
	}
	return dir, ""
})
