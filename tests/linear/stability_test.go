package linear

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"lockstep/tests/proc"
	"lockstep/tests/respconn"
)

// TestBusyMachineChangesNoLeader saturates every core with clients: heartbeats
// must come through all the same.
func TestBusyMachineChangesNoLeader(t *testing.T) {
	c := proc.NewCluster(t, 3, proc.Options{})
	leader := c.WaitLeader()
	term := proc.Info(leader.Addr(), "raft")["raft_term"]

	d := 10 * time.Second
	if proc.Long() {
		d = time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	commands, err := saturate(ctx, c.Addrs())
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d commands in %v", commands, d)
	for _, n := range c.Nodes {
		info := proc.Info(n.Addr(), "raft")
		if info["raft_term"] != term || info["raft_leader"] != leader.Name {
			t.Errorf("%s: term %s under %s; before it was term %s under %s", n.Name, info["raft_term"], info["raft_leader"], term, leader.Name)
		}
	}
}

const (
	crowdPerNode  = 25
	crowdPipeline = 16
)

// saturate keeps every core busy until the context ends: pipelines of many
// clients on all nodes, and goroutines that do nothing but burn what is left.
// It returns how many commands were answered.
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

// crowd is one client that never rests.
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
