package raftio

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

func heartbeat(term uint64) *raft.AppendEntriesRequest {
	return &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: 3, ID: []byte("a"), Addr: []byte("a:1")}, Term: term}
}

func TestAcknowledgementProvesWhatWasTrueWhenItsRequestWasSent(t *testing.T) {
	acks := NewAcks()
	yes := &raft.AppendEntriesResponse{Term: 4, Success: true}
	acks.take("b", heartbeat(4), yes, 100)
	if got := acks.Sent("b", 4); got != 100 {
		t.Errorf("sent at %v", got)
	}
	// An older answer arrives late.
	acks.take("b", heartbeat(4), yes, 50)
	if got := acks.Sent("b", 4); got != 100 {
		t.Errorf("an older answer: sent at %v", got)
	}
	for what, resp := range map[string]*raft.AppendEntriesResponse{
		"a refusal":         {Term: 4, Success: false},
		"a later term":      {Term: 5, Success: false},
		"a later term, yes": {Term: 5, Success: true},
	} {
		acks.take("b", heartbeat(4), resp, 200)
		if got := acks.Sent("b", 4); got != 100 {
			t.Errorf("%s: sent at %v", what, got)
		}
	}
	if got := acks.Sent("b", 5); got != 0 {
		t.Errorf("in another term: %v", got)
	}
}

func TestAcknowledgementTellsHowFarALogReaches(t *testing.T) {
	acks := NewAcks()
	req := heartbeat(2)
	req.PrevLogEntry, req.Entries = 9, commands(10, 12, 2)
	acks.take("b", req, &raft.AppendEntriesResponse{Term: 2, Success: true}, 1)
	if got := acks.Match("b", 2); got != 12 {
		t.Error(got)
	}
	acks.take("b", heartbeat(2), &raft.AppendEntriesResponse{Term: 2, Success: true}, 2)
	if got := acks.Match("b", 2); got != 12 {
		t.Errorf("after a heartbeat: %d", got)
	}
}

func TestWhoIsForgottenHasAcknowledgedNothing(t *testing.T) {
	acks := NewAcks()
	acks.note("b", 2, 7, 12)
	acks.note("c", 2, 7, 12)
	changed := acks.Changed()
	acks.Forget("b")
	<-changed
	if acks.Match("b", 2) != 0 || acks.Sent("b", 2) != 0 || acks.Match("c", 2) != 12 {
		t.Errorf("b reaches to %d, c to %d", acks.Match("b", 2), acks.Match("c", 2))
	}
}

func TestWhoWaitsForAcknowledgementsIsWoken(t *testing.T) {
	acks := NewAcks()
	changed := acks.Changed()
	acks.note("b", 1, 1, 0)
	<-changed
	changed = acks.Changed()
	acks.Wake()
	<-changed
}

func TestRequestCarriesABoundedNumberOfBytes(t *testing.T) {
	req := heartbeat(1)
	for i := range uint64(64) {
		req.Entries = append(req.Entries, &raft.Log{Index: i + 1, Data: make([]byte, 1<<20)})
	}
	trim(req)
	if n := len(req.Entries); n != requestBytesMax>>20 {
		t.Errorf("%d entries", n)
	}
	req.Entries = []*raft.Log{{Data: make([]byte, 2*requestBytesMax)}, {Data: []byte("x")}}
	trim(req)
	if n := len(req.Entries); n != 1 {
		t.Errorf("a long one: %d entries", n)
	}
}

// fakePipeline answers when the test says so.
type fakePipeline struct {
	asked    chan *fakeFuture
	answered chan raft.AppendFuture
}

type fakeFuture struct {
	req  *raft.AppendEntriesRequest
	resp *raft.AppendEntriesResponse
	err  error
}

func (f *fakeFuture) Error() error                          { return f.err }
func (f *fakeFuture) Start() time.Time                      { return time.Time{} }
func (f *fakeFuture) Request() *raft.AppendEntriesRequest   { return f.req }
func (f *fakeFuture) Response() *raft.AppendEntriesResponse { return f.resp }

func (p *fakePipeline) AppendEntries(req *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	f := &fakeFuture{req: req, resp: resp}
	p.asked <- f
	return f, nil
}
func (p *fakePipeline) Consumer() <-chan raft.AppendFuture { return p.answered }
func (p *fakePipeline) Close() error                       { return nil }

func TestAnswersInAPipelineProveFromTheirOwnSending(t *testing.T) {
	acks := NewAcks()
	inner := &fakePipeline{make(chan *fakeFuture, 8), make(chan raft.AppendFuture)}
	p := newPipeline(inner, "b", acks, neverHangs)
	defer p.Close()
	var after [3]time.Duration
	for i := range after {
		if _, err := p.AppendEntries(heartbeat(1), &raft.AppendEntriesResponse{}); err != nil {
			t.Fatal(err)
		}
		after[i] = Now()
	}
	for i := range after {
		f := <-inner.asked
		f.resp.Term, f.resp.Success = 1, true
		inner.answered <- f
		if got := <-p.Consumer(); got != raft.AppendFuture(f) {
			t.Fatal("another future")
		}
		sent := acks.Sent("b", 1)
		if sent == 0 || sent > after[i] || (i > 0 && sent < after[i-1]) {
			t.Errorf("answer %d proves %v; sent before %v", i, sent, after[i])
		}
	}
}

func TestPipelineDoesNotWedgeBehindAFailure(t *testing.T) {
	inner := &fakePipeline{make(chan *fakeFuture, 8), make(chan raft.AppendFuture)}
	p := newPipeline(inner, "b", NewAcks(), neverHangs)
	defer p.Close()
	for range 5 {
		if _, err := p.AppendEntries(heartbeat(1), &raft.AppendEntriesResponse{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		f := <-inner.asked
		if i != 1 {
			f.resp.Term, f.resp.Success = 1, true
		}
		select {
		case inner.answered <- f:
		case <-time.After(20 * time.Second):
			t.Fatalf("answer %d is not read", i)
		}
		// Like the library, stop reading at the first failure.
		if i <= 1 {
			<-p.Consumer()
		}
	}
}
