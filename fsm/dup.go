package fsm

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
)

const (
	// LaneWindow is how far a lane's newest sequence number may be ahead of the
	// oldest one not yet acknowledged. Gateways keep to it.
	LaneWindow = 4096
	// Lanes is the number of lanes a gateway has for each shard.
	Lanes = 64
	// replyKeptMax is the length in bytes up to which a reply is kept for a
	// repeated question, replyKeptLeast the length up to which every reply is.
	replyKeptMax   = 16 << 10
	replyKeptLeast = 128
	// repliesKeptBytes is what a gateway's records share: see replyRoom.
	repliesKeptBytes = 8 << 20
	// originsMax is how many gateways a shard remembers; the one silent for
	// longest goes first. Cluster membership keeps far below it.
	originsMax = 256
)

// dupTable is the memory of what was executed: per gateway and lane, the
// replies of txns that the gateway may ask for again (after Lee et al.,
// "Implementing Linearizability at Large Scale and Low Latency", SOSP 2015).
// It is part of the replicated state.
//
// Only the applying goroutine touches the table; records are finished by
// whichever goroutine ran the txn.
type dupTable struct {
	origins map[uint64]*dupOrigin
}

type dupOrigin struct {
	boot uint64
	// usedAt is the index of the last entry with a txn of this gateway.
	usedAt uint64
	// held is the number of records in all lanes.
	held  int
	lanes [Lanes]*dupLane
	// waits are the lanes of clients that wait, by their number; see serve.go.
	waits map[uint32]*waitLane
}

// replyRoom is the length in bytes up to which the reply of a new record is kept,
// the held-th that its gateway has. It must depend on nothing but the log before
// it, or replicas would differ; how long replies are is known only when they have
// run. So a gateway's records share as if all were as long as they may be.
//
// However records come and go, the k-th oldest of those that are held was at
// least the k-th when it came. With n records a gateway's replies are therefore no
// longer than the sum of replyRoom(1) to replyRoom(n): 8 MiB for 512 of them, 30 MiB
// for 8192, and 71 MiB for the 262144 that Lanes and LaneWindow let it have, where
// replyKeptMax alone would be 4 GiB.
func replyRoom(held int) int {
	return min(replyKeptMax, max(replyKeptLeast, repliesKeptBytes/max(held, 1)))
}

// dupLane is a window of records: records[i] belongs to base+i, nil where the
// number was not seen.
type dupLane struct {
	origin  *dupOrigin
	base    uint64
	records []*dupRecord
}

// dupRecord is the outcome of one txn. There is one for each txn of the log: its
// fields stand so that they take little.
type dupRecord struct {
	mu sync.Mutex // guards what follows, but room
	// room is the length up to which the reply is kept; it is set before the txn
	// runs.
	room int32
	done bool
	// lost: the reply was too long to keep; gone: the txn did not run, for
	// OutcomeScriptGone; unserved: it is of KindServe and found nothing; refused: it did
	// not run, for OutcomeRefused.
	lost, gone, unserved, refused bool
	reply                         []byte
	// others wait for the same txn, met again before it had run; the last comes
	// first.
	others *waiting
}

type waiting struct {
	receiver Receiver
	txn      int
	next     *waiting
}

func newDupTable() *dupTable { return &dupTable{origins: map[uint64]*dupOrigin{}} }

// verdict says what to do with a txn.
type verdict uint8

const (
	// verdictRun: it is new.
	verdictRun verdict = iota
	// verdictKnown: it has run or is about to; its record tells.
	verdictKnown
	// verdictStale: its gateway gave it up, or is a process that is gone; it
	// must not run.
	verdictStale
)

// lane returns the lane of a bundle, after taking note of what its gateway
// has acknowledged; nil when the bundle is of a boot that has ended, or its
// numbers are beyond reason. Of those nothing is noted: they would let the table
// refuse what its gateway says next.
func (d *dupTable) lane(b *Bundle, index uint64, stampMs int64) *dupLane {
	if b.Origin.Node == 0 {
		return unrepeated
	}
	if !b.NumbersFit() {
		return nil
	}
	o := d.origin(b.Origin.Node, b.Origin.Boot, index, stampMs)
	if o == nil {
		return nil
	}
	l := o.lanes[b.Origin.Lane]
	if l == nil {
		l = &dupLane{origin: o, base: b.AckedBelow}
		o.lanes[b.Origin.Lane] = l
	}
	l.forgetBelow(b.AckedBelow)
	return l
}

// NumbersFit reports whether the numbers of a bundle are such as a gateway gives out
// (package router): it acknowledges nothing that it sends only now, and goes no
// further than LaneWindow beyond what it has acknowledged.
func (b *Bundle) NumbersFit() bool {
	end := b.FirstSeq + b.numbered()
	return b.Origin.Lane < Lanes && b.AckedBelow <= b.FirstSeq && end >= b.FirstSeq && end-b.AckedBelow <= LaneWindow
}

// bootAheadMaxMs bounds how far the boot number of a gateway, which is about a time in
// microseconds, may be ahead of the log's time: 200 years, in milliseconds.
const bootAheadMaxMs = 200 * 366 * 24 * 3600 * 1000

