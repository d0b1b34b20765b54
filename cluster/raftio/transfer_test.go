package raftio

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// parties are three nodes of a group: two that have led, and one that receives their requests.
type parties struct {
	t                   *testing.T
	old, newer, hears   *Transport
	oldAddr, hearerAddr raft.ServerAddress
	requests            chan any
}

// partiesOf makes the third node answer yes to every request.
func partiesOf(t *testing.T) *parties {
	p := &parties{t: t, requests: make(chan any, 64)}
	var old, hearer string
	p.old, old = networked(t, "a", NewAcks())
	p.newer, _ = networked(t, "b", NewAcks())
	p.hears, hearer = networked(t, "c", NewAcks())
	p.oldAddr, p.hearerAddr = raft.ServerAddress(old), raft.ServerAddress(hearer)
	for _, n := range []*Transport{p.old, p.hears} {
		go func() {
			for {
				select {
				case rpc := <-n.Consumer():
					p.requests <- rpc.Command
					rpc.Respond(yesTo(rpc.Command), nil)
				case <-n.closed:
					return
				}
			}
		}()
	}
	return p
}

func yesTo(command any) any {
	switch c := command.(type) {
	case *raft.AppendEntriesRequest:
		return &raft.AppendEntriesResponse{Term: c.Term, Success: true}
	case *raft.RequestVoteRequest:
		return &raft.RequestVoteResponse{Term: c.Term, Granted: true}
	case *raft.RequestPreVoteRequest:
		return &raft.RequestPreVoteResponse{Term: c.Term, Granted: true}
	}
	return &raft.TimeoutNowResponse{}
}

// leads makes one of the first two nodes send a heartbeat of its term to the third.
func (p *parties) leads(who *Transport, term uint64) {
	p.t.Helper()
	must(p.t, who.AppendEntries("c", p.hearerAddr, heartbeat(term), &raft.AppendEntriesResponse{}))
	<-p.requests
}

func (p *parties) orders(who interface {
	TimeoutNow(raft.ServerID, raft.ServerAddress, *raft.TimeoutNowRequest, *raft.TimeoutNowResponse) error
}, addr raft.ServerAddress) error {
	return who.TimeoutNow("c", addr, &raft.TimeoutNowRequest{RPCHeader: heartbeat(1).RPCHeader}, &raft.TimeoutNowResponse{})
}

// passes makes the third node ask the first for its vote, and reports whether the request could
// pass the stickiness.
func (p *parties) passes(term uint64) bool {
	p.t.Helper()
	request := &raft.RequestVoteRequest{RPCHeader: heartbeat(term).RPCHeader, Term: term, LeadershipTransfer: true}
	must(p.t, p.hears.RequestVote("a", p.oldAddr, request, &raft.RequestVoteResponse{}))
	if !request.LeadershipTransfer {
		p.t.Error("what Raft says was changed")
	}
	return (<-p.requests).(*raft.RequestVoteRequest).LeadershipTransfer
}

func TestAnOrderToLeadOfATermThatIsOverIsRefused(t *testing.T) {
	p := partiesOf(t)
	p.leads(p.old, 4)
	must(t, p.orders(p.old, p.hearerAddr))
	<-p.requests
	p.leads(p.newer, 5)
	if err := p.orders(p.old, p.hearerAddr); err == nil || !strings.Contains(err.Error(), errLateOrder.Error()) {
		t.Errorf("a late order: %v", err)
	}
	must(t, p.orders(p.newer, p.hearerAddr))
	if _, ok := (<-p.requests).(*raft.TimeoutNowRequest); !ok {
		t.Error("something else arrived")
	}
}

func TestARequestForVotesPassesInTheTermBehindTheOrderAlone(t *testing.T) {
	p := partiesOf(t)
	p.leads(p.old, 4)
	must(t, p.orders(p.old, p.hearerAddr))
	<-p.requests
	if !p.passes(5) {
		t.Error("not in the term behind the order's")
	}
	// It has voted for other nodes since, and has not heard them as leaders.
	if p.passes(8) {
		t.Error("in a later term")
	}
}

// Without a term the receiver cannot know whether the order is late.
func TestAnOrderWithoutATermIsRefused(t *testing.T) {
	p := partiesOf(t)
	p.leads(p.newer, 5)
	err := p.orders(p.old.NetworkTransport, raft.ServerAddress("c@"+string(p.hearerAddr)))
	if err == nil || !strings.Contains(err.Error(), errNoTerm.Error()) {
		t.Errorf("an order without a term: %v", err)
	}
}

