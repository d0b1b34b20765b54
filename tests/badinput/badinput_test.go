package badinput

import (
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

// patience is how long a node may take for work that takes a moment on an idle machine.
const patience = 2 * time.Minute

// patiently are the options of a node that allows costly commands that time.
var patiently = proc.Options{Args: []string{"--write-timeout-ms", strconv.FormatInt(patience.Milliseconds(), 10)}}

// answers sends a frame over a new connection and returns all replies, up to the end.
func answers(t *testing.T, addr string, f frame) []string {
	t.Helper()
	c := proc.Dial(t, addr)
	defer c.Close()
	c.Patience = patience
	// The server may close the connection during the write: its replies are read all the same.
	_ = c.Write([]byte(f.send))
	if f.open {
		_ = c.Net().(*net.TCPConn).CloseWrite()
	}
	replies, err := c.ReadToEnd()
	return render(replies, err)
}

// mustLive fails the test if the node's process has been replaced, does not serve, or has logged a
// panic.
func mustLive(t *testing.T, n *proc.Node, pid int) {
	t.Helper()
	if n.Pid() != pid {
		t.Fatalf("the process died: %d, then %d", pid, n.Pid())
	}
	v, err := proc.Ask(n.Addr(), "SET", "alive", "yes")
	if err != nil || v != "OK" {
		t.Fatalf("it does not serve: %q, %v", v, err)
	}
	if strings.Contains(n.Log(), "panic") {
		t.Fatalf("it panicked:\n%s", n.LogTail(3000))
	}
}

func compareFrames(t *testing.T, frames []frame, n *proc.Node, redis *proc.Process) {
	pid := n.Pid()
	for _, f := range frames {
		t.Run(f.name, func(t *testing.T) {
			want := f.want
			if f.differs == "" {
				want = answers(t, redis.Addr(), f)
			}
			if got := answers(t, n.Addr(), f); !slices.Equal(got, want) {
				t.Errorf("lockstep answers\n%s\nredis-server\n%s", shown(got), shown(want))
			}
			mustLive(t, n, pid)
		})
	}
}

// shown shortens replies for messages.
func shown(replies []string) string {
	text := strings.Join(replies, "\n")
	if len(text) > 1500 {
		text = text[:1500] + "..."
	}
	return text
}

func TestBrokenFramesAreAnsweredAsByRedis(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	compareFrames(t, frames, proc.NewNode(t, proc.Options{}), proc.RedisServer(t))
}

func TestClientsThatAreNotLoggedInAreHeldShort(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	redis := proc.RedisServer(t)
	for _, addr := range []string{n.Addr(), redis.Addr()} {
		if _, err := proc.Ask(addr, "CONFIG", "SET", "requirepass", "secret"); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range unauthenticatedFrames {
		t.Run(f.name, func(t *testing.T) {
			got, want := answers(t, n.Addr(), f), answers(t, redis.Addr(), f)
			if !slices.Equal(got, want) {
				t.Errorf("lockstep answers\n%s\nredis-server\n%s", shown(got), shown(want))
			}
		})
	}
	if !n.Running() || strings.Contains(n.Log(), "panic") {
		t.Errorf("it died or panicked:\n%s", n.LogTail(3000))
	}
}

func TestMaxclientsIsSaidAndKept(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const most = 10
	n := proc.NewNode(t, proc.Options{Args: []string{"--maxclients", "10"}})
	redis := proc.RedisServer(t, "--maxclients", "10")
	for _, addr := range []string{redis.Addr(), n.Addr()} {
		first := proc.Dial(t, addr)
		held := []*respconn.Conn{first}
		proc.Wait(t, patience, "who waited for the server has gone", func() bool {
			return strings.Contains(proc.Do(t, first, "INFO", "clients"), `connected_clients:1\r\n`)
		})
		for range most - 1 {
			c := proc.Dial(t, addr)
			if v, err := c.Do("PING"); err != nil || v.IsError() {
				t.Fatalf("%v, %v", v, err)
			}
			held = append(held, c)
		}
		got := render(proc.Dial(t, addr).ReadToEnd())
		if want := []string{"-ERR max number of clients reached", "(closed)"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", addr, got, want)
		}
		held[0].Close()
		proc.Wait(t, patience, "a place is free again", func() bool {
			c := proc.Dial(t, addr)
			defer c.Close()
			v, err := c.Do("PING")
			return err == nil && !v.IsError()
		})
		for _, c := range held {
			c.Close()
		}
	}
}

func TestIdleClientsAreClosedAfterTimeout(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{Args: []string{"--timeout", "1"}})
	began := time.Now()
	c := proc.Dial(t, n.Addr())
	if _, err := c.Do("PING"); err != nil && time.Since(began) < time.Second {
		t.Fatal(err)
	}
	if replies, err := c.ReadToEnd(); err != nil || len(replies) != 0 {
		t.Errorf("%v, %v", replies, err)
	}
}

func TestRandomBytesKillNothing(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	pid := n.Pid()
	const seed = 1
	r := rand.New(rand.NewPCG(seed, seed))
	for range 300 {
		c := proc.Dial(t, n.Addr())
		_ = c.Write(junk(r, 1+r.IntN(5000)))
		_ = c.Net().(*net.TCPConn).CloseWrite()
		for {
			if _, err := c.Read(); err != nil {
				break
			}
		}
		c.Close()
	}
	mustLive(t, n, pid)
}

// TestOneByteAtATime: a reader that starts again at each byte takes seconds here, and a recursive
// one overflows its stack.
func TestOneByteAtATime(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	n := proc.NewNode(t, proc.Options{})
	pid := n.Pid()
	c := proc.Dial(t, n.Addr())
	value := strings.Repeat("v", 200_000)
	for _, raw := range [][]byte{respconn.Command("SET", "k", value), []byte("ECHO " + strings.Repeat("i", 50_000) + "\r\n")} {
		for i := range raw {
			if err := c.Write(raw[i : i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if v, err := c.Read(); err != nil || v.IsError() {
			t.Fatalf("%v, %v", v, err)
		}
	}
	if v, err := c.Do("STRLEN", "k"); err != nil || string(v.Bytes) != "200000" {
		t.Errorf("%v, %v", v, err)
	}
	mustLive(t, n, pid)
}
