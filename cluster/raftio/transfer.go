package raftio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// transfers keeps transfers of leadership from breaking a lease.
//
// A leader hands over by ordering a follower to stand at once (TimeoutNow). That
// follower's requests for votes pass the voters' stickiness, on which every lease rests.
// The library obeys an order however old it is, and whichever node leads by then. So an
// order here carries the term of its leader, and:
//
//   - Its leader's lease of that term is off before the order is sent.
//   - A server that has heard a leader of a later term refuses it.
//   - A request for votes passes the stickiness only in the term after the order's. Every
//     voter that follows a later leader is beyond that term.
//
// And a candidate that was ordered to stand accepts the requests of a leader of its own
// term as a follower does, but stays a candidate: it could stand again against the
// promise that it has just made. So a node that has heard a leader within the heartbeat
// timeout asks for no vote in the next term, except by an order.
//
// The term is sent behind the sender's id, which no node reads in an order.
type transfers struct {
	heartbeat time.Duration
	// led is the newest term in which this node has sent a request as a leader.
	led atomic.Uint64

	mu sync.Mutex // guards what follows
	// heard is the newest term of a leader that has sent a request here, heardAt when
	// the last one came.
	heard   uint64
	heardAt time.Duration
	// ordered is the term of the last order that was passed on to Raft. It is 0 if there
	// was none.
	ordered uint64
}

var (
	errLateOrder = errors.New("an order to lead from a term that is over")
	errNoTerm    = errors.New("an order to lead that does not say its leader's term")
	errPromised  = errors.New("this node has just heard the leader, and asks for no votes")
	errUnheard   = errors.New("the node that is to lead does not answer")
	errBehind    = errors.New("the node that is to lead has not taken in the whole log")
)

// leads records that this node sends a request as the leader of a term.
func (x *transfers) leads(term uint64) {
	for was := x.led.Load(); was < term; was = x.led.Load() {
		if x.led.CompareAndSwap(was, term) {
			return
		}
	}
}

// receive records a request before Raft gets it, or says why Raft must not get it.
func (x *transfers) receive(command any) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch c := command.(type) {
	case *raft.AppendEntriesRequest:
		if c.Term >= x.heard {
			x.heard, x.heardAt = c.Term, Now()
		}
	case *raft.TimeoutNowRequest:
		term, says := termOfOrder(c.ID)
		switch {
		case !says:
			return errNoTerm
		case term < x.heard:
			return fmt.Errorf("%w: %d, and this is %d", errLateOrder, term, x.heard)
		}
		x.ordered = term
	}
	return nil
}

// heardLast is when a leader last sent a request here, or 0 if none has.
func (x *transfers) heardLast() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.heardAt
}

// ask reports whether a request for votes in a term may pass the stickiness, or why it
// must not be sent. transfer is true if Raft says that it was ordered to stand.
func (x *transfers) ask(term uint64, transfer bool) (passes bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case transfer && x.ordered+1 == term:
		return true, nil
	case x.heard != 0 && term <= x.heard+1 && Now()-x.heardAt < x.heartbeat:
		return false, errPromised
	}
	return false, nil
}

// orderMark separates an id from a term. No node's name contains it.
const orderMark = '@'

func appendOrder(id []byte, term uint64) []byte {
	return strconv.AppendUint(append(bytes.Clone(id), orderMark), term, 10)
}

// termOfOrder reads the term of an order. It returns false if it has none.
func termOfOrder(id []byte) (term uint64, says bool) {
	_, text, says := bytes.Cut(id, []byte{orderMark})
	term, err := strconv.ParseUint(string(text), 10, 64)
	return term, says && err == nil
}

// RequestVote implements raft.Transport.
func (t *Transport) RequestVote(id raft.ServerID, addr raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	if err := t.pledge.checkCandidate(args); err != nil {
		return err
	}
	passes, err := t.transfers.ask(args.Term, args.LeadershipTransfer)
	if err != nil {
		return err
	}
	request := *args // the library sends one request to all servers
	request.LeadershipTransfer = passes
	if err := t.NetworkTransport.RequestVote(id, named(id, addr), &request, resp); err != nil {
		return err
	}
	return judgeTerm(resp.Term, args.Term)
}

