package router

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/cluster/transport"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/hashslot"
	"lockstep/fsm"
)

// KindWait carries a wait to the leader of a shard: shard u32, what to do and
// what for u8, the waiter's node u64 and number u64, db u8, a group if there is one, and
// keys, each behind its length uv.
// Answer: error u8, as in wireErrors; it comes when the waiter may try.
const KindWait uint8 = 3

// What a KindWait request asks for: bits of its second field. The two above them
// are the kind of value that is waited for, a place in waitKinds.
const (
	waitTried = 1 << iota
	waitRenew
	waitShared
	waitLeave
	waitKindShift = iota
	// waitGrouped is behind the kind: the first of the keys is the group that is read
	// as one of. Leaders of before take it for one more key.
	waitGrouped = 1 << 6
)

// waitKinds are the kinds as they are sent; leaders of before took none, and read
// the bits as none.
var waitKinds = [4]engine.Kind{engine.KindString, engine.KindList, engine.KindSortedSet, engine.KindStream}

// waitWatchEvery is how often a wait looks whether another node leads by now, and
// waitDoubtEvery how often it asks. A leader that is lost mostly says so itself; and of
// waits there may be tens of thousands, for hours.
const (
	waitWatchEvery = 4 * watchEvery
	waitDoubtEvery = 2 * time.Second
)

// forwardedWaitsMax bounds this gateway's waits at other nodes. Each is an open
// request to its peer, of which there may be twice as many (package transport):
// reads and writes always find room beside them.
const forwardedWaitsMax = 1 << 15

// waiterPause is how long a wait that was refused waits before asking again.
const waiterPause = 20 * time.Millisecond

// Block runs a blocking command. It waits for one of the keys to be filled, for
// no longer than the timeout (0: for ever) nor than ctx lasts, and tries when it
// is this client's turn; an attempt is an ordinary call, and has run when Block
// returns. It returns false if the command found nothing in time; else call has
// Reply or Err.
//
// What an attempt takes from a list reaches this gateway or is not taken: its
// identity makes it safe to ask for its outcome again, so a change of leader is
// a pause like any other.
func (r *Router) Block(ctx context.Context, timeout time.Duration, call *cluster.Call, keys [][]byte) bool {
	index, ok := r.shardOf(call)
	if !ok {
		call.Err = cluster.ErrCrossSlot
		return true
	}
	b := &blocked{
		router: r, index: index, call: call,
		wait: shard.Wait{
			ID: shard.WaiterID{Node: r.cfg.Node, N: r.cfg.Boot<<40 + r.waits.Add(1)}, DB: call.Txn.Ops[0].DB,
			Keys: keys, Kind: command.BlockKind(call.Txn.Ops[0].Args), Group: command.BlockGroup(call.Txn.Ops[0].Args), Shared: call.ReadOnly,
		},
	}
	defer b.leave()
	begun := time.Now()
	wait, cancel := ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		wait, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	tries := 0
	for wait.Err() == nil {
		turn, err := b.turn(wait)
		if err != nil {
			call.Err = err
			return true
		}
		if !turn {
			continue
		}
		tries++
		if b.try() {
			return true
		}
	}
	if tries == 0 && ctx.Err() == nil && time.Since(begun) < sureOfALook {
		// So little time that the leader may not have looked: what is there
		// already is for the taking, however short the timeout.
		b.atOnce = true
		return b.try()
	}
	return false
}

// sureOfALook is the time in which a leader has looked at the keys of a wait.
const sureOfALook = time.Second

// blocked is one client's blocking command.
type blocked struct {
	router *Router
	index  int
	call   *cluster.Call
	wait   shard.Wait
	// at is the leader that knows of the wait, self if that is this node.
	at   string
	self bool
	// atOnce tells that the turn at hand came because a key was there already.
	atOnce bool
}

// turn waits until it is worth trying; false: it is not, or not here. There may
// be no room to wait in, or too much to be waited for, which is an error.
func (b *blocked) turn(ctx context.Context) (bool, error) {
	err := b.ask(ctx)
	b.wait.Tried, b.wait.Renew = false, false
	b.atOnce = errors.Is(err, shard.ErrAtOnce)
	switch {
	case err == nil, b.atOnce:
		return true, nil
	case errors.Is(err, cluster.ErrOverloaded), errors.Is(err, cluster.ErrTooLarge):
		return false, err
	case errors.Is(err, shard.ErrRenew):
		b.wait.Renew = true
	case ctx.Err() == nil:
		// The next leader is asked, and looks at the keys for itself.
		pause(ctx, waiterPause)
	}
	return false, nil
}

