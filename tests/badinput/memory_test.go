package badinput

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const mb = 1 << 20

// watchRSS measures the node's memory while do runs, and returns how much higher the highest value
// was than before.
func watchRSS(n *proc.Node, do func()) int64 {
	before := n.RSS()
	highest := before
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				highest = max(highest, n.RSS())
			}
		}
	})
	do()
	close(done)
	wg.Wait()
	return max(highest, n.RSS()) - before
}

// TestClaimsCostNothing: hundreds of clients announce arguments of 60 MB and send a few bytes of
// them.
func TestClaimsCostNothing(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	pid := n.Pid()
	grown := watchRSS(n, func() {
		for i := range 300 {
			c := proc.Dial(t, n.Addr())
			claim := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$60000000\r\nabc"
			if i%3 == 1 {
				claim = "*1000000000\r\n$3\r\nDEL\r\n"
			}
			if i%3 == 2 {
				claim = "*2\r\n$60000000\r\n"
			}
			if err := c.Write([]byte(claim)); err != nil {
				t.Fatal(err)
			}
		}
		mustLive(t, n, pid)
	})
	t.Logf("300 claims took %d KB", grown>>10)
	if grown > 100*mb {
		t.Errorf("300 claims took %d MB", grown/mb)
	}
}

// TestOutputNobodyReadsIsBounded: a client asks for 1 MB a thousand times and reads no reply. It is
// closed at its limit, which is so low that the client is not slowed down first. Other clients are
// served meanwhile.
func TestOutputNobodyReadsIsBounded(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const limit = 15 * mb
	n := proc.NewNode(t, proc.Options{Args: []string{"--client-output-buffer-limit", fmt.Sprintf("normal %d 0 0", limit)}})
	pid := n.Pid()
	if _, err := proc.Ask(n.Addr(), "SET", "big", strings.Repeat("x", mb)); err != nil {
		t.Fatal(err)
	}
	const requests = 1000
	var hoarder *respconn.Conn
	grown := watchRSS(n, func() {
		hoarder = proc.Dial(t, n.Addr())
		// The receive buffer is small, so that the kernel stores little.
		_ = hoarder.Net().(*net.TCPConn).SetReadBuffer(64 << 10)
		var raw []byte
		for range requests {
			raw = respconn.AppendCommand(raw, "GET", "big")
		}
		if err := hoarder.Write(raw); err != nil {
			t.Logf("closed while writing: %v", err)
		}
		proc.Wait(t, patience, "the hoarder is closed", func() bool {
			mustLive(t, n, pid)
			return clients(t, n) == 1
		})
	})
	t.Logf("a hoarder of %d MB took %d MB, at a limit of %d MB", requests, grown/mb, limit/mb)
	// The memory holds the waiting output, replies under construction, and the garbage that the
	// collector allows: 64 MB, and what is added during a collection.
	if grown > 16*limit {
		t.Errorf("it took %d MB", grown/mb)
	}
	got := 0
	for {
		if _, err := hoarder.Read(); err != nil {
			break
		}
		got++
	}
	if got == requests {
		t.Error("all replies came: nothing was limited")
	}
	if said := n.Log(); !strings.Contains(said, `msg="a client was closed"`) || !strings.Contains(said, "waiting_bytes=") {
		t.Errorf("the log does not say that the client was closed, or what waited for it: %s", said)
	}
	mustLive(t, n, pid)
}

// clients counts the connected clients by CLIENT LIST, the one that asks included.
func clients(t *testing.T, n *proc.Node) int {
	t.Helper()
	list, err := proc.Ask(n.Addr(), "CLIENT", "LIST")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(list, "\n")
}

// TestSlowReaderGetsEverything: a slow client is not hostile. Below the limits it gets every reply.
func TestSlowReaderGetsEverything(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	if _, err := proc.Ask(n.Addr(), "SET", "k", strings.Repeat("x", 10_000)); err != nil {
		t.Fatal(err)
	}
	c := proc.Dial(t, n.Addr())
	const requests = 2000
	var raw []byte
	for range requests {
		raw = respconn.AppendCommand(raw, "GET", "k")
	}
	written := make(chan error, 1)
	go func() { written <- c.Write(raw) }()
	// Other clients are served while the replies pile up.
	for range 20 {
		if _, err := proc.Ask(n.Addr(), "PING"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range requests {
		v, err := c.Read()
		if err != nil || len(v.Bytes) != 10_000 {
			t.Fatalf("reply %d: %v bytes, %v", i, len(v.Bytes), err)
		}
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// TestTransactionWithoutEndIsBounded: commands are queued, and no EXEC comes.
func TestTransactionWithoutEndIsBounded(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	pid := n.Pid()
	value := strings.Repeat("x", 10_000)
	refused := ""
	grown := watchRSS(n, func() {
		c := proc.Dial(t, n.Addr())
		if _, err := c.Do("MULTI"); err != nil {
			t.Fatal(err)
		}
		batch := make([][]string, 500)
		for i := range batch {
			batch[i] = []string{"SET", "k", value}
		}
		for range 80 { // 400 MB
			replies, err := c.Pipeline(batch...)
			if err != nil {
				refused = err.Error()
				return
			}
			if last := replies[len(replies)-1]; last.IsError() {
				refused = string(last.Bytes)
				return
			}
		}
	})
	t.Logf("it took %d MB, then: %s", grown/mb, refused)
	if refused == "" || grown > 400*mb {
		t.Errorf("400 MB were queued and took %d MB; refused with %q", grown/mb, refused)
	}
	mustLive(t, n, pid)
}

// TestValuesAboveTheLimitAreRefusedAndClosed sends one byte more than proto-max-bulk-len, whose
// default is lower than Redis's.
func TestValuesAboveTheLimitAreRefusedAndClosed(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, patiently)
	pid := n.Pid()
	// The default is the longest value that fits into a log entry.
	const longest = 59 * mb
	f := frame{send: fmt.Sprintf("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n", longest+1)}
	got := strings.Join(answers(t, n.Addr(), f), "\n")
	if want := "-ERR Protocol error: invalid bulk length\n(closed)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// A value at the limit is accepted.
	c := proc.Dial(t, n.Addr())
	if v, err := c.Do("SET", "k", strings.Repeat("x", longest)); err != nil || v.IsError() {
		t.Errorf("59 MB: %v, %v", v, err)
	}
	if v, err := c.Do("STRLEN", "k"); err != nil || string(v.Bytes) != fmt.Sprint(longest) {
		t.Errorf("59 MB: %v, %v", v, err)
	}
	mustLive(t, n, pid)
}
