package linear

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/engine/hashslot"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const (
	// silenceMax is how long a shard may leave writes unanswered while enough nodes run and reach
	// each other.
	silenceMax = 10 * time.Second
	// probeEvery is the pause between two writes of a probe.
	probeEvery = 200 * time.Millisecond
	// probePatience is longer than the time after which a node refuses a write.
	probePatience = 30 * time.Second
	// lookEvery is how often the silence of the shards is measured.
	lookEvery = 100 * time.Millisecond
)

// answers checks that each shard answers. Through every node a probe writes to each shard, again
// and again. A shard answers as long as one of these writes is acknowledged.
//
// A shard may be silent while it has too few voters or they do not reach each other. The voters of
// a shard change, so its silence is measured only while all nodes except at most one run and reach
// each other: then a majority of any three or five nodes does. When that is no longer so, the
// measurement starts again from zero. Its time runs slower while other programs use the processors
// (machine).
type answers struct {
	w     *workload
	wires *wires
	// keys has one key of each shard, and given counts the answers of each.
	keys  []string
	given []atomic.Int64

	mu sync.Mutex
	// down counts the reasons why a node does not run.
	down     map[*proc.Node]int
	silences []silence

	done chan struct{}
	wg   sync.WaitGroup
}

// silence is the time for which a shard has not answered.
type silence struct {
	now, longest time.Duration
	// given is how many answers there were when the silence began.
	given int64
}

// pass adds a time d in which the shard could answer, or could not. It reports whether the silence
// has just become too long.
func (s *silence) pass(d time.Duration, could bool, given int64) bool {
	if !could || given != s.given {
		s.now, s.given = 0, given
		return false
	}
	before := s.now
	s.now += d
	s.longest = max(s.longest, s.now)
	return before <= silenceMax && s.now > silenceMax
}

// watchAnswers starts to watch a cluster with this number of shards.
func watchAnswers(t testing.TB, w *workload, wires *wires, shards int) *answers {
	a := &answers{
		w: w, wires: wires, given: make([]atomic.Int64, shards), silences: make([]silence, shards),
		down: map[*proc.Node]int{}, done: make(chan struct{}),
	}
	for shard := range shards {
		a.keys = append(a.keys, keyOf(t, w.cluster.Nodes[0], shard))
		for _, n := range w.cluster.Nodes {
			a.wg.Go(func() { a.probe(n, shard) })
		}
	}
	a.wg.Go(a.watch)
	return a
}

// keyOf is a key of a shard that no other client writes.
func keyOf(t testing.TB, asked *proc.Node, shard int) (key string) {
	proc.Wait(t, proc.ElectionPatience, fmt.Sprint("a key of shard ", shard), func() bool {
		r := proc.Placement(asked)
		if r == nil {
			return false
		}
		for i := range 1000 {
			key = fmt.Sprint("probe", i)
			for _, s := range r.Shards {
				if slot := hashslot.Of([]byte(key)); int(s.Shard) == shard && slot >= s.FirstSlot && slot <= s.LastSlot {
					return true
				}
			}
		}
		return false
	})
	return key
}

// stop ends the watch, and returns the longest silence of each shard.
func (a *answers) stop() []time.Duration {
	close(a.done)
	a.wg.Wait()
	var longest []time.Duration
	for _, s := range a.silences {
		longest = append(longest, s.longest)
	}
	return longest
}

// pause waits probeEvery. It returns false if the watch has ended.
func (a *answers) pause() bool {
	select {
	case <-a.done:
		return false
	case <-time.After(probeEvery):
		return true
	}
}

// probe writes to a shard through a node.
func (a *answers) probe(n *proc.Node, shard int) {
	for a.pause() {
		conn, err := respconn.DialTimeout(n.Addr(), time.Second)
		if err != nil {
			continue
		}
		conn.Patience = probePatience
		for i := 0; err == nil; i++ {
			var v respconn.Value
			v, err = conn.Do("SET", a.keys[shard], strconv.Itoa(i))
			if err == nil && !(v.IsError() && speaksOfTrouble(string(v.Bytes))) {
				a.given[shard].Add(1)
			}
			if !a.pause() {
				conn.Close()
				return
			}
		}
		conn.Close()
	}
}

// fell records that a node is about to stop running, rose that it runs again.
func (a *answers) fell(n *proc.Node) { a.note(n, 1) }
func (a *answers) rose(n *proc.Node) { a.note(n, -1) }

func (a *answers) note(n *proc.Node, d int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down[n] += d
}

// watch measures how long the shards do not answer.
func (a *answers) watch() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	m := newMachine(a.w.cluster)
	for {
		select {
		case <-a.done:
			return
		case <-tick.C:
		}
		passed, could := m.look(), a.could()
		for shard := range a.silences {
			if s := &a.silences[shard]; s.pass(passed, could, a.given[shard].Load()) {
				a.w.report("shard %d has answered nothing for more than %v, while enough nodes ran and reached each other", shard, silenceMax)
			}
		}
	}
}

// could reports whether all nodes except at most one run and reach each other.
func (a *answers) could() bool {
	var up []*proc.Node
	a.mu.Lock()
	for _, n := range a.w.cluster.Nodes {
		if a.down[n] == 0 {
			up = append(up, n)
		}
	}
	a.mu.Unlock()
	spared := len(a.w.cluster.Nodes) - len(up)
	if spared == 0 && !a.connected(up, nil) {
		for _, without := range up {
			if a.connected(up, without) {
				return true
			}
		}
		return false
	}
	return spared <= 1 && a.connected(up, nil)
}

// connected reports whether all of these nodes, except possibly one, reach each other.
func (a *answers) connected(nodes []*proc.Node, without *proc.Node) bool {
	for i, x := range nodes {
		for _, y := range nodes[:i] {
			if x != without && y != without && a.wires.cut(x.Name, y.Name) {
				return false
			}
		}
	}
	return true
}
