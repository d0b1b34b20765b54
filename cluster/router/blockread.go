package router

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"lockstep/cluster"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/hashslot"
	"lockstep/engine/reply"
	"lockstep/fsm"
)

// Blocking commands that only read (XREAD). Their leader tells when it is worth trying,
// and the gateway reads, as it reads anything.

// read makes an attempt; false: there was nothing, or no leader. atOnce tells that a key
// was there already as the client came.
func (b *blocked) read(ctx context.Context, atOnce bool) bool {
	attempt := *b.call
	if len(attempt.Slots) == 1 {
		attempt.SetSlot(int(attempt.Slots[0]))
	}
	b.router.Do(ctx, []*cluster.Call{&attempt})
	switch {
	case errors.Is(attempt.Err, cluster.ErrNoLeader):
		return false
	case attempt.Err == nil && reply.IsNull(attempt.Reply),
		// A key of another kind is an error to a newcomer, and nothing to a client that
		// waits for a stream; unless a stream is there, too. Then another of the
		// command's keys is the wrong one, and that is the answer.
		bytes.HasPrefix(attempt.Reply, wrongType) && !atOnce && !b.isThere(ctx):
		b.wait.Tried, b.unserved = true, true
		return false
	}
	b.call.Reply, b.call.Err = attempt.Reply, attempt.Err
	return true
}

// endRead ends a wait that only reads. It reads once more: that nothing has come is true
// only by a leader that proves that it leads.
func (b *blocked) endRead(late context.Context, gone bool) bool {
	b.leave()
	b.unserved = false
	if gone || b.read(late, false) {
		return !gone
	}
	if b.unserved {
		return false
	}
	b.call.Err = cluster.ErrNoLeader
	return true
}

// typesAtOnce is how many keys' types are asked for together.
const typesAtOnce = 256

// isThere tells whether one of the keys has a stream.
func (b *blocked) isThere(ctx context.Context) bool {
	op := &b.call.Txn.Ops[0]
	spec, _ := command.Lookup(op.Args)
	want := "+" + engine.KindStream.String() + "\r\n"
	for keys := range slices.Chunk(command.BlockKeys(spec, op.Args), typesAtOnce) {
		calls := make([]*cluster.Call, len(keys))
		for i, key := range keys {
			ask := fsm.Op{DB: op.DB, Args: [][]byte{[]byte("type"), key}}
			calls[i] = &cluster.Call{Txn: fsm.Txn{NoTouch: true, Ops: []fsm.Op{ask}}, ReadOnly: true}
			calls[i].SetSlot(hashslot.Of(key))
		}
		b.router.Do(ctx, calls)
		if slices.ContainsFunc(calls, func(c *cluster.Call) bool { return c.Err == nil && string(c.Reply) == want }) {
			return true
		}
	}
	return false
}

var wrongType = []byte("-WRONGTYPE ")

// leave takes the wait back from the leader that knows of it, and does not wait for
// that.
func (b *blocked) leave() {
	switch {
	case b.self:
		if replica := b.router.cfg.Replica(b.index); replica != nil {
			replica.LeaveWait(b.wait.ID)
		}
	case b.at != "":
		b.router.ways.send(b.index, b.at, KindWait, b.encode(waitLeave), func([]byte, error) {})
	}
}
