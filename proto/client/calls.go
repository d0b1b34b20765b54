package client

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/fsm"
	"lockstep/proto/resp"
	"lockstep/proto/stats"
)

// calls are the commands on data gathered from a batch.
type calls struct {
	all []gathered
	// data tells that there are commands on data among them.
	data bool
	ptrs []*cluster.Call
	// room is where all and ptrs are, while there is a batch of no more than callsKept.
	room *room
	// rows are those of a batch's commands, where they are known beforehand.
	rows []*command.Spec
	// ran are commands that have run and are not counted yet.
	ran stats.Tally
	// started is when they began to run.
	started time.Time
	// behind holds the replies that stand behind the first call's place, while those of
	// the calls are put between them.
	behind []byte
	// replyBytes is the length of a reply as of late.
	replyBytes int
}

// gathered is one command whose reply is to come.
type gathered struct {
	call cluster.Call
	op   [1]fsm.Op
	spec *command.Spec
	// exec is set for a transaction.
	exec *transaction
	// receivers is set for a message that was sent: it waits for their number.
	receivers func() int
	// at is where in the client's out its reply belongs.
	at    int
	muted bool
}

const (
	// callsMax bounds the calls that are run together.
	callsMax = 1024
	// callsFew is for how many calls a small room is, callsKept for how many a large
	// one.
	callsFew, callsKept = 4, 64
	// repliesBytes is how many bytes of replies are asked for together, as far as
	// that can be told beforehand: from the replies before.
	repliesBytes = 4 << 20
)

func (b *calls) empty() bool { return len(b.all) == 0 }

// room is memory for the calls of most batches. Clients share it, one after the other:
// what each had for itself would be far from the processor each time. There are small
// ones for clients that may wait for long, thousands of them, with a command each.
type room struct {
	all  []gathered
	ptrs []*cluster.Call
	home *sync.Pool
}

var smallRooms, largeRooms = roomsFor(callsFew), roomsFor(callsKept)

func roomsFor(n int) *sync.Pool {
	home := new(sync.Pool)
	home.New = func() any { return &room{make([]gathered, 0, n), make([]*cluster.Call, 0, n), home} }
	return home
}

// reserve makes room for n calls, which then do not move while others point to
// them.
func (b *calls) reserve(n int) {
	switch n = min(n, callsMax); {
	case cap(b.all) >= n:
	case n <= callsFew:
		b.enter(smallRooms)
	case n <= callsKept:
		b.enter(largeRooms)
	default:
		b.room = nil
		b.all, b.ptrs = make([]gathered, 0, n), nil
	}
}

func (b *calls) enter(rooms *sync.Pool) {
	b.room = rooms.Get().(*room)
	b.all, b.ptrs = b.room.all, b.room.ptrs
}

// release gives the room back when a batch has ended and all its calls are answered.
func (b *calls) release() {
	if b.room != nil {
		b.room.home.Put(b.room)
	}
	b.all, b.ptrs, b.room = nil, nil, nil
}

// takeBack forgets the call gathered last. Nothing of it stays in the room.
func (b *calls) takeBack() {
	last := len(b.all) - 1
	b.all[last] = gathered{}
	b.all = b.all[:last]
}

func (b *calls) full() bool {
	return len(b.all) == cap(b.all) || len(b.all) >= max(1, repliesBytes/max(b.replyBytes, 1))
}

// gather adds a command on data to those that will run together.
func (c *Client) gather(spec *command.Spec, args [][]byte) {
	s := c.nextCall(spec)
	c.calls.data = true
	s.op[0] = opOf(c.db, args, spec)
	call := &s.call
	call.Txn = fsm.Txn{Proto: uint8(c.proto), NoTouch: c.noTouch, Ops: s.op[:]}
	c.carry(&call.Txn, c.user, spec)
	call.ReadOnly = !c.logs(spec, args)
	c.mayBeStale(call)
	call.Client = c.caching.author(c)
	addSlots(call, spec, args)
	c.answerFor(call)
	if !c.redirect(call) {
		c.used(call)
		c.remember(spec, args)
		c.seen(spec, args, c.db)
	}
}

// opOf is a command as it is sent to the shard.
func opOf(db int, args [][]byte, spec *command.Spec) fsm.Op {
	if spec.SentAs != "" {
		args = slices.Clone(args)
		args[0] = []byte(spec.SentAs)
		spec = command.Get(spec.SentAs)
	}
	return fsm.NewOp(db, args, spec)
}

// answerFor lets others ask, of a call that may take long, whether the client has gone.
func (c *Client) answerFor(call *cluster.Call) {
	if call.Txn.TakesLong() {
		call.From = c
	}
}

// Gone implements cluster.Leaver: the client was killed, or its end of the connection is closed.
func (c *Client) Gone() bool { return c.shared.killed.Load() || c.conn.Gone() }

// logs tells whether a call must enter the log.
func (c *Client) logs(spec *command.Spec, args [][]byte) bool {
	return spec.MustLog(args, c.backend.Shards(), c.backend.programs)
}

// nextCall makes room for a call whose reply belongs here among the others.
func (c *Client) nextCall(spec *command.Spec) *gathered {
	b := &c.calls
	if b.full() {
		c.settle()
	}
	n := len(b.all)
	b.all = b.all[:n+1]
	s := &b.all[n]
	*s = gathered{spec: spec, at: c.out.Len(), muted: c.muted()}
	return s
}

