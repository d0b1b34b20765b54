package linear

import (
	"fmt"
	"sync"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// lurkers are clients that wait for a paused leader. Their connections are open before the pause.
// Their reads are sent during the pause, after others have written under a new leader, and are the
// first requests that the node sees when it continues. If it still believes that it leads, it
// answers them with values from before the pause.
type lurkers struct {
	w     *workload
	node  *proc.Node
	conns []*respconn.Conn
	wg    sync.WaitGroup
}

const (
	lurkersPerPause = 3 * registers
	lurkerReads     = 5
)

// lieInWait opens the connections and makes sure that the node has accepted them.
func lieInWait(t *testing.T, w *workload, n *proc.Node) *lurkers {
	t.Helper()
	l := &lurkers{w: w, node: n}
	for range lurkersPerPause {
		c, err := respconn.Dial(n.Addr())
		if err != nil {
			t.Fatal(err)
		}
		c.Patience = clientPatience
		if v, err := c.Do("PING"); err != nil || v.IsError() {
			t.Fatalf("%v, %v", v, err)
		}
		l.conns = append(l.conns, c)
	}
	return l
}

// spring sends the reads while the node is still paused.
func (l *lurkers) spring() {
	generation := l.w.history.Now() / generationNs
	var sent sync.WaitGroup
	for i, c := range l.conns {
		sent.Add(1)
		l.wg.Go(func() {
			defer c.Close()
			key := fmt.Sprintf("r%d-%d", generation-int64(i/registers), i%registers)
			for read := range lurkerReads {
				if err := l.read(c, i, key, func() {
					if read == 0 {
						sent.Done()
					}
				}); err != nil {
					return
				}
			}
		})
	}
	sent.Wait()
}

// read sends a GET, calls sent, and records the reply.
func (l *lurkers) read(c *respconn.Conn, i int, key string, sent func()) error {
	o := Op{Client: 100 + i, Node: l.node.Name, Name: "GET", Key: key, Call: l.w.history.Now(), Outcome: Unknown}
	err := c.Send(o.Name, o.Key)
	sent()
	var v respconn.Value
	if err == nil {
		v, err = c.Read()
	}
	o.Return = l.w.history.Now()
	switch {
	case err != nil:
		l.w.report("a client of %s, which was paused: GET %s: %v", l.node.Name, key, err)
	case v.IsError():
		o.Outcome, o.Reply = outcomeOfError(string(v.Bytes)), string(v.Bytes)
	default:
		o.Outcome, o.Reply, o.Null = Done, string(v.Bytes), v.Null
	}
	l.w.history.Add(o)
	return err
}
