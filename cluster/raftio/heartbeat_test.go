package raftio

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/transport"
	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/ring"
)

func neverHangs() bool { return false }

// networked returns a Raft transport over a real port.
func networked(t *testing.T, id string, acks *Acks) (*Transport, string) {
	t.Helper()
	return networkedOn(t, id, acks, neverHangs)
}

func networkedOn(t *testing.T, id string, acks *Acks, hangs func() bool) (*Transport, string) {
	t.Helper()
	return networkedWith(t, id, TransportConfig{Acks: acks, Hangs: hangs, Covered: func(uint64) (last, term uint64) { return 0, 0 }})
}

// networkedWith returns a transport. cfg holds the parameters that differ between tests.
func networkedWith(t *testing.T, id string, cfg TransportConfig) (*Transport, string) {
	t.Helper()
	addr := ports.FreeAddr(t)
	tr, err := transport.Listen(transport.Config{
		Ring: ring.Shared(), Listen: []string{addr}, Advertise: addr, NodeID: id, ClusterID: func() string { return "c" },
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	must(t, err)
	t.Cleanup(func() { tr.Close() })
	nt := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: tr.StreamLayer(0), MaxPool: 2, Timeout: 10 * time.Second, Logger: silent(),
	})
	tr.Serve()
	cfg.TurnOff, cfg.LastIndex, cfg.Heartbeat = func(uint64) {}, func() (uint64, error) { return 0, nil }, leaseHeartbeat
	rt := NewTransport(nt, cfg)
	rt.Begin(following{})
	t.Cleanup(func() { rt.Close() })
	return rt, addr
}

// following is a Raft that is in a term and knows a leader.
type following struct {
	term   uint64
	leader raft.ServerID
	at     raft.ServerAddress
}

func (f following) CurrentTerm() uint64                               { return f.term }
func (f following) LeaderWithID() (raft.ServerAddress, raft.ServerID) { return f.at, f.leader }

func TestHeartbeatsGoThroughTheMainLoop(t *testing.T) {
	follower, addr := networked(t, "b", NewAcks())
	follower.SetHeartbeatHandler(func(raft.RPC) { t.Error("a heartbeat took the fast path") })
	acks := NewAcks()
	leader, _ := networked(t, "a", acks)
	arrived := make(chan time.Duration, 1)
	go func() {
		rpc := <-follower.Consumer()
		arrived <- Now()
		rpc.Respond(&raft.AppendEntriesResponse{RPCHeader: raft.RPCHeader{ProtocolVersion: 3}, Term: 4, Success: true}, nil)
	}()
	before := Now()
	var resp raft.AppendEntriesResponse
	must(t, leader.AppendEntries("b", raft.ServerAddress(addr), heartbeat(4), &resp))
	// The time at which the answer arrived proves nothing.
	if sent, at := acks.Sent("b", 4), <-arrived; sent < before || sent > at {
		t.Errorf("sent at %v: not between %v and its arrival at %v", sent, before, at)
	}
}

func TestAnInstallProvesHowFarALogReachesAndNothingOfATime(t *testing.T) {
	follower, addr := networked(t, "b", NewAcks())
	acks := NewAcks()
	leader, _ := networked(t, "a", acks)
	go func() {
		rpc := <-follower.Consumer()
		_, _ = io.Copy(io.Discard, rpc.Reader)
		rpc.Respond(&raft.InstallSnapshotResponse{RPCHeader: raft.RPCHeader{ProtocolVersion: 3}, Term: 4, Success: true}, nil)
	}()
	req := &raft.InstallSnapshotRequest{RPCHeader: heartbeat(4).RPCHeader, SnapshotVersion: 1, Term: 4, LastLogIndex: 17, Size: 3, Configuration: configurationEntry(1, 1, "a").Data}
	must(t, leader.InstallSnapshot("b", raft.ServerAddress(addr), req, &raft.InstallSnapshotResponse{}, strings.NewReader("abc")))
	if sent, match := acks.Sent("b", 4), acks.Match("b", 4); sent != 0 || match != 17 {
		t.Errorf("sent at %v, and the log reaches to %d", sent, match)
	}
}

// Each of these messages would be a sign of life, and would keep a follower from voting.
func TestALeaderWhoseDiskHangsSaysNothing(t *testing.T) {
	hangs := false
	leader, _ := networkedOn(t, "a", NewAcks(), func() bool { return hangs })
	_, addr := networked(t, "b", NewAcks())
	pipeline, err := leader.AppendEntriesPipeline("b", raft.ServerAddress(addr))
	must(t, err)
	defer pipeline.Close()
	hangs = true
	_, piped := pipeline.AppendEntries(heartbeat(4), &raft.AppendEntriesResponse{})
	for what, err := range map[string]error{
		"a heartbeat":  leader.AppendEntries("b", raft.ServerAddress(addr), heartbeat(4), &raft.AppendEntriesResponse{}),
		"the pipeline": piped,
		"an install":   leader.InstallSnapshot("b", raft.ServerAddress(addr), &raft.InstallSnapshotRequest{RPCHeader: heartbeat(4).RPCHeader, Term: 4, Size: 3}, &raft.InstallSnapshotResponse{}, strings.NewReader("abc")),
	} {
		if !errors.Is(err, errHangs) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestRequestReachesNoOtherNode(t *testing.T) {
	_, addr := networked(t, "b", NewAcks())
	acks := NewAcks()
	leader, _ := networked(t, "a", acks)
	var resp raft.AppendEntriesResponse
	if err := leader.AppendEntries("c", raft.ServerAddress(addr), heartbeat(4), &resp); err == nil {
		t.Error("node b answered for c")
	}
	if _, err := leader.AppendEntriesPipeline("c", raft.ServerAddress(addr)); err == nil {
		t.Error("node b took a pipeline for c")
	}
	if err := leader.RequestVote("c", raft.ServerAddress(addr), &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{}); err == nil {
		t.Error("node b voted for c")
	}
}
