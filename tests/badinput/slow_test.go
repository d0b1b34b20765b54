package badinput

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// getsOf returns n GETs of one key in a row.
func getsOf(key string, n int) (raw []byte) {
	for range n {
		raw = respconn.AppendCommand(raw, "GET", key)
	}
	return raw
}

// TestAReaderIsSlowedDown: the replies to 400 reads of 1 MB in one pipeline exceed the output
// buffer limit of a client. A client that reads gets all of them.
func TestAReaderIsSlowedDown(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	if _, err := proc.Ask(n.Addr(), "SET", "big", strings.Repeat("x", mb)); err != nil {
		t.Fatal(err)
	}
	const requests = 400
	grown := watchRSS(n, func() {
		c := proc.Dial(t, n.Addr())
		if err := c.Write(getsOf("big", requests)); err != nil {
			t.Fatal(err)
		}
		for i := range requests {
			if v, err := c.Read(); err != nil || len(v.Bytes) != mb {
				t.Fatalf("reply %d: %d bytes, %v", i, len(v.Bytes), err)
			}
		}
	})
	t.Logf("it took %d MB", grown/mb)
	if grown > 200*mb {
		t.Errorf("it took %d MB", grown/mb)
	}
}

// TestManySlowReadersAreBounded: clients that do not read their replies hold no more memory
// together than all clients may. Other clients are served.
func TestManySlowReadersAreBounded(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const (
		readers, requests = 60, 50
		together          = 64 * mb
	)
	n := proc.NewNode(t, proc.Options{Args: []string{"--maxmemory-clients", fmt.Sprint(together)}})
	pid := n.Pid()
	if _, err := proc.Ask(n.Addr(), "SET", "big", strings.Repeat("x", mb)); err != nil {
		t.Fatal(err)
	}
	grown := watchRSS(n, func() {
		for range readers {
			c := proc.Dial(t, n.Addr())
			_ = c.Net().(*net.TCPConn).SetReadBuffer(64 << 10)
			if err := c.Write(getsOf("big", requests)); err != nil {
				t.Logf("closed while writing: %v", err)
			}
			if got, err := proc.Ask(n.Addr(), "GET", "small"); err != nil {
				t.Fatal(got, err)
			}
		}
		proc.Wait(t, patience, "as much waits as may", func() bool {
			mustLive(t, n, pid)
			held, _ := strconv.Atoi(proc.Info(n.Addr(), "memory")["mem_clients_normal"])
			return held > together/4
		})
	})
	t.Logf("%d clients that asked for %d MB each took %d MB", readers, requests, grown/mb)
	// The garbage that the collector allows comes on top.
	if grown > 8*together {
		t.Errorf("they took %d MB", grown/mb)
	}
	mustLive(t, n, pid)
}
