package client_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"lockstep/proto/client"
	"lockstep/tests/kit/prototest"
	"lockstep/tests/kit/respconn"
)

// clientsMax is maxmemory-clients in these tests.
const clientsMax = 4 << 20

// spectator monitors, and reads only the replies to its own commands.
func spectator(t *testing.T, addr string, before ...string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	for _, line := range append(before, "MONITOR") {
		answer := make([]byte, len("+OK\r\n"))
		if _, err := conn.Write([]byte(line + "\r\n")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "+OK\r\n" {
			t.Fatalf("%s: %q %v", line, answer, err)
		}
	}
	return conn
}

// exempt returns a client that is not evicted.
func exempt(t *testing.T, addr string) *respconn.Conn {
	t.Helper()
	c := prototest.Dial(t, addr)
	if got := prototest.Do(t, c, "CLIENT", "NO-EVICT", "ON"); got != "+OK" {
		t.Fatal(got)
	}
	return c
}

// Each monitor that does not read is far from the limit of a single client, and stays so for a long
// time.
func TestAllClientsTogetherHoldNoMoreThanMaxmemoryClients(t *testing.T) {
	n, redis := prototest.StartNode(t, 1), prototest.StartRedis(t)
	n.Set(func(s *client.Settings) { s.ClientsBytesMax = clientsMax })
	const monitors = 8
	value := strings.Repeat("x", 256<<10)
	r := exempt(t, redis)
	prototest.Do(t, r, "CONFIG", "SET", "maxmemory-clients", "4mb")
	for range monitors {
		spectator(t, redis)
		spectator(t, n.Addr)
	}
	c := exempt(t, n.Addr)
	prototest.Until(t, "all monitors are evicted", func() bool {
		prototest.Do(t, c, "SET", "a", value)
		prototest.Until(t, "the clients hold less than they may", func() bool { return n.Registry.Buffers().Bytes < clientsMax })
		return n.Stats.EvictedClients.Load() == monitors
	})
	prototest.Until(t, "their connections are forgotten", func() bool { return n.Registry.Len() == 1 })
	prototest.Until(t, "Redis evicts as many", func() bool {
		prototest.Do(t, r, "SET", "a", value)
		return strings.Contains(prototest.Do(t, r, "INFO", "stats"), "evicted_clients:8")
	})
	for _, c := range []*respconn.Conn{r, c} {
		if lines := strings.Count(prototest.Do(t, c, "CLIENT", "LIST"), " addr="); lines != 1 {
			t.Errorf("%d clients are left", lines)
		}
	}
	prototest.Until(t, "nothing waits", func() bool { return n.Stats.Waiting.Load() == 0 })
	if closed := n.Stats.OutputClosed.Load(); closed != 0 {
		t.Errorf("%d connections were closed for their own output", closed)
	}
	n.Stats.Reset()
	if n.Stats.EvictedClients.Load() != 0 {
		t.Error("the counter is not set back")
	}
}

// The memory of an exempt client counts, but only other clients are evicted.
func TestExemptClientsAreNotEvicted(t *testing.T) {
	n := prototest.StartNode(t, 1)
	n.Set(func(s *client.Settings) { s.ClientsBytesMax = clientsMax })
	stays := spectator(t, n.Addr, "CLIENT NO-EVICT ON")
	spectator(t, n.Addr)
	c := exempt(t, n.Addr)
	value := strings.Repeat("x", 256<<10)
	prototest.Until(t, "the other one is evicted", func() bool {
		prototest.Do(t, c, "SET", "a", value)
		return n.Stats.EvictedClients.Load() == 1 && n.Registry.Len() == 2
	})
	large := strings.Repeat("x", clientsMax)
	prototest.Until(t, "the exempt one holds more than all may, by more than the kernel takes yet", func() bool {
		prototest.Do(t, c, "SET", "a", large)
		return n.Registry.Buffers().Bytes > 4*clientsMax
	})
	if _, err := stays.Write([]byte("CLIENT NO-EVICT OFF\r\n")); err != nil {
		t.Fatal(err)
	}
	prototest.Until(t, "it is evicted when it is exempt no more", func() bool { return n.Stats.EvictedClients.Load() == 2 && n.Registry.Len() == 1 })
	if got := prototest.Do(t, c, "PING"); got != "+PONG" {
		t.Error(got)
	}
}

// Of clients that send unfinished commands, or queue commands, those with the most memory are
// evicted.
func TestTheClientsThatHoldMostAreEvicted(t *testing.T) {
	n := prototest.StartNode(t, 1)
	large := prototest.Dial(t, n.Addr)
	half := append([]byte("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4000000\r\n"), bytes.Repeat([]byte("x"), 3_000_000)...)
	if err := large.Write(half); err != nil {
		t.Fatal(err)
	}
	queued := prototest.Dial(t, n.Addr)
	prototest.Do(t, queued, "MULTI")
	prototest.Do(t, queued, "SET", "a", strings.Repeat("x", 1_500_000))
	small := prototest.Dial(t, n.Addr)
	prototest.Do(t, small, "PING")
	prototest.Until(t, "all is there", func() bool { return n.Registry.Buffers().Bytes > 4_500_000 })
	n.Set(func(s *client.Settings) { s.ClientsBytesMax = 4_200_000 })
	prototest.Until(t, "one is evicted", func() bool { return n.Stats.EvictedClients.Load() == 1 && n.Registry.Len() == 2 })
	for _, c := range []*respconn.Conn{small, queued} {
		prototest.Do(t, c, "PING")
	}
	n.Set(func(s *client.Settings) { s.ClientsBytesMax = 128 << 10 })
	prototest.Until(t, "the other one is evicted", func() bool { return n.Stats.EvictedClients.Load() == 2 && n.Registry.Len() == 1 })
	if got := prototest.Do(t, small, "PING"); got != "+PONG" {
		t.Error(got)
	}
}
