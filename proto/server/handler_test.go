package server_test

import (
	"context"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// loopsHaveTurned waits until each loop has taken everything that was sent before the call: the
// kernel reports events in the order in which they happened.
func loopsHaveTurned(t *testing.T, n *prototest.Node) {
	t.Helper()
	for range max(1, runtime.NumCPU()/2) {
		c := prototest.Dial(t, n.Addr)
		prototest.Do(t, c, "PING")
		prototest.Do(t, c, "PING")
		c.Close()
	}
}

// Commands that a client sends while a goroutine serves it are answered, even if some of its
// earlier commands are still unread: the loop reports input once.
func TestWhatComesMeanwhileIsReadBehindWhatIsHere(t *testing.T) {
	for _, c := range []struct {
		name, first string
		way         int64
	}{
		{"outside the loop", "*4\r\n$6\r\nLRANGE\r\n$1\r\nk\r\n$1\r\n0\r\n$2\r\n-1\r\n", 0},
		{"on its way", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n", prototest.WaySoon},
		{"on its way, and answered in part", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n", prototest.WayInPart},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := prototest.StartNode(t, 1)
			n.Starter.Always.Store(c.way)
			under, goOn := make(chan struct{}), make(chan struct{})
			wait := func(int, *cluster.Call) error { close(under); <-goOn; return nil }
			n.Exec.Lost.Store(&wait)
			conn := prototest.Dial(t, n.Addr)
			// This command has another form, so that it is not part of the same batch.
			if err := conn.Write([]byte(c.first + "PING\r\n")); err != nil {
				t.Fatal(err)
			}
			<-under
			if err := conn.Write([]byte("ECHO last\r\n")); err != nil {
				t.Fatal(err)
			}
			loopsHaveTurned(t, n)
			close(goOn)
			for i := range 3 {
				if v, err := conn.Read(); err != nil {
					t.Fatalf("reply %d: %v, %v", i, v, err)
				}
			}
		})
	}
}

// A killed client is gone when its pending calls are given up.
func TestAKilledClientGoesWithItsBatch(t *testing.T) {
	n := prototest.StartNode(t, 1)
	c, other := prototest.Dial(t, n.Addr), prototest.Dial(t, n.Addr)
	id := prototest.Do(t, c, "CLIENT", "ID")
	for range 20 {
		n.Starter.Always.Store(prototest.WayNever)
		if err := c.Send("SET", "k", "v"); err != nil {
			t.Fatal(err)
		}
		prototest.Until(t, "it is on its way", func() bool { return n.Server.Active() == 1 })
		if got := prototest.Do(t, other, "CLIENT", "KILL", "ID", id[1:]); got != ":1" {
			t.Fatal(got)
		}
		prototest.Until(t, "it is gone", func() bool { return n.Registry.Len() == 1 && n.Server.Active() == 0 })
		n.Starter.Always.Store(prototest.WayNow)
		c = prototest.Dial(t, n.Addr)
		id = prototest.Do(t, c, "CLIENT", "ID")
	}
}

// A server that is closed at once also closes clients whose calls have no answer.
func TestClosingDoesNotWaitForCallsThatNobodyAnswers(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Starter.Always.Store(prototest.WayNever)
	c := prototest.Dial(t, n.Addr)
	if err := c.Send("SET", "k", "v"); err != nil {
		t.Fatal(err)
	}
	prototest.Until(t, "it is on its way", func() bool { return n.Server.Active() == 1 })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	closed := make(chan struct{})
	go func() { n.Server.Close(ended); close(closed) }()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// A client that is never idle is not closed. On a busy machine it may be idle all the same; then
// the test begins again.
func TestABusyClientIsNotIdle(t *testing.T) {
	t.Parallel()
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.IdleTimeoutSec = 1 })
	for range 20 {
		rested, err := keepBusy(t, n, 2500*time.Millisecond)
		if err == nil {
			return
		}
		if rested < 500*time.Millisecond {
			t.Fatalf("closed though it never rested for longer than %v: %v", rested, err)
		}
	}
	t.Fatal("no client was kept busy")
}

