package raftio

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
)

// sealedLogs are entries as a leader sends them.
func sealedLogs(logs ...*raft.Log) []*raft.Log {
	for _, l := range logs {
		seal(l)
	}
	return logs
}

func header(id string) raft.RPCHeader {
	return raft.RPCHeader{ProtocolVersion: 3, ID: []byte(id), Addr: []byte(id + ":1")}
}

// judging returns a transport that checks requests and carries nothing.
func judging(f Following) *Transport {
	return &Transport{raft: f, entry: func(l *raft.Log) error { return checkSeal(l) }}
}

// TestOnlyWhatMakesSenseReachesRaft: each of these requests once ended the process, or left the
// group without a term in which to elect a leader.
func TestOnlyWhatMakesSenseReachesRaft(t *testing.T) {
	long := bytes.Repeat([]byte("x"), nameBytesMax+1)
	members := raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "a:1"}, {ID: "b", Address: "b:1", Suffrage: raft.Nonvoter}}})
	appends := func(change func(c *raft.AppendEntriesRequest)) any {
		c := &raft.AppendEntriesRequest{RPCHeader: header("a"), Term: 7, PrevLogEntry: 4, PrevLogTerm: 6, LeaderCommitIndex: 4,
			Entries: sealedLogs(&raft.Log{Index: 5, Term: 6, Type: raft.LogNoop}, &raft.Log{Index: 6, Term: 7, Type: raft.LogConfiguration, Data: members}, &raft.Log{Index: 7, Term: 7, Data: []byte("x")})}
		change(c)
		return c
	}
	install := func(change func(c *raft.InstallSnapshotRequest)) any {
		c := &raft.InstallSnapshotRequest{RPCHeader: header("a"), SnapshotVersion: 1, Term: 7, LastLogIndex: 9, LastLogTerm: 7, Configuration: members, ConfigurationIndex: 6, Size: 10}
		change(c)
		return c
	}
	vote := func(change func(c *raft.RequestVoteRequest)) any {
		c := &raft.RequestVoteRequest{RPCHeader: header("a"), Term: 7, LastLogIndex: 9, LastLogTerm: 6}
		change(c)
		return c
	}
	servers := func(all ...raft.Server) []byte { return raft.EncodeConfiguration(raft.Configuration{Servers: all}) }
	for name, c := range map[string]struct {
		command any
		sense   bool
	}{
		"entries":                     {appends(func(*raft.AppendEntriesRequest) {}), true},
		"a heartbeat":                 {&raft.AppendEntriesRequest{RPCHeader: header("a"), Term: 7}, true},
		"a term in ten years":         {appends(func(c *raft.AppendEntriesRequest) { c.Term = 5 + termsAheadMax }), true},
		"a term that cannot be":       {appends(func(c *raft.AppendEntriesRequest) { c.Term = 6 + termsAheadMax }), false},
		"the last term":               {&raft.AppendEntriesRequest{Term: 1<<64 - 1}, false},
		"no entry":                    {appends(func(c *raft.AppendEntriesRequest) { c.Entries[1] = nil }), false},
		"a gap":                       {appends(func(c *raft.AppendEntriesRequest) { c.Entries = c.Entries[1:] }), false},
		"an entry of a later term":    {appends(func(c *raft.AppendEntriesRequest) { c.Term = 6 }), false},
		"an entry of an earlier term": {appends(func(c *raft.AppendEntriesRequest) { c.PrevLogTerm = 7 }), false},
		"beyond all entries":          {appends(func(c *raft.AppendEntriesRequest) { c.PrevLogEntry = 1<<64 - 1 }), false},
		"a type that there is not":    {appends(func(c *raft.AppendEntriesRequest) { c.Entries[0].Type = 77; sealedLogs(c.Entries[0]) }), false},
		"members as of old": {appends(func(c *raft.AppendEntriesRequest) {
			c.Entries[0].Type = raft.LogAddPeerDeprecated
			sealedLogs(c.Entries[0])
		}), false},
		"a checksum that is wrong":     {appends(func(c *raft.AppendEntriesRequest) { c.Entries[2].Data = []byte("y") }), false},
		"no checksum":                  {appends(func(c *raft.AppendEntriesRequest) { c.Entries[2].Extensions = nil }), false},
		"members that cannot be read":  {appends(func(c *raft.AppendEntriesRequest) { c.Entries[1].Data = []byte("\xff\xff"); sealedLogs(c.Entries[1]) }), false},
		"nobody votes":                 {appends(func(c *raft.AppendEntriesRequest) { c.Entries[1].Data = servers(); sealedLogs(c.Entries[1]) }), false},
		"a name of great length":       {appends(func(c *raft.AppendEntriesRequest) { c.ID = long }), false},
		"a snapshot":                   {install(func(*raft.InstallSnapshotRequest) {}), true},
		"of a length below nothing":    {install(func(c *raft.InstallSnapshotRequest) { c.Size = -1 }), false},
		"to no entry":                  {install(func(c *raft.InstallSnapshotRequest) { c.LastLogIndex, c.ConfigurationIndex = 0, 0 }), false},
		"of a later term":              {install(func(c *raft.InstallSnapshotRequest) { c.LastLogTerm = 8 }), false},
		"with members of later":        {install(func(c *raft.InstallSnapshotRequest) { c.ConfigurationIndex = 10 }), false},
		"with members that are broken": {install(func(c *raft.InstallSnapshotRequest) { c.Configuration = members[:len(members)-3] }), false},
		"of version 0":                 {install(func(c *raft.InstallSnapshotRequest) { c.SnapshotVersion = 0 }), false},
		"one server twice": {install(func(c *raft.InstallSnapshotRequest) {
			c.Configuration = servers(raft.Server{ID: "a", Address: "a:1"}, raft.Server{ID: "a", Address: "b:1"})
		}), false},
		"one address twice": {install(func(c *raft.InstallSnapshotRequest) {
			c.Configuration = servers(raft.Server{ID: "a", Address: "a:1"}, raft.Server{ID: "b", Address: "a:1"})
		}), false},
		"a vote":                    {vote(func(*raft.RequestVoteRequest) {}), true},
		"for the last term":         {vote(func(c *raft.RequestVoteRequest) { c.Term, c.LeadershipTransfer = 1<<64-1, true }), false},
		"with a log of later":       {vote(func(c *raft.RequestVoteRequest) { c.LastLogTerm = 8 }), false},
		"from nowhere":              {vote(func(c *raft.RequestVoteRequest) { c.Addr = nil }), false},
		"a vote before the vote":    {&raft.RequestPreVoteRequest{RPCHeader: header("a"), Term: 7}, true},
		"for a term that cannot be": {&raft.RequestPreVoteRequest{RPCHeader: header("a"), Term: 1 << 60}, false},
		"an order to lead":          {&raft.TimeoutNowRequest{RPCHeader: header("a")}, true},
		"no request at all":         {"x", false},
	} {
		if err := judging(following{}).judge(c.command, 5); (err == nil) != c.sense {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnswersOfTermsThatCannotBeAreNone: Raft would take such a term for its own.
func TestAnswersOfTermsThatCannotBeAreNone(t *testing.T) {
	follower, addr := networked(t, "b", NewAcks())
	go func() {
		for {
			select {
			case rpc := <-follower.Consumer():
				switch rpc.Command.(type) {
				case *raft.AppendEntriesRequest:
					rpc.Respond(&raft.AppendEntriesResponse{Term: 1<<64 - 1}, nil)
				case *raft.RequestVoteRequest:
					rpc.Respond(&raft.RequestVoteResponse{Term: 1<<64 - 1}, nil)
				case *raft.RequestPreVoteRequest:
					rpc.Respond(&raft.RequestPreVoteResponse{Term: 1<<64 - 1}, nil)
				}
			case <-follower.closed:
				return
			}
		}
	}()
	leader, _ := networked(t, "a", NewAcks())
	to := raft.ServerAddress(addr)
	for name, err := range map[string]error{
		"entries":     leader.AppendEntries("b", to, heartbeat(4), &raft.AppendEntriesResponse{}),
		"a vote":      leader.RequestVote("b", to, &raft.RequestVoteRequest{RPCHeader: header("a"), Term: 4}, &raft.RequestVoteResponse{}),
		"a first one": leader.RequestPreVote("b", to, &raft.RequestPreVoteRequest{RPCHeader: header("a"), Term: 4}, &raft.RequestPreVoteResponse{}),
	} {
		if !errors.Is(err, errSense) {
			t.Errorf("%s: %v", name, err)
		}
	}
	pipe, err := leader.AppendEntriesPipeline("b", to)
	must(t, err)
	defer pipe.Close()
	_, err = pipe.AppendEntries(heartbeat(4), &raft.AppendEntriesResponse{})
	must(t, err)
	if f := <-pipe.Consumer(); f.Response().Term != 4 || f.Response().Success {
		t.Errorf("%+v", f.Response())
	}
}

// TestStickinessGoesByTheLeadersID: a candidate with the leader's address but another id is
// refused. The leader may have handed over its address, and still hold its lease.
func TestStickinessGoesByTheLeadersID(t *testing.T) {
	knows := judging(following{term: 5, leader: "a", at: "place:1"})
	vote := func(id, at string, transfer bool) (byVote, byPreVote error) {
		h := raft.RPCHeader{ProtocolVersion: 3, ID: []byte(id), Addr: []byte(at)}
		return knows.checkRival(&raft.RequestVoteRequest{RPCHeader: h, Term: 6, LeadershipTransfer: transfer}), knows.checkRival(&raft.RequestPreVoteRequest{RPCHeader: h, Term: 6})
	}
	if byVote, byPreVote := vote("b", "place:1", false); !errors.Is(byVote, errRival) || !errors.Is(byPreVote, errRival) {
		t.Errorf("another node at the leader's address: %v, %v", byVote, byPreVote)
	}
	if byVote, _ := vote("b", "place:1", true); byVote != nil {
		t.Errorf("ordered to lead: %v", byVote)
	}
	// The library checks these itself.
	for _, c := range [][2]string{{"a", "place:1"}, {"b", "elsewhere:1"}, {"a", "elsewhere:1"}} {
		if byVote, byPreVote := vote(c[0], c[1], false); byVote != nil || byPreVote != nil {
			t.Errorf("%s: %v, %v", c, byVote, byPreVote)
		}
	}
	knows = judging(following{term: 5})
	if byVote, byPreVote := vote("b", "place:1", false); byVote != nil || byPreVote != nil {
		t.Errorf("no leader is known: %v, %v", byVote, byPreVote)
	}
}

// pipes is a stream layer whose connections the test supplies.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }
func (p pipes) Dial(raft.ServerAddress, time.Duration) (net.Conn, error) {
	return nil, io.ErrClosedPipe
}

// recording is a connection whose other side has already sent everything.
type recording struct {
	net.Conn
	in    *bytes.Reader
	ended chan struct{}
	once  sync.Once
}

func (c *recording) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c *recording) Write(b []byte) (int, error) { return len(b), nil }
func (c *recording) Close() error                { c.once.Do(func() { close(c.ended) }); return nil }
func (c *recording) RemoteAddr() net.Addr        { return &net.TCPAddr{} }

// deafFSM is a state machine that keeps nothing.
type deafFSM struct{}

func (deafFSM) Apply(*raft.Log) any                 { return nil }
func (deafFSM) Snapshot() (raft.FSMSnapshot, error) { return nil, io.EOF }
func (deafFSM) Restore(r io.ReadCloser) error       { return r.Close() }

// wired returns the bytes of a request as the library sends them.
func wired(kind byte, command any, behind string) []byte {
	var b bytes.Buffer
	b.WriteByte(kind)
	if err := codec.NewEncoder(&b, &codec.MsgpackHandle{}).Encode(command); err != nil {
		panic(err)
	}
	b.WriteString(behind)
	return b.Bytes()
}

// FuzzStream: whatever comes over a group's connection, Raft keeps running, and its term is
// plausible.
func FuzzStream(f *testing.F) {
	members := raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "a:1"}, {ID: "self", Address: "self:1"}}})
	entries := sealedLogs(&raft.Log{Index: 1, Term: 1, Type: raft.LogConfiguration, Data: members}, &raft.Log{Index: 2, Term: 1, Data: []byte("x")})
	for _, seed := range [][]byte{
		wired(0, &raft.AppendEntriesRequest{RPCHeader: header("a"), Term: 1, Entries: entries, LeaderCommitIndex: 2}, ""),
		wired(1, &raft.RequestVoteRequest{RPCHeader: header("a"), Term: 9, LastLogIndex: 9, LastLogTerm: 8}, ""),
		wired(2, &raft.InstallSnapshotRequest{RPCHeader: header("a"), SnapshotVersion: 1, Term: 2, LastLogIndex: 9, LastLogTerm: 1, Configuration: members, ConfigurationIndex: 1, Size: 3}, "abc"),
		wired(3, &raft.TimeoutNowRequest{RPCHeader: header("a")}, ""),
		wired(4, &raft.RequestPreVoteRequest{RPCHeader: header("a"), Term: 9}, ""),
		wired(0, &raft.AppendEntriesRequest{Term: 1, Entries: []*raft.Log{nil}}, ""),
		wired(0, &raft.AppendEntriesRequest{Term: 1, Entries: sealedLogs(&raft.Log{Index: 1, Term: 1, Type: 9})}, ""),
		[]byte(strings.Repeat("\x00\x91", 100)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, layer := raftOverPipes(t)
		conn := &recording{in: bytes.NewReader(data), ended: make(chan struct{})}
		layer.conns <- conn
		<-conn.ended
		_ = r.Stats() // asks the main loop
		if s := r.State(); s == raft.Shutdown {
			t.Fatal(s)
		}
		if r.CurrentTerm() > 1<<33 {
			t.Fatalf("it is in term %d", r.CurrentTerm())
		}
	})
}

