package shard

import (
	"sync"
	"sync/atomic"

	"lockstep/fsm"
)

// Reply is the outcome of one txn of a bundle.
type Reply = fsm.Reply

// Result answers a bundle. If Err is set, only Err is known of its txns. Otherwise there
// is a reply for each.
type Result struct {
	Err     error
	Replies []Reply
	// Alone is true if this is the only bundle of its entry. The delivering goroutine may
	// then run the work that waited for the result.
	Alone bool
}

// bundleCall is a bundle that waits for its replies.
type bundleCall struct {
	// bundle is the encoded bundle, for the entry.
	bundle  []byte
	replies []Reply
	left    atomic.Int32
	// bytes is the length of the longer replies so far.
	bytes atomic.Int64
	// answered makes sure done is called once.
	answered atomic.Bool
	done     func(Result)
	admit    *admission
	// growth is this bundle's part of admit.growth.
	growth int64
	// long is set if one of the bundle's txns may take long. Otherwise it is nil.
	long *longBundle
	// alone is true if no other bundle is in its entry.
	alone bool
	// few is room for the reply of a bundle of one txn.
	few [1]Reply
}

func newBundleCall(bundle []byte, n int, done func(Result), admit *admission) *bundleCall {
	c := &bundleCall{bundle: bundle, done: done, admit: admit}
	if c.replies = c.few[:]; n != 1 {
		c.replies = make([]Reply, n)
	}
	return c
}

// grow counts the memory that the bundle may need beyond its bytes, until it is answered.
// It is called before the bundle is queued.
func (c *bundleCall) grow(bytes int64) {
	c.growth = bytes
	c.admit.growth.Add(bytes)
}

// repliesBytesMax is the most bytes of replies to one bundle that are kept together, except
// for a single longer one: a client may send a thousand commands at once that each answer
// with a large value. A reply of up to ReplyShortBytes is always kept.
const (
	repliesBytesMax = 512 << 20
	ReplyShortBytes = 4 << 10
)

func (c *bundleCall) deliver(i int, reply []byte, outcome fsm.Outcome, work int64) {
	if c.long != nil {
		c.long.throttle.ran(c.long, i, work)
	}
	if n := int64(len(reply)); n > ReplyShortBytes {
		if sum := c.bytes.Add(n); sum > repliesBytesMax && sum != n {
			c.bytes.Add(-n)
			reply, outcome = nil, fsm.OutcomeReplyLost
		}
	}
	c.replies[i] = Reply{Bytes: reply, Outcome: outcome}
	if c.left.Add(-1) == 0 {
		c.finish(Result{Replies: c.replies, Alone: c.alone})
	}
}

func (c *bundleCall) finish(r Result) {
	if c.answered.CompareAndSwap(false, true) {
		c.admit.leave(len(c.replies), len(c.bundle))
		c.admit.growth.Add(-c.growth)
		if c.long != nil {
			c.long.throttle.left(c.long)
		}
		c.done(r)
	}
}

// pendingEntry is an entry that this node has proposed, with its bundles.
type pendingEntry struct {
	id fsm.EntryID
	// parts are in the order of the entry's txns. txns is the number of these.
	parts    []entryPart
	txns     int
	proposal *Proposal
}

// entryPart is a run of an entry's txns that belong to one call.
type entryPart struct {
	call *bundleCall
	// first is the index of its first txn in the entry, and from the index of that txn in
	// the call.
	first, from int
}

// add puts a call's bundle into the entry, with the KindServes that go behind its txns.
func (e *pendingEntry) add(b *fsm.EntryBuilder, c *bundleCall, served []following) {
	if len(served) == 0 {
		b.Add(c.bundle)
		e.addPart(c, 0, len(c.replies))
		return
	}
	behind, from := make([]fsm.Behind, len(served)), 0
	for i := range served {
		behind[i] = served[i].behind
		e.addPart(c, from, behind[i].Txn+1)
		e.addPart(served[i].call, 0, 1)
		from = behind[i].Txn + 1
	}
	e.addPart(c, from, len(c.replies))
	b.AddServing(c.bundle, behind)
}

// addPart is add for the txns of a call from one index up to another.
func (e *pendingEntry) addPart(c *bundleCall, from, to int) {
	if from < to {
		e.parts = append(e.parts, entryPart{c, e.txns, from})
		e.txns += to - from
	}
}

// Deliver implements fsm.Receiver.
func (e *pendingEntry) Deliver(txn int, reply []byte, outcome fsm.Outcome, work int64) {
	lo, hi := 0, len(e.parts)
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if e.parts[mid].first <= txn {
			lo = mid
		} else {
			hi = mid
		}
	}
	p := &e.parts[lo]
	p.call.deliver(txn-p.first+p.from, reply, outcome, work)
}

func (e *pendingEntry) fail(err error) {
	for i := range e.parts {
		e.parts[i].call.finish(Result{Err: err})
	}
}

// pending holds the entries that this node has proposed and whose txns have not yet
// executed here. It is the state machine's Sink.
//
// Raft's own futures would not be enough: they report that an entry was applied, which
// for this machine means queued, and they know nothing more once this node has lost the
// lead.
type pending struct {
	mu      sync.Mutex // guards entries
	entries map[fsm.EntryID]*pendingEntry
}

func (p *pending) init() { p.entries = map[fsm.EntryID]*pendingEntry{} }

func (p *pending) add(e *pendingEntry) {
	p.mu.Lock()
	p.entries[e.id] = e
	p.mu.Unlock()
}

// remove removes an entry. It returns nil if the entry is gone.
func (p *pending) remove(id fsm.EntryID) *pendingEntry {
	p.mu.Lock()
	e := p.entries[id]
	delete(p.entries, id)
	p.mu.Unlock()
	return e
}

// Receiver implements fsm.Sink. An entry is applied only once, so pending forgets it
// here. Its replies reach their calls through the receiver.
func (p *pending) Receiver(id fsm.EntryID) fsm.Receiver {
	if e := p.remove(id); e != nil {
		e.proposal.Applied()
		return e
	}
	return nil
}

// fail answers the calls of an entry that has not been applied here.
func (p *pending) fail(id fsm.EntryID, err error) {
	if e := p.remove(id); e != nil {
		e.fail(err)
	}
}

func (p *pending) failAll(err error) {
	p.mu.Lock()
	all := p.entries
	p.entries = map[fsm.EntryID]*pendingEntry{}
	p.mu.Unlock()
	for _, e := range all {
		e.fail(err)
	}
}
