package raftio

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// A node that should not lead asks for no pre-votes until other nodes have had time to be elected,
// counted from the last sign of a leader. Then it asks. It obeys an order to lead at once.
func TestWhoStandsBackStandsInTheEnd(t *testing.T) {
	why := errors.New("a wrong clock")
	var back atomic.Bool
	other, addr := networked(t, "b", NewAcks())
	go func() {
		for {
			select {
			case rpc := <-other.Consumer():
				rpc.Respond(yesTo(rpc.Command), nil)
			case <-other.closed:
				return
			}
		}
	}()
	cfg := TransportConfig{
		Acks: NewAcks(), Hangs: neverHangs, Covered: func(uint64) (last, term uint64) { return 0, 0 },
		StandsBack: func() error {
			if back.Load() {
				return why
			}
			return nil
		},
	}
	self, _ := networkedWith(t, "a", cfg)
	ask := func() error {
		args := &raft.RequestPreVoteRequest{RPCHeader: heartbeat(9).RPCHeader, Term: 9}
		return self.RequestPreVote("b", raft.ServerAddress(addr), args, &raft.RequestPreVoteResponse{})
	}
	if err := ask(); err != nil {
		t.Errorf("a node that may lead is held back: %v", err)
	}
	back.Store(true)
	// Whenever the node asked within the patience, the request was held back.
	const patience = 200 * time.Millisecond
	self.standing.patience = patience
	from := self.standing.opened
	deadline := time.Now().Add(10 * time.Second)
	for held := 0; ; held++ {
		err := ask()
		switch passed := Now() - from; {
		case err == nil && passed < patience:
			t.Fatalf("it asked for votes %v after it was opened", passed)
		case err == nil:
			if held == 0 {
				t.Log("the machine was too busy to see it held back")
			}
		case !errors.Is(err, why):
			t.Fatal(err)
		case time.Now().After(deadline):
			t.Fatal("it never stands")
		default:
			continue
		}
		break
	}
	// A sign of a leader starts the wait again.
	self.transfers.mu.Lock()
	self.transfers.heardAt = Now()
	self.transfers.mu.Unlock()
	if err := ask(); !errors.Is(err, why) && Now()-self.transfers.heardLast() < patience {
		t.Errorf("just after it heard a leader: %v", err)
	}
	request := &raft.RequestVoteRequest{RPCHeader: heartbeat(9).RPCHeader, Term: 9, LeadershipTransfer: true}
	if err := self.RequestVote("b", raft.ServerAddress(addr), request, &raft.RequestVoteResponse{}); err != nil {
		t.Errorf("ordered to lead: %v", err)
	}
}
