package raftio

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"

	"lockstep/cluster/transport"
)

// Now is the time since boot, including the time for which the machine was suspended.
// Leases are measured by it: the clock of Go's package time stands still while the
// machine is suspended.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(bootClock, &ts); err != nil {
		panic("raftio: no clock that runs in suspend: " + err.Error())
	}
	return time.Duration(ts.Nano())
}

// Acks records, for each peer, when the newest request was sent that the peer has
// acknowledged in a term, and how far its log reaches.
//
// Only the time of sending proves something: the peer followed this leader at some time
// after it. The time at which the answer arrives proves nothing, because the answer may
// have waited in a socket while this process stood still.
type Acks struct {
	mu    sync.Mutex // guards peers, changed
	peers map[raft.ServerID]ack
	// changed is closed at the next acknowledgement. It is nil if no goroutine waits for
	// one.
	changed chan struct{}
}

type ack struct {
	term  uint64
	sent  time.Duration
	match uint64
}

// NewAcks returns empty records.
func NewAcks() *Acks { return &Acks{peers: map[raft.ServerID]ack{}} }

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
	a.wakeLocked()
}

// Forget drops the record of a peer. A peer that is added again starts with an empty log,
// under the same name and perhaps in the same term.
func (a *Acks) Forget(id raft.ServerID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.peers, id)
	a.wakeLocked()
}

// take records an answered request.
func (a *Acks) take(id raft.ServerID, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse, sent time.Duration) {
	if !resp.Success || resp.Term != args.Term {
		return
	}
	match := args.PrevLogEntry
	if n := len(args.Entries); n > 0 {
		match = args.Entries[n-1].Index
	}
	a.note(id, args.Term, sent, match)
}

// Sent is when the newest acknowledged request of this term was sent to a peer, or 0 if
// there was none.
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

// Changed returns a channel that is closed at the next acknowledgement, or at
// the next Wake.
func (a *Acks) Changed() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

// Wake wakes the goroutines that wait for a change, so that they check another condition.
func (a *Acks) Wake() {
	a.mu.Lock()
	a.wakeLocked()
	a.mu.Unlock()
}

func (a *Acks) wakeLocked() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// requestBytesMax is how many bytes of entries one request carries; one entry always
// goes. The library counts only entries, and if the link breaks before the last of 64
// large ones, all are sent again.
const requestBytesMax = 8 << 20

// trim shortens a request to requestBytesMax. The library reads the request again to see
// how far it went, and sends the rest in the next one.
func trim(args *raft.AppendEntriesRequest) {
	bytes := 0
	for i, l := range args.Entries {
		if bytes += len(l.Data); bytes > requestBytesMax && i > 0 {
			args.Entries = args.Entries[:i]
			return
		}
	}
}

// Transport is hashicorp/raft's network transport. It records acknowledgements, and has
// no fast path for heartbeats: there a heartbeat of a newer term would change the term on
// the network goroutine, in parallel with the main loop (hashicorp/raft#695). Through the
// main loop a follower answers a little later. Each request names the node it is for, so
// that no other can answer it. Orders to lead, and requests for votes, are checked
// against what this node has heard from leaders (transfers), and every request for
// whether it is well-formed (judge).
//
// While the disk hangs, the transport sends nothing as a leader.
type Transport struct {
	*raft.NetworkTransport
	acks      *Acks
	hangs     func() bool
	turnOff   func(term uint64)
	lastIndex func() (uint64, error)
	covered   func(from uint64) (last, term uint64)
	pledge    Pledge
	entry     func(*raft.Log) error
	transfers transfers
	standing  standing
	installs  installs
	// raft is the Raft that requests are for. Begin sets it.
	raft Following
	// incoming are requests on their way to Raft, until closed.
	incoming chan raft.RPC
	closed   chan struct{}
	once     sync.Once
}

// errHangs is the answer on behalf of a leader whose disk hangs.
var errHangs = errors.New("this node's disk hangs, and it says nothing as a leader")

// Without pre-vote a node that was cut off would depose the leader on its return. The
// library turns pre-vote off if a transport does not implement it.
var (
	_ raft.Transport   = (*Transport)(nil)
	_ raft.WithPreVote = (*Transport)(nil)
	_ raft.WithClose   = (*Transport)(nil)
)

