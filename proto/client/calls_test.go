package client

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"testing"

	"lockstep/cluster"
	"lockstep/proto/stats"
)

// noIncrements is an Executor that refuses INCR.
type noIncrements struct{ echoes }

func (noIncrements) Do(_ context.Context, calls []*cluster.Call) {
	for _, c := range calls {
		if c.Reply = okReply; string(c.Txn.Ops[0].Args[0]) == "INCR" {
			c.Reply = []byte("-WRONGTYPE it is none\r\n")
		}
	}
}

// TestWhatRunsTogetherIsCountedOneByOne: in whatever order the commands of a batch come, each is
// counted, and each failure is counted, in INFO, LATENCY and SLOWLOG.
func TestWhatRunsTogetherIsCountedOneByOne(t *testing.T) {
	c := newAlone(t, noIncrements{}, &Settings{SlowerThanUs: 0, SlowlogLen: 128})
	words := []string{"SET", "set", "INCR", "GET", "INCR", "INCR", "SET", "PING", "Get", "INCR", "GET", "GET"}
	batch := make([][][]byte, len(words))
	for i, word := range words { // SET takes two arguments, PING none, the others one
		batch[i] = [][]byte{[]byte(word), []byte("k"), []byte("v")}
		switch word {
		case "SET", "set":
		case "PING":
			batch[i] = batch[i][:1]
		default:
			batch[i] = batch[i][:2]
		}
	}
	if !c.Handle(batch) {
		t.Fatal("the client was closed")
	}
	got := map[string][3]uint64{}
	for _, s := range c.stats.PerCommand() {
		got[s.Name] = [3]uint64{s.Calls, s.Failed}
	}
	for _, l := range c.stats.PerLatency() {
		n := got[l.Name]
		n[2] = l.Calls
		got[l.Name] = n
	}
	want := map[string][3]uint64{"set": {3, 0, 3}, "incr": {4, 4, 4}, "get": {4, 0, 4}, "ping": {1, 0, 1}}
	if !maps.Equal(got, want) {
		t.Errorf("calls, failed and timed are %v, want %v", got, want)
	}
	if n := uint64(len(words)); c.stats.Commands() != n || c.stats.Slowlog.Len() != len(words) {
		t.Errorf("%d commands, %d slow ones, want %d", c.stats.Commands(), c.stats.Slowlog.Len(), n)
	}
	if errors := c.stats.PerError(); len(errors) != 1 || errors[0] != (stats.ErrorStat{Prefix: "WRONGTYPE", Count: 4}) {
		t.Errorf("errors: %v", errors)
	}
}

// halting is an Executor that leaves the calls behind a read for later, as a router does if the
// reply to the read is large. It records the commands that it ran.
type halting struct {
	echoes
	ran *[]string
}

func (h halting) Do(_ context.Context, calls []*cluster.Call) {
	for _, c := range calls {
		*h.ran = append(*h.ran, string(c.Txn.Ops[0].Args[0]))
		if c.Reply = okReply; c.ReadOnly {
			c.Reply = fmt.Appendf(nil, "$%d\r\n%s\r\n", flushBytes, make([]byte, flushBytes))
			return
		}
	}
}

// gone is a connection whose client has disconnected.
type gone struct{ sink }

func (gone) TryWrite([]byte) (int, error) { return 0, net.ErrClosed }
func (gone) Close() error                 { return nil }

// TestWritesOfAClientThatHasGoneAreRun: the client sent its writes before it disconnected, so they
// run, even if their replies come after large ones. Its reads do not run.
func TestWritesOfAClientThatHasGoneAreRun(t *testing.T) {
	for conn, want := range map[net.Conn][]string{
		sink{}: {"GET", "GET", "SET", "GET", "INCR"},
		gone{}: {"GET", "SET", "INCR"},
	} {
		var ran []string
		c := aloneOn(t, conn, halting{ran: &ran}, &Settings{SlowerThanUs: -1})
		var batch [][][]byte
		for _, command := range []string{"GET k", "GET k", "SET k v", "GET k", "INCR k"} {
			batch = append(batch, bytes.Fields([]byte(command)))
		}
		c.Handle(batch)
		if !slices.Equal(ran, want) {
			t.Errorf("%T: %q were run, want %q", conn, ran, want)
		}
	}
}