// redirect takes back the call gathered last if clients are to go to another
// node themselves; true: it did.
func (c *Client) redirect(call *cluster.Call) bool {
	moved := c.movedFor(call.Slots, call.Stale)
	if moved == "" {
		return false
	}
	c.calls.takeBack()
	c.errorReply(moved)
	return true
}

// settle runs the calls gathered and puts their replies where they belong.
func (c *Client) settle() {
	c.later.Kick()
	b := &c.calls
	if len(b.all) == 0 {
		return
	}
	c.awaitRoom()
	b.begin()
	if len(b.ptrs) > 0 {
		c.backend.Do(c.ctx, b.ptrs)
	}
	if len(b.ptrs) < len(b.all) {
		b.countReceivers()
	}
	c.mergeAll()
}

// begin makes the list of the calls that are to run.
func (b *calls) begin() {
	b.started = time.Now()
	b.ptrs = b.ptrs[:0]
	for i := range b.all {
		if b.all[i].receivers == nil {
			b.ptrs = append(b.ptrs, &b.all[i].call)
		}
	}
}

// mergeAll gives the replies of calls that have run their places, and forgets the
// calls.
func (c *Client) mergeAll() {
	b := &c.calls
	each := time.Since(b.started) / time.Duration(len(b.all))
	c.merge(each)
	c.stats.Count(&b.ran)
	clear(b.all)
	clear(b.ptrs)
	b.all, b.data = b.all[:0], false
}

// merge writes the replies of the calls between those that are there.
func (c *Client) merge(each time.Duration) {
	b := &c.calls
	var between []byte
	if first := b.all[0].at; first < c.out.Len() {
		b.behind = append(b.behind[:0], c.out.Bytes()[first:]...)
		between = b.behind
		c.out.Truncate(first)
	}
	done, size := b.all[0].at, 0
	for i := range b.all {
		s := &b.all[i]
		if !s.call.Answered() {
			c.runRest(i)
			if c.lost {
				break
			}
		}
		c.out.Raw(between[:s.at-done])
		between, done = between[s.at-done:], s.at
		answer := c.answer(s, each)
		size += len(answer)
		s.call.Reply = nil
		if s.muted {
			continue
		}
		c.out.Raw(answer)
		if c.out.Len() > flushBytes {
			c.write()
			c.awaitRoom()
		}
	}
	c.out.Raw(between)
	b.replyBytes = (b.replyBytes + size/len(b.all)) / 2
	if cap(b.behind) > flushBytes {
		b.behind = nil
	}
}

// runRest runs the calls from the i-th on that were left for later, because
// the replies before them were large; where nobody is there to read replies, those
// that write.
func (c *Client) runRest(i int) {
	c.awaitRoom()
	b := &c.calls
	b.ptrs = b.ptrs[:0]
	for j := i; j < len(b.all); j++ {
		if call := &b.all[j].call; !call.Answered() && !(c.lost && call.ReadOnly) {
			b.ptrs = append(b.ptrs, call)
		}
	}
	if len(b.ptrs) > 0 {
		c.backend.Do(c.ctx, b.ptrs)
	}
}

// answer is the reply of a call that has run, counted.
func (c *Client) answer(s *gathered, took time.Duration) []byte {
	answer := s.call.Reply
	if s.call.Err != nil {
		answer = c.callError(s.call.Err, s.exec != nil)
	}
	failed := len(answer) > 0 && answer[0] == '-'
	if failed && (s.call.Err != nil || !s.spec.RunsProgram()) {
		// Those of programs are counted where these run (command.Witness).
		c.stats.CountError(answer)
	}
	if s.exec == nil && s.call.Err != nil && resp.NotExecuted(s.call.Err) {
		c.stats.Rejected(s.spec)
		return answer
	}
	if b := &c.calls; !b.ran.Add(s.spec, failed) {
		c.stats.Count(&b.ran)
		b.ran = stats.NewTally(s.spec, took)
		b.ran.Add(s.spec, failed)
	}
	if s.exec != nil {
		c.seenTransaction(s.exec, !failed && len(answer) > 1 && answer[0] == '*' && answer[1] != '-')
		c.countQueued(s.exec, took, answer)
		return answer
	}
	c.slow(s.spec, s.op[0].Args, took)
	return answer
}

const execAborted = "EXECABORT Transaction discarded because of: "

// callError renders the error of a call that has no reply. Of a transaction
// that certainly did not run Redis says EXECABORT, and why; but CROSSSLOT, which
// cluster clients look for, stands by itself.
func (c *Client) callError(err error, exec bool) []byte {
	text := resp.ErrorText(err)
	if exec && resp.NotExecuted(err) && !errors.Is(err, cluster.ErrCrossSlot) {
		text = execAborted + text
	}
	w := reply.NewWriter(c.proto)
	w.Error(text)
	return w.Bytes()
}

// withoutCode is an error's text without the "ERR" that begins most.
func withoutCode(text string) string {
	rest, _ := bytes.CutPrefix([]byte(text), []byte("ERR "))
	return string(rest)
}

// one runs a single call of the client's own and returns its reply.
func (c *Client) one(call *cluster.Call) []byte { return c.oneWithin(c.ctx, call) }

// oneWithin is one, for no longer than ctx lasts.
func (c *Client) oneWithin(ctx context.Context, call *cluster.Call) []byte {
	c.backend.Do(ctx, []*cluster.Call{call})
	if call.Err != nil {
		return c.callError(call.Err, false)
	}
	return call.Reply
}