// raftOverPipes starts a Raft as a group does, and returns the stream layer for its connections.
func raftOverPipes(t *testing.T) (*raft.Raft, pipes) {
	t.Helper()
	layer := pipes{make(chan net.Conn), make(chan struct{})}
	nt := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{Stream: layer, MaxPool: 1, Timeout: time.Second, Logger: silent()})
	log := raft.NewInmemStore()
	trans := NewTransport(nt, TransportConfig{
		Acks: NewAcks(), Hangs: neverHangs, TurnOff: func(uint64) {}, LastIndex: log.LastIndex, Heartbeat: time.Minute,
		Covered: func(uint64) (last, term uint64) { return 0, 0 }, Entry: checkSeal,
	})
	cfg := raft.DefaultConfig()
	cfg.LocalID, cfg.Logger, cfg.HeartbeatTimeout, cfg.ElectionTimeout, cfg.LeaderLeaseTimeout = "self", silent(), time.Minute, time.Minute, time.Minute
	r, err := raft.NewRaft(cfg, deafFSM{}, log, log, raft.NewInmemSnapshotStore(), trans)
	must(t, err)
	trans.Begin(r)
	t.Cleanup(func() {
		ended := r.Shutdown()
		trans.Close()
		must(t, ended.Error())
	})
	return r, layer
}
