package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/node/status"
)

// Options are the options of a demo.
type Options struct {
	Nodes, Port int
	// Keep is a folder for the data, which stays; "" is a temporary folder.
	Keep string
	// Binary is the path of lockstepd; "" builds it from the module at hand.
	Binary string
	// Args are further arguments for every node.
	Args []string
}

// Demo is the running cluster.
type Demo struct {
	Dir   string
	Procs []*Process
	Load  *Load

	temporary bool
	clients   []*redis.Client

	mu     sync.Mutex // guards what follows
	latest *status.Cluster
	events []string
	// forgotten is how many older events are no longer in events.
	forgotten int
	leader    string
	// downSince is when the leader was killed. It is zero if a leader lives.
	downSince time.Time
}

// nodesMax is how many nodes a demo may have: each has a digit on the keyboard.
const nodesMax = 9

// startPatience is how long the cluster may take to have a leader everywhere.
const startPatience = 30 * time.Second

// Start starts the processes and waits until the cluster is healthy.
func Start(ctx context.Context, opt Options) (*Demo, error) {
	if opt.Nodes < 1 || opt.Nodes > nodesMax {
		return nil, fmt.Errorf("--nodes is 1 to %d, not %d", nodesMax, opt.Nodes)
	}
	if err := checkPorts(opt.Port, opt.Nodes); err != nil {
		return nil, err
	}
	d := &Demo{Dir: opt.Keep}
	if d.Dir == "" {
		dir, err := os.MkdirTemp("", "lockstep-demo-")
		if err != nil {
			return nil, err
		}
		d.Dir, d.temporary = dir, true
	} else if err := checkKept(d.Dir, opt.Nodes); err != nil {
		return nil, err
	}
	binary := opt.Binary
	if binary == "" {
		built, err := buildBinary(ctx, d.Dir)
		if err != nil {
			d.Close()
			return nil, err
		}
		binary = built
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	var addrs []string
	for i := range opt.Nodes {
		p := newProcess(binary, d.Dir, opt.Port, i, opt.Args)
		d.Procs = append(d.Procs, p)
		addrs = append(addrs, p.Addr())
		d.clients = append(d.clients, redis.NewClient(&redis.Options{
			Addr: p.Addr(), MaxRetries: -1, PoolSize: 2, DialTimeout: time.Second, ReadTimeout: 3 * time.Second, DisableIdentity: true, Protocol: 2,
		}))
	}
	d.Load = newLoad(addrs)
	if err := d.startAll(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Demo) startAll(ctx context.Context) error {
	for _, p := range d.Procs {
		if err := p.Start(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		c := d.Poll(ctx)
		if c != nil && c.Health == status.Healthy && len(c.Nodes) == len(d.Procs) {
			return nil
		}
		for _, p := range d.Procs {
			if !p.Running() {
				return fmt.Errorf("%s ended at once; its last words:\n%s", p.Name, p.lastWords())
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the cluster is not healthy after %v (%s); logs are in %s", startPatience, d.reasons(), d.Dir)
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// page is the address of the web page of a running node. Every page shows the whole cluster. It is
// "" if no running node has one.
func (d *Demo) page() string {
	for _, p := range d.Procs {
		if p.Page != "" && p.Running() {
			return p.Page
		}
	}
	return ""
}

// reasons says why the cluster is not as it should be.
func (d *Demo) reasons() string {
	switch c := d.Latest(); {
	case c == nil:
		return "no node answers"
	case c.Health == status.Healthy:
		return fmt.Sprintf("%d of %d nodes are members", len(c.Nodes), len(d.Procs))
	default:
		return strings.Join(c.Reasons, "; ")
	}
}

// Close ends all processes and deletes temporary data.
func (d *Demo) Close() {
	var wait sync.WaitGroup
	for _, p := range d.Procs {
		wait.Go(func() { p.Stop(3 * time.Second) })
	}
	wait.Wait()
	for _, c := range d.clients {
		c.Close()
	}
	if d.temporary {
		os.RemoveAll(d.Dir)
	}
}

// Poll asks the nodes, one after the other, for the cluster's status. It returns nil if
// none answers.
func (d *Demo) Poll(ctx context.Context) *status.Cluster {
	for i, p := range d.Procs {
		if !p.Running() {
			continue
		}
		text, err := d.clients[i].Do(ctx, "LOCKSTEP", "STATUS").Text()
		if err != nil {
			continue
		}
		var c status.Cluster
		if json.Unmarshal([]byte(text), &c) == nil {
			d.saw(&c)
			return &c
		}
	}
	return nil
}

// saw stores the status and records a change of leader.
func (d *Demo) saw(c *status.Cluster) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.latest = c
	for i := range c.Nodes {
		g := c.Nodes[i].Group("0")
		if g == nil || g.Role != "leader" || c.Nodes[i].Name == d.leader {
			continue
		}
		if d.leader != "" {
			took := ""
			if !d.downSince.IsZero() {
				took = fmt.Sprintf(", %.1f s after the kill", time.Since(d.downSince).Seconds())
				d.downSince = time.Time{}
			}
			d.noteLocked("%s leads shard 0 (term %d%s)", c.Nodes[i].Name, g.Term, took)
		}
		d.leader = c.Nodes[i].Name
	}
}

// Latest is the last status that was seen.
func (d *Demo) Latest() *status.Cluster {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.latest
}

const eventsKept = 8

func (d *Demo) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noteLocked(format, args...)
}

func (d *Demo) noteLocked(format string, args ...any) {
	d.events = append(d.events, time.Now().Format("15:04:05 ")+fmt.Sprintf(format, args...))
	if len(d.events) > eventsKept {
		d.events = d.events[1:]
		d.forgotten++
	}
}

// Events returns the latest events, oldest first.
func (d *Demo) Events() []string {
	events, _ := d.eventsFrom(0)
	return events
}

// eventsFrom returns the kept events from number n on, and the number of the next one.
func (d *Demo) eventsFrom(n int) (events []string, next int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next = d.forgotten + len(d.events)
	from := min(max(n-d.forgotten, 0), len(d.events))
	return append(events, d.events[from:]...), next
}

// KillOrStart kills node i (from 0) with SIGKILL, or starts it again.
func (d *Demo) KillOrStart(i int) {
	if i < 0 || i >= len(d.Procs) {
		return
	}
	p := d.Procs[i]
	if !p.Running() {
		if err := p.Start(); err != nil {
			d.note("%v", err)
			return
		}
		d.note("%s started again", p.Name)
		return
	}
	p.Signal(syscall.SIGKILL)
	d.mu.Lock()
	if d.leader == p.Name {
		d.downSince = time.Now()
	}
	d.noteLocked("%s killed with SIGKILL", p.Name)
	d.mu.Unlock()
}

// MoveLeader hands the leadership of shard 0 to another node.
func (d *Demo) MoveLeader(ctx context.Context) {
	for i, p := range d.Procs {
		if !p.Running() {
			continue
		}
		err := d.clients[i].Do(ctx, "LOCKSTEP", "TRANSFER", "0").Err()
		if err == nil {
			d.note("asked for another leader")
			return
		}
		if isReply(err) {
			d.note("no other leader: %v", err)
			return
		}
	}
	d.note("no node answers")
}

// Verdict is the result: how many acknowledged writes were lost.
func (d *Demo) Verdict() string {
	return fmt.Sprintf("acknowledged writes lost: %d of %d", d.Load.Lost.Load(), d.Load.Acknowledged.Load())
}

// FinalCheck reads everything back once more after the load has ended, and returns the
// verdict.
func (d *Demo) FinalCheck(ctx context.Context) (string, error) {
	if d.Load.Acknowledged.Load() == 0 {
		return "nothing was written", nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	n, err := d.Load.CheckAll(ctx)
	if err != nil {
		return "", err
	}
	if d.Load.Lost.Load() > 0 {
		return "", errors.New(d.Verdict())
	}
	return fmt.Sprintf("%s (all %d keys read back)", d.Verdict(), n), nil
}