// keepBusy writes without a pause for a time, or until a write fails. rested is the longest time
// between the ends of two writes.
func keepBusy(t *testing.T, n *prototest.Node, length time.Duration) (rested time.Duration, err error) {
	t.Helper()
	c := prototest.Dial(t, n.Addr)
	prototest.Do(t, c, "PING")
	piece := []byte(strings.Repeat(string(respconn.Command("ECHO", strings.Repeat("x", 200))), 100))
	go func() { _, _ = io.Copy(io.Discard, c.Net()) }()
	for begun, last := time.Now(), time.Now(); err == nil && time.Since(begun) < length; {
		err = c.Write(piece)
		now := time.Now()
		rested, last = max(rested, now.Sub(last)), now
	}
	return rested, err
}

// A client that listens is not idle, whether it is in a loop or not.
func TestWhoListensIsNotIdle(t *testing.T) {
	t.Parallel()
	n := prototest.StartNode(t, 1)
	var idle, listening []*respconn.Conn
	for _, batches := range []int{0, 20} {
		for _, first := range [][]string{{"PING"}, {"SUBSCRIBE", "a"}, {"MONITOR"}} {
			c := prototest.Dial(t, n.Addr)
			for range batches {
				// These batches wait, and are enough to take the client out of its loop.
				prototest.Do(t, c, "LRANGE", "none", "0", "-1")
			}
			prototest.Do(t, c, first...)
			if first[0] == "PING" {
				idle = append(idle, c)
			} else {
				listening = append(listening, c)
			}
		}
	}
	n.Set(func(s *client.Settings) { s.IdleTimeoutSec = 1 })
	for _, c := range idle {
		// The steps before may have taken long: then it is already closed.
		_ = c.Send("PING")
	}
	for _, c := range listening {
		if err := c.Send("PING"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range idle {
		if _, err := c.ReadToEnd(); err != nil {
			t.Fatal(err)
		}
	}
	// The others had as long, and one tick of the clock more.
	again := prototest.Dial(t, n.Addr)
	if _, err := again.ReadToEnd(); err != nil {
		t.Fatal(err)
	}
	prototest.Until(t, "those who listen are left", func() bool { return n.Registry.Len() == len(listening) })
	for _, c := range listening {
		if err := c.Send("PING"); err != nil {
			t.Fatal(err)
		}
		if v, err := c.Read(); err != nil {
			t.Error(v, err)
		}
	}
}

// A panic in a loop over one client ends only that client.
func TestAFaultInALoopEndsOneClientAlone(t *testing.T) {
	n := prototest.StartNode(t, 1)
	other := prototest.Dial(t, n.Addr)
	for _, way := range []int64{prototest.WayPanics, prototest.WayBreaksResume} {
		c := prototest.Dial(t, n.Addr)
		prototest.Do(t, c, "PING")
		n.Starter.Always.Store(way)
		if err := c.Send("SET", "k", "v"); err != nil {
			t.Fatal(err)
		}
		if values, err := c.ReadToEnd(); err != nil || len(values) != 0 {
			t.Fatal(values, err)
		}
		n.Starter.Always.Store(0)
		prototest.Until(t, "it is forgotten", func() bool { return n.Registry.Len() == 1 && n.Server.Active() == 0 })
		if got := prototest.Do(t, other, "INCR", "a"); !strings.HasPrefix(got, ":") {
			t.Error(got)
		}
	}
	if panics := n.Panics.Count(); panics != 2 {
		t.Errorf("%d panics are counted", panics)
	}
}

// A server that is closed under load answers everything that it runs, and accepts nothing that it
// does not answer.
func TestClosingUnderLoadAnswersWhatItRuns(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Server.SetDrainTime(time.Minute)
	var ran, answered atomic.Int64
	count := func(int, *cluster.Call) error { ran.Add(1); return nil }
	n.Exec.Lost.Store(&count)
	var clients sync.WaitGroup
	for i := range 30 {
		c := prototest.Dial(t, n.Addr)
		prototest.Do(t, c, "PING")
		raw := []byte(strings.Repeat(string(respconn.Command("INCR", "n")), 1+i%3))
		clients.Go(func() {
			for c.Write(raw) == nil {
				for range 1 + i%3 {
					v, err := c.Read()
					if err != nil {
						return
					}
					if v.IsError() {
						t.Error(v)
					}
					answered.Add(1)
				}
			}
		})
	}
	prototest.Until(t, "they are at work", func() bool { return answered.Load() > 1000 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n.Server.Close(ctx)
	clients.Wait()
	if ctx.Err() != nil || ran.Load() != answered.Load() {
		t.Errorf("%d ran, %d were answered (%v)", ran.Load(), answered.Load(), ctx.Err())
	}
}
