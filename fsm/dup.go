package fsm

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"
)

const (
	// LaneWindow is how far a lane's newest sequence number may be ahead of the
	// oldest one not yet acknowledged. Gateways stay within it.
	LaneWindow = 4096
	// Lanes is the number of lanes a gateway has for each shard.
	Lanes = 64
	// replyKeptMax is the longest reply, in bytes, that is kept for a retry, and
	// replyKeptLeast the length up to which every reply is kept.
	replyKeptMax   = 16 << 10
	replyKeptLeast = 128
	// repliesKeptBytes is the memory that a gateway's records share (replyRoom).
	repliesKeptBytes = 8 << 20
	// originsMax is how many gateways a shard remembers. The one that has been
	// silent the longest is evicted first. Cluster membership stays far below it.
	originsMax = 256
)

// dupTable remembers executed txns: per gateway and lane, the replies of txns that
// the gateway may retry (after Lee et al., "Implementing Linearizability at Large
// Scale and Low Latency", SOSP 2015). It is part of the replicated state.
//
// Only the applying goroutine touches the table. A record is finished by the
// goroutine that ran the txn.
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
	// waits are the lanes of waiting clients, by their number (serve.go).
	waits map[uint32]*waitLane
}

// replyRoom is the longest reply, in bytes, that a new record keeps if it is the held-th record of
// its gateway. It must depend only on the log before it, or replicas would differ, and the length
// of a reply is known only after its txn has run. So a gateway's records share the memory as if
// every reply were as long as its record allows.
//
// However records come and go, the k-th oldest record still held was at least the k-th when it was
// made. With n records a gateway's replies are therefore no longer than the sum of replyRoom(1) to
// replyRoom(n): 8 MiB for 512 records, 30 MiB for 8192, and 71 MiB for the 262144 that Lanes and
// LaneWindow allow. With replyKeptMax alone the bound would be 4 GiB.
func replyRoom(held int) int {
	return min(replyKeptMax, max(replyKeptLeast, repliesKeptBytes/max(held, 1)))
}

// dupLane is a window of records: records[i] belongs to base+i, and is nil if the
// number was not seen.
type dupLane struct {
	origin  *dupOrigin
	base    uint64
	records []*dupRecord
}

// dupRecord is the outcome of one txn. There is one for each txn of the log, so its
// fields are ordered to take little memory.
type dupRecord struct {
	mu sync.Mutex // guards the fields below, except room
	// room is the length up to which the reply is kept; it is set before the txn
	// runs.
	room int32
	done bool
	// lost means that the reply was too long to keep; gone, that the txn did not run
	// (OutcomeScriptGone); unserved, that a KindServe found nothing; refused, that the txn did not
	// run (OutcomeRefused).
	lost, gone, unserved, refused bool
	reply                         []byte
	// others are the receivers of retries that came before the txn had run, the
	// newest first.
	others *waiting
}

type waiting struct {
	receiver Receiver
	txn      int
	next     *waiting
}

func newDupTable() *dupTable { return &dupTable{origins: map[uint64]*dupOrigin{}} }

// verdict says how to treat a txn.
type verdict uint8

const (
	// verdictRun means that the txn is new.
	verdictRun verdict = iota
	// verdictKnown means that the txn has run or is about to. Its record has the
	// outcome.
	verdictKnown
	// verdictStale means that the gateway has given the txn up, or that the gateway
	// process has ended. The txn must not run.
	verdictStale
)

// lane returns the lane of a bundle, after recording what its gateway has
// acknowledged. It returns nil if the bundle is from a boot that has ended, or if
// its numbers are impossible. Nothing is recorded from such a bundle, because that
// could make the table refuse the gateway's next bundles.
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

// NumbersFit reports whether a gateway could have given a bundle its numbers (package router): a
// gateway acknowledges no txn that it is only now sending, and goes no further than LaneWindow
// beyond what it has acknowledged.
func (b *Bundle) NumbersFit() bool {
	end := b.FirstSeq + b.numbered()
	return b.Origin.Lane < Lanes && b.AckedBelow <= b.FirstSeq && end >= b.FirstSeq && end-b.AckedBelow <= LaneWindow
}

// bootAheadMaxMs bounds how far a gateway's boot number, which is roughly a time in microseconds,
// may be ahead of the log's time: 200 years, in milliseconds.
const bootAheadMaxMs = 200 * 366 * 24 * 3600 * 1000

// bootFits reports whether a gateway may start with a boot number at a given log time. A number so
// high that no later one could follow would shut the gateway out for ever.
func bootFits(boot uint64, stampMs int64) bool {
	return boot/1000 <= uint64(max(stampMs, 0))+bootAheadMaxMs
}

// staleReply is the reply to a stale txn: the boot number that the gateway is known by, or 0 if it
// is unknown. A gateway that still waits for the txn has to start anew with a later boot number
// (StaleBoot).
func (d *dupTable) staleReply(node uint64) []byte {
	boot := uint64(0)
	if o := d.origins[node]; o != nil {
		boot = o.boot
	}
	return binary.AppendUvarint(nil, boot)
}

// StaleBoot reads the reply to a stale txn: the boot number that the shard knows of its gateway, or
// 0 if it knows none.
func StaleBoot(reply []byte) uint64 {
	boot, _ := binary.Uvarint(reply)
	return boot
}

// origin returns the part of the table that belongs to a gateway. It returns nil if the boot has
// ended, or if its number is impossible.
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

// seen is how many of the records are not nil.
func seen(records []*dupRecord) (n int) {
	for _, r := range records {
		if r != nil {
			n++
		}
	}
	return n
}

// unrepeated stands for the lane of txns that leaders propose themselves
// (Origin.Node 0). These are never retried.
var unrepeated = &dupLane{}

// judge decides how to treat the txn with number seq. A new txn gets fresh as its
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

// finish stores the outcome and answers the retries that came meanwhile. It returns
// a copy of the reply if one is wanted. A long reply that no receiver waits for and
// no record keeps is not copied.
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

// answer gives the outcome to a receiver, now or once the txn has run.
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
