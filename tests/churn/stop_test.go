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

// promptly is how soon a client must have sent a command that is to be answered: less
// than a stopping node waits for a client that sends nothing. A client that this machine
// stops for longer is gone for the node.
const promptly = 200 * time.Millisecond

// A node that is told to stop while clients come all the time, each with one command,
// answers every one that has got a connection; the others are not let in. Nobody is
// reset, or hears nothing.
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
					// On a busy machine a connection may take longer.
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
