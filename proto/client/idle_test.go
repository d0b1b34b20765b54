package client

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// closable is a connection that records whether it was closed.
type closable struct {
	recorder
	closed bool
}

func (c *closable) Close() error { c.closed = true; return nil }

// A timeout also applies to clients that were idle when it was set. It does not close a client that
// is busy, listens, or has sent something since.
func TestATimeoutHoldsForWhoRestsAlready(t *testing.T) {
	r := NewRegistry()
	begin := func() (*Client, *closable) {
		conn := &closable{}
		c := aloneOn(t, conn, echoes{}, &Settings{SlowerThanUs: -1})
		r.add(&c.shared)
		return c, conn
	}
	ping := [][][]byte{{[]byte("PING")}}
	_, idle := begin()
	worker, atWork := begin()
	listener, listening := begin()
	talker, talking := begin()
	worker.shared.busy.Store(true)
	listener.shared.listens.Store(true)
	var seen idleness
	now := time.Now()
	for _, c := range []struct {
		most   time.Duration
		closed bool
	}{{0, false}, {10 * time.Second, false}, {10 * time.Second, false}, {0, false}, {20 * time.Second, false}, {20 * time.Second, false}, {20 * time.Second, true}} {
		seen = r.closeIdle(now, c.most, seen)
		now = now.Add(10 * time.Second)
		talker.Handle(ping)
		if idle.closed != c.closed {
			t.Errorf("with a timeout of %v closed is %t", c.most, idle.closed)
		}
		if c.most == 10*time.Second {
			// The next check comes before the timeout.
			now = now.Add(-6 * time.Second)
		}
	}
	if atWork.closed || listening.closed || talking.closed {
		t.Errorf("closed: a client at work %t, one that listens %t, one that talks %t", atWork.closed, listening.closed, talking.closed)
	}
	worker.shared.busy.Store(false)
	seen = r.closeIdle(now, time.Second, seen)
	if atWork.closed {
		t.Error("a client that was at work until now is closed")
	}
	if r.closeIdle(now.Add(time.Second), time.Second, seen); !atWork.closed {
		t.Error("a client that has done nothing since is not closed")
	}
}

// If the node stood still for longer than the timeout, a client that has sent something since is
// not idle. The test runs in synthetic time (synctest).
func TestAStandstillIsNobodysIdleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 5 * time.Second
		r := NewRegistry()
		c := aloneOn(t, &closable{}, echoes{}, &Settings{SlowerThanUs: -1})
		r.add(&c.shared)
		stood := false
		settings := func() *Settings {
			if !stood {
				stood = true
				<-time.After(2 * timeout)
				c.Handle([][][]byte{{[]byte("PING")}})
			}
			return &Settings{IdleTimeoutSec: int(timeout / time.Second)}
		}
		ctx, stop := context.WithCancel(t.Context())
		go CloseIdle(ctx, r, settings)
		<-time.After(3 * timeout) // idleEvery before the standstill, and idleEvery less than the timeout after it
		synctest.Wait()
		if c.shared.killed.Load() {
			t.Error("it is closed before its time")
		}
		<-time.After(2 * idleEvery)
		synctest.Wait()
		if !c.shared.killed.Load() {
			t.Error("it is not closed")
		}
		stop()
		synctest.Wait()
	})
}