// RequestPreVote implements raft.WithPreVote.
func (t *Transport) RequestPreVote(id raft.ServerID, addr raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	if err := t.pledge.checkCandidate(args); err != nil {
		return err
	}
	if _, err := t.transfers.ask(args.Term, false); err != nil {
		return err
	}
	if err := t.standing.mayStand(t.transfers.heardLast()); err != nil {
		return err
	}
	if err := t.NetworkTransport.RequestPreVote(id, named(id, addr), args, resp); err != nil {
		return err
	}
	return judgeTerm(resp.Term, args.Term)
}

// TimeoutNow implements raft.Transport. It waits no longer than an election takes:
// meanwhile the library accepts no entries, even if it has given the transfer up. A
// request under way then may still arrive.
//
// The library gives the order when it has sent all entries. They go another way, and a
// server that stands without them does not get the others' votes. Then there would be no
// leader for as long as an election takes, and the lease would be lost for nothing. So
// TimeoutNow first waits for the entries.
func (t *Transport) TimeoutNow(id raft.ServerID, addr raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	term := t.transfers.led.Load()
	timer := time.NewTimer(t.transfers.heartbeat)
	defer timer.Stop()
	if err := t.awaitWhole(id, term, timer.C); err != nil {
		return err
	}
	t.turnOff(term)
	order := *args
	order.ID = appendOrder(args.ID, term)
	type answer struct {
		resp raft.TimeoutNowResponse
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		var a answer
		a.err = t.NetworkTransport.TimeoutNow(id, named(id, addr), &order, &a.resp)
		answered <- a
	}()
	select {
	case a := <-answered:
		*resp = a.resp
		return a.err
	case <-timer.C:
		return errUnheard
	}
}

// awaitWhole waits until a member has acknowledged the whole log in a term.
func (t *Transport) awaitWhole(id raft.ServerID, term uint64, late <-chan time.Time) error {
	for {
		changed := t.acks.Changed()
		last, err := t.lastIndex()
		if err != nil || t.acks.Match(id, term) >= last {
			return err
		}
		select {
		case <-changed:
		case <-late:
			return errBehind
		case <-t.closed:
			return raft.ErrTransportShutdown
		}
	}
}

// Consumer implements raft.Transport.
func (t *Transport) Consumer() <-chan raft.RPC { return t.incoming }

// relay passes requests on to Raft, in their order.
func (t *Transport) relay() {
	for {
		select {
		case rpc := <-t.NetworkTransport.Consumer():
			err := t.judge(rpc.Command, t.raft.CurrentTerm())
			if err == nil {
				err = t.pledge.checkCandidate(rpc.Command)
			}
			if err == nil {
				err = t.checkRival(rpc.Command)
			}
			if err == nil {
				err = t.transfers.receive(rpc.Command)
			}
			if err != nil {
				refuse(rpc, err)
				continue
			}
			boundCommit(rpc.Command)
			skipCovered(rpc.Command, t.covered)
			select {
			case t.incoming <- rpc:
			case <-t.closed:
				return
			}
		case <-t.closed:
			return
		}
	}
}

// errRival refuses a vote to a node that is not the leader and has the leader's address.
var errRival = errors.New("this node knows another leader at the candidate's address")

// checkRival keeps the stickiness to the leader's id, on which the leader's lease rests.
// The library lets a candidate pass that has the leader's address. If nodes have
// exchanged their addresses, that candidate may not be the leader.
func (t *Transport) checkRival(command any) error {
	var candidate raft.RPCHeader
	switch c := command.(type) {
	case *raft.RequestVoteRequest:
		if c.LeadershipTransfer {
			return nil // the leader's lease is off (transfers)
		}
		candidate = c.RPCHeader
	case *raft.RequestPreVoteRequest:
		candidate = c.RPCHeader
	default:
		return nil
	}
	if addr, id := t.raft.LeaderWithID(); id != "" && id != raft.ServerID(candidate.ID) && addr == raft.ServerAddress(candidate.Addr) {
		return fmt.Errorf("%w: %s, not %s", errRival, id, candidate.ID)
	}
	return nil
}

// refuse answers a request that does not reach Raft. It reads the data behind it on its
// connection, so that they are not taken for the next request.
func refuse(rpc raft.RPC, err error) {
	if rpc.Reader == nil {
		rpc.Respond(nil, err)
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, rpc.Reader)
		rpc.Respond(nil, err)
	}()
}

// Close implements raft.WithClose.
func (t *Transport) Close() error {
	t.once.Do(func() { close(t.closed) })
	return t.NetworkTransport.Close()
}