// In the library, a candidate that was ordered to stand accepts the requests of a leader and stays
// a candidate: it may stand again at once.
func TestWhoHasHeardTheLeaderAsksForNoVotes(t *testing.T) {
	p := partiesOf(t)
	ask := func(term uint64) (vote, preVote error) {
		return p.hears.RequestVote("a", p.oldAddr, &raft.RequestVoteRequest{RPCHeader: heartbeat(term).RPCHeader, Term: term}, &raft.RequestVoteResponse{}),
			p.hears.RequestPreVote("a", p.oldAddr, &raft.RequestPreVoteRequest{RPCHeader: heartbeat(term).RPCHeader, Term: term}, &raft.RequestPreVoteResponse{})
	}
	p.leads(p.newer, 5)
	if vote, preVote := ask(6); !errors.Is(vote, errPromised) || !errors.Is(preVote, errPromised) {
		t.Errorf("in the next term: %v, %v", vote, preVote)
	}
	if vote, preVote := ask(7); vote != nil || preVote != nil {
		t.Errorf("in a term beyond: %v, %v", vote, preVote)
	}
	p.hears.transfers.mu.Lock()
	p.hears.transfers.heartbeat = time.Millisecond
	p.hears.transfers.mu.Unlock()
	eventually(t, "the promise to run out", func() bool {
		vote, preVote := ask(6)
		return vote == nil && preVote == nil
	})
}

func TestTheLeaseIsOffBeforeTheOrderLeaves(t *testing.T) {
	p := partiesOf(t)
	p.leads(p.old, 4)
	var off atomic.Uint64
	p.old.turnOff = func(term uint64) {
		off.Store(term)
		if len(p.requests) > 0 {
			t.Error("the order has arrived")
		}
	}
	must(t, p.orders(p.old, p.hearerAddr))
	if off.Load() != 4 {
		t.Errorf("the lease of term %d is off", off.Load())
	}
}

func TestAnOrderThatIsNotAnsweredIsGivenUp(t *testing.T) {
	leader, _ := networked(t, "a", NewAcks())
	_, addr := networked(t, "c", NewAcks()) // no Raft takes its requests
	leader.transfers.heartbeat = time.Millisecond
	if err := (&parties{}).orders(leader, raft.ServerAddress(addr)); !errors.Is(err, errUnheard) {
		t.Error(err)
	}
}

func TestTermsOfOrdersSurviveTheWire(t *testing.T) {
	for _, id := range []string{"", "n1", "n1.0123456789abcdef"} {
		if term, says := termOfOrder(appendOrder([]byte(id), 1<<40)); !says || term != 1<<40 {
			t.Errorf("%q: %d %v", id, term, says)
		}
		if _, says := termOfOrder([]byte(id)); says {
			t.Errorf("%q has a term", id)
		}
	}
}

// The replica that is to lead was sent all entries, but has not stored them yet.
func TestAnOrderToLeadWaitsForTheWholeLog(t *testing.T) {
	order := func(heartbeat time.Duration) (p *parties, off *atomic.Uint64, answer chan error) {
		p, off, answer = partiesOf(t), new(atomic.Uint64), make(chan error, 1)
		p.leads(p.old, 4)
		p.old.transfers.heartbeat = heartbeat
		p.old.lastIndex = func() (uint64, error) { return 9, nil }
		p.old.turnOff = func(term uint64) { off.Store(term) }
		p.old.acks.note("c", 4, 0, 8)
		go func() { answer <- p.orders(p.old, p.hearerAddr) }()
		return p, off, answer
	}
	p, off, answer := order(time.Minute)
	eventually(t, "somebody waits", func() bool {
		p.old.acks.mu.Lock()
		defer p.old.acks.mu.Unlock()
		return p.old.acks.changed != nil
	})
	if off.Load() != 0 || len(p.requests) > 0 {
		t.Error("the order left, or the lease is off")
	}
	p.old.acks.note("c", 4, 0, 9)
	must(t, <-answer)
	if _, ordered := (<-p.requests).(*raft.TimeoutNowRequest); !ordered || off.Load() != 4 {
		t.Errorf("ordered: %v; the lease of term %d is off", ordered, off.Load())
	}

	p, off, answer = order(time.Millisecond)
	if err := <-answer; !errors.Is(err, errBehind) || off.Load() != 0 || len(p.requests) > 0 {
		t.Errorf("%v; the lease of term %d is off, %d requests arrived", err, off.Load(), len(p.requests))
	}
}