// ask sends the wait to the leader and waits for its answer, or until another
// node leads.
func (b *blocked) ask(ctx context.Context) error {
	leader := b.router.Leader(b.index)
	addr, self := leader.Addr, leader.Self
	if addr == "" && !self {
		return cluster.ErrNoLeader
	}
	if addr != b.at || self != b.self {
		b.leave()
	}
	told := make(chan error, 1)
	if self {
		replica := b.router.cfg.Replica(b.index)
		if replica == nil {
			return cluster.ErrNotLeader // it has just been closed
		}
		replica.Wait(b.wait, func(err error) { told <- err })
	} else if err := b.forward(addr, told); err != nil {
		return err
	}
	b.at, b.self = addr, self
	timer := time.NewTicker(waitWatchEvery)
	defer timer.Stop()
	doubt := time.Now().Add(doubtAfter)
	for {
		select {
		case err := <-told:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			// A wait is long; whether its leader still leads has to be asked for where
			// no replica here would hear of another.
			if now := time.Now(); !self && b.router.cfg.Replica(b.index) == nil && now.After(doubt) {
				b.router.leaders.ask(b.index)
				doubt = now.Add(waitDoubtEvery)
			}
			if now := b.router.leaders.of(b.index); (now.Addr != addr || now.Self != self) && (now.Addr != "" || now.Self) {
				return cluster.ErrNotLeader
			}
		}
	}
}

// forward sends the wait to a leader elsewhere, if not too many are there.
func (b *blocked) forward(addr string, told chan<- error) error {
	payload := b.encode(0)
	if len(payload) > b.router.hopMax {
		return cluster.ErrTooLarge
	}
	waits := &b.router.forwardedWaits
	if waits.Add(1) > forwardedWaitsMax {
		waits.Add(-1)
		return cluster.ErrOverloaded
	}
	b.router.cfg.Peers.Go(addr, KindWait, payload, func(reply []byte, err error) {
		waits.Add(-1)
		err = waitAnswer(reply, err)
		if errors.Is(err, cluster.ErrNotLeader) {
			b.router.leaders.ask(b.index)
		}
		told <- err
	})
	return nil
}

// try makes an attempt; false: there was nothing.
func (b *blocked) try() bool {
	attempt := *b.call
	if len(attempt.Slots) == 1 {
		attempt.SetSlot(int(attempt.Slots[0]))
	}
	// Once begun it is carried through, even if the time is over: what it takes
	// must be handed over.
	b.router.Do(context.Background(), []*cluster.Call{&attempt})
	switch {
	case errors.Is(attempt.Err, cluster.ErrNoLeader):
		return false
	case attempt.Err == nil && isNull(attempt.Reply):
		b.wait.Tried = true
		return false
	case attempt.Err == nil && !b.atOnce && bytes.HasPrefix(attempt.Reply, wrongType) && !b.readsAsGroup():
		// A key of another kind is an error to who comes upon it, and nothing to
		// who waits for a list; unless a list is there, too. Then another of the
		// command's keys is the wrong one, and that is the answer.
		if b.atOnce = b.isThere(); b.atOnce {
			return b.try()
		}
		b.wait.Tried = true
		return false
	}
	b.call.Reply, b.call.Err = attempt.Reply, attempt.Err
	return true
}

// readsAsGroup tells whether the command is XREADGROUP, which does not wait for a
// stream to come.
func (b *blocked) readsAsGroup() bool { return b.wait.Kind == engine.KindStream && !b.wait.Shared }

// typesAtOnce is how many keys' types are asked for together.
const typesAtOnce = 256

// isThere tells whether one of the keys has a value of the kind that is waited
// for.
func (b *blocked) isThere() bool {
	want := "+" + b.wait.Kind.String() + "\r\n"
	for keys := range slices.Chunk(b.wait.Keys, typesAtOnce) {
		calls := make([]*cluster.Call, len(keys))
		for i, key := range keys {
			op := fsm.Op{DB: b.wait.DB, Args: [][]byte{[]byte("type"), key}}
			calls[i] = &cluster.Call{Txn: fsm.Txn{NoTouch: true, Ops: []fsm.Op{op}}, ReadOnly: true}
			calls[i].SetSlot(hashslot.Of(key))
		}
		b.router.Do(context.Background(), calls)
		if slices.ContainsFunc(calls, func(c *cluster.Call) bool { return c.Err == nil && string(c.Reply) == want }) {
			return true
		}
	}
	return false
}

