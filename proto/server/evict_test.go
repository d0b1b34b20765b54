package server_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"lockstep/tests/respconn"
)

// clientsMax is maxmemory-clients in these tests.
const clientsMax = 4 << 20

// spectator monitors, and reads nothing but the answers to what it says.
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

// exempt is a client that is not evicted.
func exempt(t *testing.T, addr string) *respconn.Conn {
	t.Helper()
	c := dial(t, addr)
	if got := do(t, c, "CLIENT", "NO-EVICT", "ON"); got != "+OK" {
		t.Fatal(got)
	}
	return c
}

// Monitors that read nothing are each far from the limit of one client, and would
// be for long.
func TestAllClientsTogetherHoldNoMoreThanMaxmemoryClients(t *testing.T) {
	n, redis := startNode(t, 1), startRedis(t)
	n.set(func(s *settings) { s.ClientsBytesMax = clientsMax })
	const monitors = 8
	value := strings.Repeat("x", 256<<10)
	r := exempt(t, redis)
	do(t, r, "CONFIG", "SET", "maxmemory-clients", "4mb")
	for range monitors {
		spectator(t, redis)
		spectator(t, n.addr)
	}
	c := exempt(t, n.addr)
	until(t, "all monitors are evicted", func() bool {
		do(t, c, "SET", "a", value)
		until(t, "the clients hold less than they may", func() bool { return n.registry.Buffers().Bytes < clientsMax })
		return n.stats.EvictedClients.Load() == monitors
	})
	until(t, "their connections are forgotten", func() bool { return n.registry.Len() == 1 })
	until(t, "Redis evicts as many", func() bool {
		do(t, r, "SET", "a", value)
		return strings.Contains(do(t, r, "INFO", "stats"), "evicted_clients:8")
	})
	for _, c := range []*respconn.Conn{r, c} {
		if lines := strings.Count(do(t, c, "CLIENT", "LIST"), " addr="); lines != 1 {
			t.Errorf("%d clients are left", lines)
		}
	}
	until(t, "nothing waits", func() bool { return n.stats.Waiting.Load() == 0 })
	if closed := n.stats.OutputClosed.Load(); closed != 0 {
		t.Errorf("%d connections were closed for their own output", closed)
	}
	n.stats.Reset()
	if n.stats.EvictedClients.Load() != 0 {
		t.Error("the counter is not set back")
	}
}

// What an exempt client holds counts, and it stays; the others go.
func TestExemptClientsAreNotEvicted(t *testing.T) {
	n := startNode(t, 1)
	n.set(func(s *settings) { s.ClientsBytesMax = clientsMax })
	stays := spectator(t, n.addr, "CLIENT NO-EVICT ON")
	spectator(t, n.addr)
	c := exempt(t, n.addr)
	value := strings.Repeat("x", 256<<10)
	until(t, "the other one is evicted", func() bool {
		do(t, c, "SET", "a", value)
		return n.stats.EvictedClients.Load() == 1 && n.registry.Len() == 2
	})
	large := strings.Repeat("x", clientsMax)
	until(t, "the exempt one holds more than all may, by more than the kernel takes yet", func() bool {
		do(t, c, "SET", "a", large)
		return n.registry.Buffers().Bytes > 4*clientsMax
	})
	if _, err := stays.Write([]byte("CLIENT NO-EVICT OFF\r\n")); err != nil {
		t.Fatal(err)
	}
	until(t, "it is evicted when it is exempt no more", func() bool { return n.stats.EvictedClients.Load() == 2 && n.registry.Len() == 1 })
	if got := do(t, c, "PING"); got != "+PONG" {
		t.Error(got)
	}
}

// Of clients that send halves of commands, or queue them, those go that hold most.
func TestTheClientsThatHoldMostAreEvicted(t *testing.T) {
	n := startNode(t, 1)
	large := dial(t, n.addr)
	half := append([]byte("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4000000\r\n"), bytes.Repeat([]byte("x"), 3_000_000)...)
	if err := large.Write(half); err != nil {
		t.Fatal(err)
	}
	queued := dial(t, n.addr)
	do(t, queued, "MULTI")
	do(t, queued, "SET", "a", strings.Repeat("x", 1_500_000))
	small := dial(t, n.addr)
	do(t, small, "PING")
	until(t, "all is there", func() bool { return n.registry.Buffers().Bytes > 4_500_000 })
	n.set(func(s *settings) { s.ClientsBytesMax = 4_200_000 })
	until(t, "one is evicted", func() bool { return n.stats.EvictedClients.Load() == 1 && n.registry.Len() == 2 })
	for _, c := range []*respconn.Conn{small, queued} {
		do(t, c, "PING")
	}
	n.set(func(s *settings) { s.ClientsBytesMax = 128 << 10 })
	until(t, "the other one is evicted", func() bool { return n.stats.EvictedClients.Load() == 2 && n.registry.Len() == 1 })
	if got := do(t, small, "PING"); got != "+PONG" {
		t.Error(got)
	}
}
