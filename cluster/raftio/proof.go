package raftio

import (
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"
)

// Now is the time since boot, the suspended time included: what a lease is
// measured by. CLOCK_MONOTONIC, which Go's time uses, stands still in suspend.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("raftio: no CLOCK_BOOTTIME: " + err.Error())
	}
	return time.Duration(ts.Nano())
}

// Acks knows, for each peer, when the newest request was sent that the peer
// has acknowledged in a term, and how far its log reaches.
//
// The time of sending is what proves something: the peer followed this leader
// at some time after it. The time the answer arrives proves nothing, for the
// answer may have waited in a socket while this process stood still.
type Acks struct {
	mu    sync.Mutex
	peers map[raft.ServerID]ack
	// changed is closed and replaced at each acknowledgement that somebody
	// waits for.
	changed chan struct{}
}

type ack struct {
	term  uint64
	sent  time.Duration
	match uint64
}

// NewAcks returns an empty memory.
func NewAcks() *Acks {
	return &Acks{peers: map[raft.ServerID]ack{}, changed: make(chan struct{})}
}

func (a *Acks) note(id raft.ServerID, term uint64, sent time.Duration, match uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.peers[id]
	switch {
	case old.term > term:
		return
	case old.term < term:
		old = ack{term: term}
	}
	old.sent = max(old.sent, sent)
	old.match = max(old.match, match)
	a.peers[id] = old
	close(a.changed)
	a.changed = make(chan struct{})
}

// Sent is when the newest acknowledged request of this term was sent to a
// peer, 0: none was.
func (a *Acks) Sent(id raft.ServerID, term uint64) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.peers[id]; p.term == term {
		return p.sent
	}
	return 0
}

// Match is the index up to which a peer has acknowledged the log in this term.
func (a *Acks) Match(id raft.ServerID, term uint64) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.peers[id]; p.term == term {
		return p.match
	}
	return 0
}

// Changed returns a channel that is closed at the next acknowledgement.
func (a *Acks) Changed() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

// Transport is hashicorp/raft's network transport with its acknowledgements
// noted, and without the fast path for heartbeats: there a heartbeat of a newer
// term would change the term on the network goroutine, beside the main loop
// (hashicorp/raft#695). Through the main loop a follower answers a little
// later.
type Transport struct {
	*raft.NetworkTransport
	acks *Acks
}

// Without pre-vote a node that was cut off would unseat the leader on its
// return.
var _ raft.WithPreVote = (*Transport)(nil)

// NewTransport wraps a transport.
func NewTransport(t *raft.NetworkTransport, acks *Acks) *Transport { return &Transport{t, acks} }

// SetHeartbeatHandler implements raft.Transport: there is no fast path.
func (t *Transport) SetHeartbeatHandler(func(raft.RPC)) {}

// AppendEntries implements raft.Transport.
func (t *Transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	sent := Now()
	err := t.NetworkTransport.AppendEntries(id, target, args, resp)
	if err == nil {
		t.acks.take(id, args, resp, sent)
	}
	return err
}

func (a *Acks) take(id raft.ServerID, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse, sent time.Duration) {
	if !resp.Success || resp.Term != args.Term {
		return
	}
	match := uint64(0)
	if n := len(args.Entries); n > 0 {
		match = args.Entries[n-1].Index
	}
	a.note(id, args.Term, sent, match)
}

// InstallSnapshot implements raft.Transport. The answer to an install proves
// nothing about the time it was sent, which may be minutes ago; the log reaches
// to the snapshot's end.
func (t *Transport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	err := t.NetworkTransport.InstallSnapshot(id, target, args, resp, data)
	if err == nil && resp.Success && resp.Term == args.Term {
		t.acks.note(id, args.Term, 0, args.LastLogIndex)
	}
	return err
}

// AppendEntriesPipeline implements raft.Transport.
func (t *Transport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	inner, err := t.NetworkTransport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	p := &pipeline{AppendPipeline: inner, id: id, acks: t.acks, out: make(chan raft.AppendFuture), closed: make(chan struct{})}
	go p.relay()
	return p, nil
}

// pipeline notes the acknowledgements that come through a pipeline.
type pipeline struct {
	raft.AppendPipeline
	id     raft.ServerID
	acks   *Acks
	out    chan raft.AppendFuture
	closed chan struct{}
	once   sync.Once

	mu sync.Mutex
	// sent holds when the requests under way were sent, oldest first; answers
	// come in the same order.
	sent []time.Duration
}

// AppendEntries implements raft.AppendPipeline.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	p.mu.Lock()
	p.sent = append(p.sent, Now())
	p.mu.Unlock()
	return p.AppendPipeline.AppendEntries(args, resp)
}

// Consumer implements raft.AppendPipeline.
func (p *pipeline) Consumer() <-chan raft.AppendFuture { return p.out }

// Close implements raft.AppendPipeline.
func (p *pipeline) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.AppendPipeline.Close()
}

func (p *pipeline) relay() {
	for {
		select {
		case f := <-p.AppendPipeline.Consumer():
			p.mu.Lock()
			sent := p.sent[0]
			p.sent = p.sent[1:]
			p.mu.Unlock()
			if f.Error() == nil {
				p.acks.take(p.id, f.Request(), f.Response(), sent)
			}
			select {
			case p.out <- f:
			case <-p.closed:
				return
			}
		case <-p.closed:
			return
		}
	}
}
