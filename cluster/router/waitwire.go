package router

import (
	"context"
	"encoding/binary"
	"errors"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/fsm"
)

// KindWait carries a blocking command to the leader of a shard: shard u32, flags u8, and
// a bundle with the identity of the wait and the command. With waitLeave there is no
// command. The answer is that of KindPropose, for one txn. It comes when there is
// something to report.
const KindWait uint8 = 3

// The flags of a KindWait request.
const (
	waitTried = 1 << iota
	waitAgain
	waitLast
	waitSettles
	waitLeave
	waitTwoWays
)

// forwardedWaitsMax bounds this gateway's blocking commands at other nodes. Each is an
// open request to its peer. There may be twice as many open requests (package transport),
// so that reads and writes always find room beside them.
const forwardedWaitsMax = 1 << 15

// forward sends the wait to a leader on another node, if not too many are there already.
func (b *blocked) forward(addr string, done func(shard.Result)) {
	// If the way is in doubt, an earlier request may arrive after this one.
	b.wait.TwoWays = b.wait.TwoWays || b.router.ways.rows[b.index].troubled.Load()
	payload := b.encode(0)
	if len(payload) > b.router.hopMax {
		b.via = ""
		done(shard.Result{Err: cluster.ErrTooLarge})
		return
	}
	waits := &b.router.forwardedWaits
	if waits.Add(1) > forwardedWaitsMax {
		waits.Add(-1)
		done(shard.Result{Err: cluster.ErrOverloaded})
		return
	}
	b.via = b.router.ways.send(b.index, addr, KindWait, payload, func(reply []byte, err error) {
		waits.Add(-1)
		res := resultOf(reply, err, 1, false)
		if errors.Is(res.Err, cluster.ErrNotLeader) {
			b.router.leaders.ask(b.index)
		}
		done(res)
	})
}

func (b *blocked) encode(flags byte) []byte {
	for _, flag := range []struct {
		on   bool
		flag byte
	}{{b.wait.Tried, waitTried}, {b.wait.Again, waitAgain}, {b.wait.Last, waitLast}, {b.wait.Settles, waitSettles}, {b.wait.TwoWays, waitTwoWays}} {
		if flag.on {
			flags |= flag.flag
		}
	}
	bundle := fsm.Bundle{Origin: b.wait.ID.Origin, FirstSeq: b.wait.ID.Seq}
	if flags&waitLeave == 0 {
		bundle.Txns = []fsm.Txn{b.wait.Txn}
	}
	payload := make([]byte, 0, 5+fsm.BundleSize(&bundle))
	payload = append(binary.LittleEndian.AppendUint32(payload, uint32(b.index)), flags)
	return fsm.AppendBundle(payload, &bundle)
}

// decodeWait reads the output of encode after the shard. The wait points into payload.
func decodeWait(payload []byte) (w shard.Wait, leave, ok bool) {
	if len(payload) == 0 {
		return w, false, false
	}
	flags, bundle := payload[0], payload[1:]
	if flags&waitLeave != 0 {
		b, err := fsm.DecodeBundle(bundle)
		w.ID = fsm.TxnID{Origin: b.Origin, Seq: b.FirstSeq}
		return w, true, err == nil
	}
	w, err := shard.DecodeWait(bundle)
	w.Tried, w.Again, w.Last, w.Settles = flags&waitTried != 0, flags&waitAgain != 0, flags&waitLast != 0, flags&waitSettles != 0
	w.TwoWays = flags&waitTwoWays != 0
	return w, false, err == nil
}

// ServeWait handles a KindWait request of a node, by its incarnation. road is the
// connection by which it came. A node may start and drop waits for its own clients only.
// ServeWait does not block.
func (v *Server) ServeWait(from uint64, road shard.Road, payload []byte, reply func([]byte)) {
	replica, body := v.local(payload)
	w, leave, ok := decodeWait(body)
	switch {
	case replica == nil:
		replyError(reply, cluster.ErrNotLeader)
	case !ok:
		replyError(reply, cluster.ErrNotKnown)
	case w.ID.Node != from:
		v.refuse(reply)
	case leave:
		replica.LeaveWait(w.ID)
		replyError(reply, shard.ErrLeft)
	default:
		replica.Wait(w, road, func(res shard.Result) {
			res.Replies = loseLong(res.Replies, v.router.hopMax)
			reply(appendResult(nil, res))
		})
	}
}

// KindWaitList carries the clients that wait at a leader to the node that is to lead
// next: shard u32, and what shard.TakeList reads. The answer is an error u8, as in
// wireErrors.
const KindWaitList uint8 = 8

// SendWaitList gives such a list to another node.
func SendWaitList(ctx context.Context, peers Caller, addr string, shard uint32, list []byte) error {
	reply, err := peers.Call(ctx, addr, KindWaitList, append(binary.LittleEndian.AppendUint32(nil, shard), list...))
	if err == nil && (len(reply) != 1 || reply[0] != 0) {
		err = errors.New("the next leader does not take it")
	}
	return err
}

// Caller sends requests to other nodes and waits for their answers.
type Caller interface {
	Call(ctx context.Context, addr string, kind uint8, payload []byte) ([]byte, error)
}

// ServeWaitList handles a KindWaitList request.
func (v *Server) ServeWaitList(payload []byte, reply func([]byte)) {
	err := cluster.ErrNotLeader
	if replica, list := v.local(payload); replica != nil {
		err = replica.TakeList(list)
	}
	reply([]byte{wireError(err)})
}
