package linear

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const (
	clientsPerNode = 3
	registers      = 8
	counters       = 6
	pairs          = 3
	quotas         = 2
	lists          = 3
	transits       = 2
	streams        = 2
	// generationNs is how long a set of registers is used, because the search for an order takes
	// longer with a longer history.
	generationNs = int64(2 * time.Second)
	// pace is the minimum time between two commands of a client. More commands per second would
	// make histories longer without showing more.
	pace = 4 * time.Millisecond
	// clientPatience is longer than any permitted pause of the server.
	clientPatience = 90 * time.Second
)

// workload is a set of clients on every node, with their history.
type workload struct {
	history *History
	cluster *proc.Cluster
	briefs  recent
	spares  recent
	// evicts means that keys with a time to live may be evicted, and memory may be full.
	evicts bool
	// rough means that nodes lose each other, and clients may be told that a command was refused or
	// that its outcome is unknown.
	rough bool
	// lives has a number for each node: even while the node lives, odd from before it is killed
	// until it has been started again. If a client loses its connection and the number has not
	// changed, that is an error.
	lives [128]atomic.Int64

	done chan struct{}
	wg   sync.WaitGroup

	mu     sync.Mutex
	errors []string
}

// errorsMax is how many errors are kept for the report.
const errorsMax = 20

func startWorkload(c *proc.Cluster) *workload {
	return (&workload{history: NewHistory(), cluster: c, done: make(chan struct{})}).start()
}

// start starts the clients of every node.
func (w *workload) start() *workload {
	w.makeStreams()
	for _, n := range w.cluster.Nodes {
		w.begin(n)
	}
	return w
}

// begin adds the clients of a node.
func (w *workload) begin(n *proc.Node) {
	for i := range clientsPerNode {
		w.wg.Go(func() { w.client(n.Index*clientsPerNode+i, n) })
	}
}

// end marks a node that will not come back. Its clients stay idle.
func (w *workload) end(n *proc.Node) { w.lives[n.Index].Add(1) }

// stop ends the clients and waits for them.
func (w *workload) stop() {
	close(w.done)
	w.wg.Wait()
}

func (w *workload) stopping() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// report records an error that no client should have seen.
func (w *workload) report(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.errors) < errorsMax {
		w.errors = append(w.errors, fmt.Sprintf("at %.3fs: ", float64(w.history.Now())/1e9)+fmt.Sprintf(format, args...))
	}
}

// client uses one node until the workload stops. When its connection breaks, it dials until the
// node is there again.
func (w *workload) client(id int, node *proc.Node) {
	r := rand.New(rand.NewPCG(uint64(id), 1))
	tick := time.NewTicker(pace)
	defer tick.Stop()
	seen := ""
	for sequence := 0; !w.stopping(); {
		life := w.lives[node.Index].Load()
		if life%2 == 1 {
			<-tick.C
			continue
		}
		conn, err := respconn.DialTimeout(node.Addr(), time.Second)
		if err != nil {
			<-tick.C
			continue
		}
		conn.Patience = clientPatience
		for !w.stopping() {
			<-tick.C
			sequence++
			o := w.draw(r, id, sequence, seen)
			o.Node = node.Name
			if err := w.do(conn, &o); err != nil {
				if w.lives[node.Index].Load() == life {
					w.report("client %d of %s, which was not killed: %s %s: %v", id, node.Name, o.Name, o.Key, err)
				}
				break
			}
			if o.isRegister() && o.Arg != "" {
				seen = o.Arg
			} else if o.Name == "GET" && !o.Null {
				seen = o.Reply
			}
		}
		conn.Close()
	}
}

// do runs the op and records it. It returns an error if the connection can no longer be used.
func (w *workload) do(conn *respconn.Conn, o *Op) error {
	o.Call = w.history.Now()
	v, err := w.perform(conn, o)
	o.Return = w.history.Now()
	known := o.Outcome == Refused
	if err != nil {
		o.Outcome = Unknown
	} else {
		w.judge(o, v)
	}
	if known {
		o.Outcome = Refused
	}
	w.history.Add(*o)
	return err
}

// judge sets an op's outcome from its reply.
func (w *workload) judge(o *Op, v respconn.Value) {
	if !v.IsError() {
		o.Outcome, o.Reply, o.Null = Done, string(v.Bytes), v.Null
		return
	}
	o.Reply = string(v.Bytes)
	o.Outcome = outcomeOfError(o.Reply)
	full := w.evicts && strings.HasPrefix(strings.TrimPrefix(o.Reply, discarded), "OOM ")
	if full {
		o.Outcome = Refused
	}
	if !full && (!w.rough || !speaksOfTrouble(o.Reply)) {
		w.report("client %d of %s: %s %s: %s (after %.3fs)", o.Client, o.Node, o.Name, o.Key, o.Reply, float64(o.Return-o.Call)/1e9)
	}
}

// discarded begins the error of a transaction that has not run, before the reason.
const discarded = "EXECABORT Transaction discarded because of: "

// speaksOfTrouble reports whether an error is one of a cluster whose nodes do not reach each other,
// or are busy.
func speaksOfTrouble(text string) bool {
	prefix, _, _ := strings.Cut(strings.TrimPrefix(text, discarded), " ")
	return slices.Contains([]string{"CLUSTERDOWN", "OVERLOADED", "INDETERMINATE", "BUSY"}, prefix)
}

// outcomeOfError distinguishes refusals from unknown outcomes by the server's error prefixes.
func outcomeOfError(text string) Outcome {
	for _, prefix := range []string{"CLUSTERDOWN", "OVERLOADED", "TRYAGAIN", "MOVED", "LOADING"} {
		if strings.HasPrefix(strings.TrimPrefix(text, discarded), prefix) {
			return Refused
		}
	}
	return Unknown
}