var wrongType = []byte("-WRONGTYPE ")

// isNull tells whether a reply is a null, of either protocol.
func isNull(reply []byte) bool {
	switch string(reply) {
	case "*-1\r\n", "$-1\r\n", "_\r\n":
		return true
	}
	return false
}

// leave takes the wait back from the leader that knows of it.
func (b *blocked) leave() {
	switch {
	case b.self:
		if replica := b.router.cfg.Replica(b.index); replica != nil {
			replica.LeaveWait(b.wait.ID)
		}
	case b.at != "":
		b.router.cfg.Peers.Go(b.at, KindWait, b.encode(waitLeave), func([]byte, error) {})
	}
	b.at, b.self = "", false
}

func (b *blocked) encode(bits byte) []byte {
	for _, bit := range []struct {
		on  bool
		bit byte
	}{{b.wait.Tried, waitTried}, {b.wait.Renew, waitRenew}, {b.wait.Shared, waitShared}, {b.wait.Group != nil, waitGrouped}} {
		if bit.on {
			bits |= bit.bit
		}
	}
	bits |= byte(max(slices.Index(waitKinds[:], b.wait.Kind), 0)) << waitKindShift
	dst := binary.LittleEndian.AppendUint32(nil, uint32(b.index))
	dst = append(dst, bits)
	dst = binary.LittleEndian.AppendUint64(dst, b.wait.ID.Node)
	dst = binary.LittleEndian.AppendUint64(dst, b.wait.ID.N)
	dst = append(dst, byte(b.wait.DB))
	if b.wait.Group != nil {
		dst = appendName(dst, b.wait.Group)
	}
	for _, key := range b.wait.Keys {
		dst = appendName(dst, key)
	}
	return dst
}

// appendName appends a key or a group behind its length.
func appendName(dst, name []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(name))), name...)
}

const waitHeadBytes = 1 + 8 + 8 + 1

// decodeWait reads what encode wrote behind the shard.
func decodeWait(b []byte) (w shard.Wait, leave, ok bool) {
	if len(b) < waitHeadBytes || int(b[waitHeadBytes-1]) >= engine.Databases {
		return w, false, false
	}
	bits := b[0]
	w.Tried, w.Renew, w.Shared = bits&waitTried != 0, bits&waitRenew != 0, bits&waitShared != 0
	w.ID = shard.WaiterID{Node: binary.LittleEndian.Uint64(b[1:]), N: binary.LittleEndian.Uint64(b[9:])}
	w.DB, w.Kind = int(b[waitHeadBytes-1]), waitKinds[bits>>waitKindShift&3]
	for b = b[waitHeadBytes:]; len(b) > 0; {
		n, width := binary.Uvarint(b)
		if width <= 0 || n > uint64(len(b)-width) {
			return w, false, false
		}
		b = b[width:]
		w.Keys = append(w.Keys, b[:n:n])
		b = b[n:]
	}
	if bits&waitGrouped != 0 && len(w.Keys) > 0 {
		w.Group, w.Keys = w.Keys[0], w.Keys[1:]
	}
	return w, bits&waitLeave != 0, true
}

// ServeWait handles a KindWait request of a node, by its incarnation: a node waits, and
// takes waits back, for its own clients alone. It does not block.
func (r *Router) ServeWait(from uint64, payload []byte, reply func([]byte)) {
	replica, body := r.local(payload)
	w, leave, ok := decodeWait(body)
	switch {
	case replica == nil || !ok:
		reply([]byte{wireError(cluster.ErrNotLeader)})
	case w.ID.Node != from:
		r.Counters.Refused.Add(1)
		reply([]byte{wireError(cluster.ErrTooLarge)})
	case leave:
		replica.LeaveWait(w.ID)
		reply([]byte{0})
	default:
		replica.Wait(w, func(err error) { reply([]byte{wireError(err)}) })
	}
}

func waitAnswer(reply []byte, err error) error {
	switch {
	case errors.Is(err, transport.ErrNotSent), err == nil && len(reply) != 1:
		return cluster.ErrNotLeader
	case err != nil:
		return cluster.ErrUnknown
	case int(reply[0]) >= len(wireErrors):
		return cluster.ErrUnknown
	}
	return wireErrors[reply[0]]
}