// bootFits reports whether a gateway may begin with a boot number at a time of the log. A
// number that no later one could follow would shut its gateway out for ever.
func bootFits(boot uint64, stampMs int64) bool {
	return boot/1000 <= uint64(max(stampMs, 0))+bootAheadMaxMs
}

// staleReply is what the receiver of a txn is told that is stale: the boot number that
// its gateway is known by, 0: none. One that still waits for the txn has to begin anew
// with a later one (StaleBoot).
func (d *dupTable) staleReply(node uint64) []byte {
	boot := uint64(0)
	if o := d.origins[node]; o != nil {
		boot = o.boot
	}
	return binary.AppendUvarint(nil, boot)
}

// StaleBoot reads the reply of a txn that was stale: the boot number that the shard knows
// of its gateway; 0: none.
func StaleBoot(reply []byte) uint64 {
	boot, _ := binary.Uvarint(reply)
	return boot
}

// origin returns what is known of a gateway; nil: its process is one that has
// ended, or none that there can be.
func (d *dupTable) origin(node, boot, index uint64, stampMs int64) *dupOrigin {
	o := d.origins[node]
	switch {
	case !bootFits(boot, stampMs):
		return nil
	case o == nil:
		d.evict()
		o = &dupOrigin{boot: boot}
		d.origins[node] = o
	case boot < o.boot:
		return nil
	case boot > o.boot:
		*o = dupOrigin{boot: boot}
	}
	o.usedAt = index
	return o
}

// evict makes room for one more gateway.
func (d *dupTable) evict() {
	if len(d.origins) < originsMax {
		return
	}
	delete(d.origins, slices.MinFunc(d.sortedNodes(), func(a, b uint64) int {
		return cmp.Compare(d.origins[a].usedAt, d.origins[b].usedAt)
	}))
}

func (d *dupTable) sortedNodes() []uint64 {
	nodes := make([]uint64, 0, len(d.origins))
	// order does not matter: sorted below
	for node := range d.origins {
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, cmp.Compare[uint64])
	return nodes
}

func (l *dupLane) forgetBelow(seq uint64) {
	if seq <= l.base {
		return
	}
	n := min(seq-l.base, uint64(len(l.records)))
	l.origin.held -= seen(l.records[:n])
	kept := copy(l.records, l.records[n:])
	clear(l.records[kept:])
	l.records = l.records[:kept]
	l.base = seq
}

// seen is how many of the records there are.
func seen(records []*dupRecord) (n int) {
	for _, r := range records {
		if r != nil {
			n++
		}
	}
	return n
}

// unrepeated stands for the lane of what leaders propose for themselves
// (Origin.Node 0): it is never asked for again.
var unrepeated = &dupLane{}

// judge says what to do with the txn of number seq. A new one gets fresh as its
// record.
func (l *dupLane) judge(seq uint64, fresh *dupRecord) (*dupRecord, verdict) {
	if l == unrepeated {
		return nil, verdictRun
	}
	if l == nil || seq < l.base {
		return nil, verdictStale
	}
	i := int(seq - l.base)
	for len(l.records) <= i {
		l.records = append(l.records, nil)
	}
	if r := l.records[i]; r != nil {
		return r, verdictKnown
	}
	l.records[i] = fresh
	l.origin.held++
	fresh.room = int32(replyRoom(l.origin.held))
	return fresh, verdictRun
}

// finish stores the outcome and answers whoever asked meanwhile. It returns a
// copy of the reply, if that is wanted: a long one that nobody waits for and no
// record keeps is not copied.
func (r *dupRecord) finish(reply []byte, outcome Outcome, wanted bool) []byte {
	if r == nil {
		return copyIf(wanted, reply)
	}
	r.mu.Lock()
	kept := len(reply) <= int(r.room)
	reply = copyIf(kept || wanted || r.others != nil, reply)
	r.done, r.lost = true, !kept
	r.gone, r.unserved, r.refused = outcome == OutcomeScriptGone, outcome == OutcomeUnserved, outcome == OutcomeRefused
	if kept {
		r.reply = reply
	}
	others := r.others
	r.others = nil
	r.mu.Unlock()
	for w := others; w != nil; w = w.next {
		w.receiver.Deliver(w.txn, reply, outcome, 0)
	}
	return reply
}

func copyIf(wanted bool, reply []byte) []byte {
	if !wanted {
		return nil
	}
	return shared(reply)
}

// answer gives the outcome to a receiver, now or when it is there.
func (r *dupRecord) answer(receiver Receiver, txn int) {
	if receiver == nil {
		return
	}
	r.mu.Lock()
	if !r.done {
		r.others = &waiting{receiver, txn, r.others}
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	switch {
	case r.lost:
		receiver.Deliver(txn, nil, OutcomeReplyLost, 0)
	case r.gone:
		receiver.Deliver(txn, nil, OutcomeScriptGone, 0)
	case r.unserved:
		receiver.Deliver(txn, nil, OutcomeUnserved, 0)
	case r.refused:
		receiver.Deliver(txn, nil, OutcomeRefused, 0)
	default:
		receiver.Deliver(txn, r.reply, OutcomeDone, 0)
	}
}
