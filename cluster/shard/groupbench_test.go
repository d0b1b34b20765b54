package shard

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/hashicorp/raft"

	"lockstep/cluster/transport"
	"lockstep/tests/kit/ring"
)

// BenchmarkAppend appends one entry after the other, through Raft, the disk and loopback.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 3} {
		for _, store := range bothStores {
			b.Run(fmt.Sprintf("nodes=%d/%s", n, store), func(b *testing.B) { benchAppend(b, n, store) })
		}
	}
}

func benchAppend(b *testing.B, n int, store string) {
	var groups []*Group
	var servers []raft.Server
	led := make(chan *Group, 16)
	for i := range n {
		g, server := benchGroup(b, fmt.Sprintf("n%d", i), store, func(c *GroupConfig) {
			c.OnLeader = func(uint64) { led <- groups[i] }
		})
		groups = append(groups, g)
		servers = append(servers, server)
	}
	for _, g := range groups {
		if err := g.Bootstrap(servers); err != nil {
			b.Fatal(err)
		}
	}
	leader := <-led
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := leader.Append(b.Context(), make([]byte, 1024)); err != nil {
			b.Fatal(err)
		}
	}
}

func benchGroup(b *testing.B, id, store string, set func(*GroupConfig)) (*Group, raft.Server) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	tr, err := transport.Listen(transport.Config{
		Ring: ring.Shared(), Listen: []string{addr}, Advertise: addr, NodeID: id, ClusterID: func() string { return "c" }, Log: log,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { tr.Close() })
	cfg := GroupConfig{
		Dir: b.TempDir(), LogStore: store, LocalID: raft.ServerID(id), LocalAddr: raft.ServerAddress(addr), Transport: tr, SM: &counter{},
		HeartbeatMs: 1000, ElectionMs: 1000, SnapshotEntries: 1 << 30, TrailingEntries: 1 << 20,
		OnLost: func(uint64) {}, Fatal: func(err error) { b.Error(err) }, Log: log,
	}
	set(&cfg)
	g, err := OpenGroup(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = g.Shutdown(context.Background()) })
	tr.Serve()
	return g, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(addr)}
}
