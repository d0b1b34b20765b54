package fsm

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/reply"
)

// How waiting clients are served.
//
// A client that waits (BLPOP and the like) is not part of the state. The leader knows it, and puts
// its command into the log as a txn of KindServe when a key may have been filled. If a write of the
// same entry may fill the key, the KindServe stands right behind that write, within its bundle, and
// runs under the same ticket: no other txn sees the element in between, and later txns find it
// taken.
//
// A wait has an identity, like every txn of a gateway, but in a lane of its own (WaitLane and
// above) that has one wait at a time. The leader, and the next leader, may put the command into the
// log many times. It takes effect at most once: the first KindServe that finds something keeps its
// reply, and later ones of the same wait repeat that reply. A KindServe that finds nothing leaves
// the wait open. With ServeLast a gateway learns the final outcome of a wait, and no later
// KindServe takes effect. The lane's next wait replaces the one before it.
//
// Which KindServe finds something is known when it runs, under the locks of its keys. All those of
// one wait have the same command and therefore the same locks, so each sees the outcome of the one
// before it, on every replica alike.

// WaitLane is the number of the first lane for waits, and WaitLanes is how many of them a gateway
// has for each shard.
const (
	WaitLane  = 1 << 31
	WaitLanes = 1 << 17
)

// OfWait reports whether this is the identity of a wait.
func (id TxnID) OfWait() bool { return id.Lane >= WaitLane && id.Lane < WaitLane+WaitLanes }

// Serve says which wait a KindServe serves, and how.
type Serve struct {
	// Wait is the wait's identity, in a lane for waits.
	Wait TxnID
	How  ServeHow
}

// ServeHow is a set of bits.
type ServeHow uint8

const (
	// ServeComes means that the client has just come. To it a key of another type is an error; for
	// clients that already wait such a key counts as empty.
	ServeComes ServeHow = 1 << iota
	// ServeLast ends the wait, even if nothing is found.
	ServeLast
	// ServeSettles runs nothing, and only reports the outcome of the wait.
	ServeSettles
)

// waitLane is a lane for waits: the outcome of its newest wait.
type waitLane struct {
	seq uint64
	// digest is the digest of the wait's command.
	digest uint64
	// over means that the wait has had its ServeLast.
	over bool
	// record belongs to the wait's newest KindServe. Each KindServe has its own
	// record, so that a snapshot takes the newest one before its cut.
	record *dupRecord
}

// serve judges a KindServe, and gives it a record.
func (d *dupTable) serve(w *work) verdict {
	id, how, digest := w.txn.Serve.Wait, w.txn.Serve.How, w.txn.digest()
	if !id.OfWait() {
		return verdictStale
	}
	o := d.origin(id.Node, id.Boot, w.run.index, w.run.stampMs)
	if o == nil {
		return verdictStale
	}
	l := o.waits[id.Lane]
	switch {
	case l == nil:
		if o.waits == nil {
			o.waits = map[uint32]*waitLane{}
		}
		l = &waitLane{seq: id.Seq, digest: digest}
		o.waits[id.Lane] = l
		o.held++
	case id.Seq > l.seq:
		*l = waitLane{seq: id.Seq, digest: digest}
	case id.Seq < l.seq || digest != l.digest || l.over && how&ServeLast == 0:
		return verdictStale
	case l.over:
		w.record = l.record
		return verdictKnown
	}
	l.over = how&ServeLast != 0
	w.before, l.record = l.record, &dupRecord{room: int32(replyRoom(o.held))}
	w.record = l.record
	return verdictRun
}

// digest tells commands apart. Two different commands of one wait would have
// different locks, and replicas might see their outcomes in different orders; so
// the second one is refused.
func (t *Txn) digest() uint64 {
	h := fnv.New64a()
	op := &t.Ops[0]
	_, _ = h.Write([]byte{byte(op.DB)})
	var head [binary.MaxVarintLen64]byte
	for _, a := range op.Args {
		_, _ = h.Write(head[:binary.PutUvarint(head[:], uint64(len(a)))])
		_, _ = h.Write(a)
	}
	return h.Sum64()
}

// served reports whether the wait of a KindServe was served before.
func (w *work) served() bool { return w.before != nil && !w.before.unserved }

// serve runs the command of a wait that was not served before.
func (w *work) serve(ctx *command.Ctx) Outcome {
	op, how := &w.txn.Ops[0], w.txn.Serve.How
	if w.served() || how&ServeSettles != 0 {
		return OutcomeUnserved
	}
	ctx.Begin(op.DB)
	if how&ServeComes == 0 && !commands.Awaited(ctx, op.lookup(), op.Args) {
		return OutcomeUnserved
	}
	runOp(w.run.m, ctx, op)
	if !reply.IsNull(ctx.Out.Bytes()) {
		return OutcomeDone
	}
	ctx.Out.Truncate(0)
	return OutcomeUnserved
}

// repeat copies the outcome of an earlier KindServe of the same wait.
func (r *dupRecord) repeat(before *dupRecord) ([]byte, Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done, r.lost, r.reply = true, before.lost, before.reply
	others, outcome := r.others, OutcomeDone
	if r.lost {
		outcome = OutcomeReplyLost
	}
	r.others = nil
	for w := others; w != nil; w = w.next {
		w.receiver.Deliver(w.txn, r.reply, outcome, 0)
	}
	return r.reply, outcome
}

// follows puts a KindServe behind the work before it, under the same ticket, if
// both are in the same bundle. It reports whether it did.
func (w *work) follows(before *work) bool {
	if w.txn.Kind != KindServe || before.origin != w.origin || before.left {
		return false
	}
	// All works under one ticket are linked to the first one.
	head := before
	if before.head != nil {
		head = before.head
	}
	w.head, before.next = head, w
	var first engine.Lookup
	heavy := accessOf(&head.task.Access, &first, w.run.st.ks, w.txn)
	head.task.Heavy = head.task.Heavy || heavy
	return true
}

// waitImage is a lane for waits in a snapshot.
type waitImage struct {
	lane uint32
	waitLane
}

// waitImages copies a gateway's lanes for waits. The records are shared: those of
// txns that have run never change.
func (o *dupOrigin) waitImages() []waitImage {
	images := make([]waitImage, 0, len(o.waits))
	// order does not matter: sorted below
	for lane, l := range o.waits {
		images = append(images, waitImage{lane, *l})
	}
	slices.SortFunc(images, func(a, b waitImage) int { return cmp.Compare(a.lane, b.lane) })
	return images
}

// restoreWaits is the inverse of waitImages.
func (o *dupOrigin) restoreWaits(images []waitImage) {
	if len(images) == 0 {
		return
	}
	o.waits = make(map[uint32]*waitLane, len(images))
	for i := range images {
		o.waits[images[i].lane] = &images[i].waitLane
	}
	o.held += len(images)
}

func (i *waitImage) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(i.lane-WaitLane))
	dst = binary.AppendUvarint(dst, i.seq<<1|uint64(bit(i.over)))
	dst = binary.LittleEndian.AppendUint64(dst, i.digest)
	return i.record.append(dst)
}

func bit(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (i *waitImage) decode(d *decoder) {
	lane, seq := d.uvarint(), d.uvarint()
	i.seq, i.over, i.digest = seq>>1, seq&1 != 0, d.u64()
	i.record = decodeRecord(d)
	if lane >= WaitLanes || i.record == nil {
		d.fail()
		return
	}
	i.lane = WaitLane + uint32(lane)
}