// TransportConfig is the parameters of a transport.
type TransportConfig struct {
	Acks *Acks
	// Hangs reports whether this node's disk hangs.
	Hangs func() bool
	// TurnOff turns the lease of a term off, for good (Lease).
	TurnOff func(term uint64)
	// LastIndex is the index of the last entry of this node's log.
	LastIndex func() (uint64, error)
	// Covered is the last entry of the newest snapshot, and its term, if its index is at
	// least from and it is not in this node's log (Stores.Covered).
	Covered func(from uint64) (last, term uint64)
	// Heartbeat and Election are Raft's timeouts.
	Heartbeat, Election time.Duration
	// StandsBack returns why this node should not lead as long as another one can, or nil if it may lead. If
	// StandsBack is nil this node may always lead.
	StandsBack func() error
	// Pledge is the promise of a former replica of this node.
	Pledge Pledge
	// Entry says what is wrong with an entry that another node has sent. It returns nil
	// if nothing is wrong.
	Entry func(*raft.Log) error
}

// Following is what a transport needs of its Raft.
type Following interface {
	CurrentTerm() uint64
	LeaderWithID() (raft.ServerAddress, raft.ServerID)
}

// NewTransport wraps a transport, and closes it with itself. Requests of other nodes wait
// until Begin.
func NewTransport(inner *raft.NetworkTransport, cfg TransportConfig) *Transport {
	t := &Transport{
		NetworkTransport: inner, acks: cfg.Acks, hangs: cfg.Hangs, turnOff: cfg.TurnOff, lastIndex: cfg.LastIndex, covered: cfg.Covered, pledge: cfg.Pledge, entry: cfg.Entry,
		transfers: transfers{heartbeat: cfg.Heartbeat}, standing: newStanding(&cfg), incoming: make(chan raft.RPC), closed: make(chan struct{}),
	}
	return t
}

// Begin lets requests reach Raft, which now runs.
func (t *Transport) Begin(r Following) {
	t.raft = r
	go t.relay()
}

func named(id raft.ServerID, addr raft.ServerAddress) raft.ServerAddress {
	return raft.ServerAddress(transport.Target(string(id), string(addr)))
}

// SetHeartbeatHandler implements raft.Transport: there is no fast path.
func (t *Transport) SetHeartbeatHandler(func(raft.RPC)) {}

// AppendEntries implements raft.Transport.
func (t *Transport) AppendEntries(id raft.ServerID, addr raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if t.hangs() {
		return errHangs
	}
	trim(args)
	t.transfers.leads(args.Term)
	sent := Now()
	err := t.NetworkTransport.AppendEntries(id, named(id, addr), args, resp)
	if err == nil {
		err = judgeTerm(resp.Term, args.Term)
	}
	if err == nil {
		t.acks.take(id, args, resp, sent)
	}
	return err
}

// InstallSnapshot implements raft.Transport. The answer proves nothing about the time at
// which the snapshot was sent, which may be minutes ago. It proves that the log reaches
// to the snapshot's end, also if the server needs no snapshot (hasIt): its answer shows
// that it follows this leader.
func (t *Transport) InstallSnapshot(id raft.ServerID, addr raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	if t.hangs() {
		return errHangs
	}
	one := t.installs.begin(id, args.Size, data)
	defer one.end()
	err := t.NetworkTransport.InstallSnapshot(id, named(id, addr), args, resp, one)
	if err == nil {
		err = judgeTerm(resp.Term, args.Term)
	}
	if err != nil && resp.Term == args.Term && t.installs.hasIt(id, args, err) {
		resp.Success, err = true, nil
	}
	if err == nil && resp.Success && resp.Term == args.Term {
		t.acks.note(id, args.Term, 0, args.LastLogIndex)
	}
	return err
}

// AppendEntriesPipeline implements raft.Transport.
func (t *Transport) AppendEntriesPipeline(id raft.ServerID, addr raft.ServerAddress) (raft.AppendPipeline, error) {
	inner, err := t.NetworkTransport.AppendEntriesPipeline(id, named(id, addr))
	if err != nil {
		return nil, err
	}
	return newPipeline(inner, id, t.acks, t.hangs), nil
}
