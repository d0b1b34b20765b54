package churn

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// promptly is how soon after its start a client must have sent its command to be sure of a reply.
// It is less than the time that a stopping node waits for a client that sends nothing. The node
// drops a client that this machine holds up for longer.
const promptly = 200 * time.Millisecond

// TestANodeThatStopsResetsNobody: clients connect all the time, each with one command, while the
// node is told to stop. Every client that got a connection gets a reply, and the others get no
// connection. No connection is reset or left without a reply.
func TestANodeThatStopsResetsNobody(t *testing.T) {
	proc.NeedProcesses(t)
	n := proc.NewLone(t)
	for round := range 3 {
		if round > 0 {
			n.Start()
			n.WaitReady()
		}
		var served atomic.Int64
		var stopping atomic.Bool
		var clients sync.WaitGroup
		defer stopping.Store(true)
		for range 16 {
			clients.Go(func() {
				for {
					// On a busy machine the connection may take longer.
					began := time.Now()
					conn, err := net.DialTimeout("tcp", n.Addr(), 200*time.Millisecond)
					if err != nil && !stopping.Load() {
						continue
					}
					if err != nil {
						return
					}
					c := respconn.New(conn)
					sent := c.Send("INCR", "n")
					late := time.Since(began) > promptly
					v, err := c.Read()
					c.Close()
					if err = errors.Join(sent, err); err != nil && late {
						continue
					}
					if err != nil || v.IsError() {
						t.Errorf("round %d: a client got a connection, and then %v %v", round, v, err)
						return
					}
					served.Add(1)
				}
			})
		}
		proc.Wait(t, patience, "clients come and go", func() bool { return served.Load() > 300 })
		stopping.Store(true)
		if code := n.Stop(); code != 0 {
			t.Errorf("round %d: it ended with %d", round, code)
		}
		clients.Wait()
	}
}
