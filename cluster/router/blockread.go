package router

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"lockstep/cluster"
	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/hashslot"
	"lockstep/engine/reply"
	"lockstep/fsm"
)

// Blocking commands that only read (XREAD). The leader says when a try is worthwhile, and
// the gateway then makes an ordinary read.

// read makes an attempt. It returns false if the attempt found nothing, or no leader.
// atOnce is true if a key existed already when the client came.
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
		// For a new client a key of another kind is an error. A client that waits for a
		// stream ignores such a key, unless one of the command's keys is a stream: then
		// another key has the wrong kind, and the error is the answer.
		bytes.HasPrefix(attempt.Reply, wrongType) && !atOnce && !b.isThere(ctx):
		b.wait.Tried, b.unserved = true, true
		return false
	}
	b.call.Reply, b.call.Err = attempt.Reply, attempt.Err
	return true
}

// endRead ends a wait that only reads. It reads once more, because only a leader that
// proves its lead can say that nothing has come.
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

// typesAtOnce is how many keys the router asks the type of in one round.
const typesAtOnce = 256

// isThere reports whether one of the keys is a stream.
func (b *blocked) isThere(ctx context.Context) bool {
	op := &b.call.Txn.Ops[0]
	spec, _ := commands.Lookup(op.Args)
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

// leave tells the leader that was asked last to drop the wait. It does not wait for the
// answer.
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
