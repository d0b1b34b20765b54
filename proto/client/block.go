package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/fsm"
	"lockstep/proto/resp"
)

// These errors are the causes with which the context of a blocked client ends, if the client
// continues without a reply to its command.
var (
	errUnblocked         = errors.New("UNBLOCKED client unblocked via CLIENT UNBLOCK")
	errUnblockedNil      = errors.New("unblocked as if the time were over")
	errNotAllowedAnyMore = errors.New("NOPERM the user may not run this command any more")
	errConnectionEnd     = cluster.ErrClientGone
)

// blocks runs a command that waits. It returns false, and runs nothing, if the
// command does not wait.
func (c *Client) blocks(spec *command.Spec, args [][]byte) bool {
	timeoutMs, yes := command.BlockMs(spec, args)
	if yes {
		b := blocking{c, spec, args, timeoutMs}
		b.run()
	}
	return yes
}

// blocking is a command that may wait for keys to be filled.
type blocking struct {
	c         *Client
	spec      *command.Spec
	args      [][]byte
	timeoutMs int64
}

// run runs the command. The commands before it are answered first. The client's connection is
// watched meanwhile, so that the wait ends if the client disconnects.
func (b *blocking) run() {
	c := b.c
	c.calls.run()
	if !b.fixLatest() {
		return
	}
	spec, args := b.spec, b.args
	call := &cluster.Call{Txn: fsm.Txn{Proto: uint8(c.out.Proto), NoTouch: c.noTouch, Ops: []fsm.Op{fsm.NewOp(c.db, args, spec)}}, ReadOnly: !spec.Writes(args)}
	c.carry(&call.Txn, c.user, spec)
	call.Client = c.author()
	addSlots(call, spec, args)
	if text := c.moved(call.Slots, false); text != "" {
		c.out.countedError(text)
		return
	}
	c.used(call)
	if !c.out.write() {
		c.out.closing = true
		return
	}
	c.records.show(spec, args, c.db)
	begin := c.out.Len()
	c.remember(spec, args)
	b.setWait(queued{spec: spec, args: args})
	started := time.Now()
	answered, waited, why := b.wait(call)
	took := time.Since(started)
	b.setWait(queued{})
	c.doubt(spec, args)
	switch {
	case answered && call.Err != nil:
		c.out.Raw(c.out.callError(call.Err, false))
	case answered:
		c.out.Raw(call.Reply)
	case errors.Is(why, errUnblocked):
		c.out.Error(why.Error())
	case errors.Is(why, errNotAllowedAnyMore):
		c.renew()
		c.out.Error(cmp.Or(c.denial(spec, args), why.Error()))
	case errors.Is(why, errConnectionEnd):
		c.out.closing, c.out.silent = true, true
	default:
		c.out.NullArray()
	}
	if waited {
		// The time was spent waiting, so it says nothing about the command.
		took = 0
	}
	c.records.count(spec, took, c.out.Bytes()[begin:])
	if answered {
		c.records.slow(spec, args, took)
	}
	c.out.mute(begin)
}

// setWait records the command that the blocked client waits to run.
func (b *blocking) setWait(q queued) {
	b.c.shared.mu.Lock()
	b.c.shared.wait = q
	b.c.shared.mu.Unlock()
}

// fixLatest replaces "$" in XREAD by the current last IDs, because the command may
// be tried several times. On an error it answers that and returns false.
func (b *blocking) fixLatest() bool {
	if b.spec.Waits.LatestIDs == nil {
		return true
	}
	places, keys := b.spec.Waits.LatestIDs(b.args)
	if len(places) == 0 {
		return true
	}
	c := b.c
	call := internalCall(c.db, append([][]byte{[]byte("lockstep.stream-ends")}, keys...)...)
	ctx, cancel := c.ctx, context.CancelFunc(func() {})
	if b.timeoutMs > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(b.timeoutMs)*time.Millisecond+cluster.BlockOvertime)
	}
	defer cancel()
	ends := c.oneWithin(ctx, call)
	if len(ends) == 0 || ends[0] != '*' {
		c.out.Raw(ends)
		return false
	}
	fixed := slices.Clone(b.args)
	rest := ends[bytes.IndexByte(ends, '\n')+1:]
	for _, place := range places {
		n := resp.Skip(rest)
		text := rest[bytes.IndexByte(rest[:n], '\n')+1 : n-2]
		fixed[place], rest = text, rest[n:]
	}
	b.args = fixed
	return true
}

// wait runs the call when its keys are filled. If answered is false the call did not run, and
// why says why. waited reports whether the client had to wait.
func (b *blocking) wait(call *cluster.Call) (answered, waited bool, why error) {
	c := b.c
	ctx, cancel, stop := c.whileConnected()
	defer stop()
	ended := b.setBlocked(cancel)
	defer func() {
		b.setBlocked(nil)
		ended.served = answered && call.Err == nil
		close(ended.over)
	}()
	if c.shared.killed.Load() {
		cancel(errConnectionEnd)
	}
	b.judge(cancel)
	c.listener.release()
	defer c.listener.hold()
	counted := int64(0)
	count := func(n int64) {
		counted += n
		c.stats.Blocked.Add(n)
		if b.timeoutMs > 0 {
			c.stats.BlockedFor.Add(n)
		}
	}
	answered = c.backend.Block(ctx, time.Duration(b.timeoutMs)*time.Millisecond, call, func() { count(1) })
	waited = counted > 0
	count(-counted)
	why = context.Cause(ctx)
	if why != nil && c.ctx.Err() != nil {
		why = errConnectionEnd
	}
	return answered, waited, why
}

// judge ends a wait that the current rules forbid: Rejudge may have run before the client was
// blocked.
func (b *blocking) judge(letGo context.CancelCauseFunc) {
	c := b.c
	now := c.backend.Users()
	if now == c.users {
		return
	}
	switch user := now.Successor(c.user); {
	case user == nil:
		letGo(errConnectionEnd)
	case !user.MayAll() && user.Judge(b.spec, b.args).Reason != command.Allowed:
		letGo(errNotAllowedAnyMore)
	}
}

// waitEnd is the end of a client's wait. served reports whether the client was served; it may be read only once over
// is closed.
type waitEnd struct {
	over   chan struct{}
	served bool
}

// setBlocked records that the client is blocked, and the function that ends its wait. With nil it
// records that the client is not blocked. It returns the wait's end.
func (b *blocking) setBlocked(letGo context.CancelCauseFunc) *waitEnd {
	c := b.c
	ended := &waitEnd{over: make(chan struct{})}
	s := &c.shared
	s.mu.Lock()
	s.letGo, s.waitEnd = letGo, ended
	s.last = c.last
	s.lastUsed = time.Now()
	s.mu.Unlock()
	if c.OnBlock != nil {
		c.OnBlock(letGo != nil)
	}
	return ended
}
