package linear

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const (
	// starved is a wait for processor and disk that can make a node miss a heartbeat: half of the
	// silence after which a follower stands for election.
	starved = 400 * time.Millisecond
	// busyTurns is how often the test tries again, because the machine may stop one process and no
	// other.
	busyTurns = 3
)

// TestBusyMachineChangesNoLeader saturates every core with clients, and heartbeats must still
// arrive in time. Other programs may use the machine as well. So a turn with a change of leader is
// repeated, and does not count if an otherwise idle goroutine was delayed, too.
func TestBusyMachineChangesNoLeader(t *testing.T) {
	c := proc.NewCluster(t, 3, proc.Options{})
	d := 10 * time.Second
	if proc.Long() {
		d = time.Minute
	}
	calm := 0
	for range busyTurns {
		changes, wait := busy(t, c, d)
		if changes == "" {
			return
		}
		if wait < starved {
			calm++
		}
		t.Logf("the machine kept somebody waiting for %v:\n%s", wait, changes)
	}
	if calm > 0 {
		t.Errorf("the leader changed each time, though the machine kept nobody waiting for %v in %d of %d turns", starved, calm, busyTurns)
	}
}

// busy saturates the machine for a while. It returns the changes of leader, and the longest time
// for which a goroutine was delayed.
func busy(t *testing.T, c *proc.Cluster, d time.Duration) (changes string, wait time.Duration) {
	t.Helper()
	leader := c.WaitLeader()
	term := proc.Info(leader.Addr(), "raft")["raft_term"]
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	waited := make(chan time.Duration, 1)
	go func() { waited <- longestWait(t, ctx) }()
	commands, err := saturate(ctx, c.Addrs())
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d commands in %v", commands, d)
	for _, n := range c.Nodes {
		var info map[string]string
		proc.Wait(t, proc.ElectionPatience, n.Name+" tells who leads", func() bool {
			info = proc.Info(n.Addr(), "raft")
			return info["raft_term"] != ""
		})
		if info["raft_term"] != term || info["raft_leader"] != leader.Name {
			changes += fmt.Sprintf("%s: term %s under %s; before it was term %s under %s\n", n.Name, info["raft_term"], info["raft_leader"], term, leader.Name)
		}
	}
	return changes, <-waited
}

// longestWait is the longest time that it took to wake up and to write a byte to disk, until the
// context ended.
func longestWait(t *testing.T, ctx context.Context) (longest time.Duration) {
	f, err := os.Create(filepath.Join(t.TempDir(), "witness"))
	if err != nil {
		t.Error(err)
		return 0
	}
	defer f.Close()
	const every = 20 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		<-time.After(every)
		if _, err := f.WriteAt([]byte{1}, 0); err != nil {
			t.Error(err)
		}
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
		longest = max(longest, time.Since(began)-every)
	}
	return longest
}

const (
	crowdPerNode  = 25
	crowdPipeline = 16
)

// saturate keeps every core busy until the context ends, with pipelines of many clients on all
// nodes, and goroutines that use the remaining processor time. It returns how many commands were
// answered.
func saturate(ctx context.Context, addrs []string) (int, error) {
	var mu sync.Mutex
	var failed error
	commands := 0
	var wg sync.WaitGroup
	for i := range crowdPerNode * len(addrs) {
		wg.Go(func() {
			n, err := crowd(ctx, addrs[i%len(addrs)], i)
			mu.Lock()
			defer mu.Unlock()
			commands += n
			if err != nil {
				failed = err
			}
		})
	}
	for range runtime.NumCPU() {
		wg.Go(func() {
			for ctx.Err() == nil {
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	return commands, failed
}

// crowd is a client that sends without a pause.
func crowd(ctx context.Context, addr string, id int) (int, error) {
	conn, err := respconn.Dial(addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	var batch [][]string
	for i := range crowdPipeline {
		key := fmt.Sprintf("crowd:%d:%d", id, i)
		batch = append(batch, []string{"SET", key, "value"}, []string{"GET", key})
	}
	for n := 0; ; n += len(batch) {
		if ctx.Err() != nil {
			return n, nil
		}
		replies, err := conn.Pipeline(batch...)
		if err != nil {
			return n, err
		}
		for i, v := range replies {
			if v.IsError() {
				return n, fmt.Errorf("%v: %s", batch[i], v)
			}
		}
	}
}
