package client

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/fsm"
	"lockstep/proto/resp"
	"lockstep/proto/stats"
)

// calls are the data commands collected from a batch.
type calls struct {
	all []gathered
	// data is true if there are data commands in the batch.
	data bool
	ptrs []*cluster.Call
	// room holds all and ptrs during a batch of at most callsKept calls.
	room *room
	// rows are the rows of a batch's commands, if they are already known.
	rows []*command.Spec
	// ran are commands that have run and are not counted yet.
	ran stats.Tally
	// started is when they began to run.
	started time.Time
	// behind holds the replies that follow the first call's position, while the calls' replies are
	// inserted.
	behind []byte
	// replyBytes is the recent average length of a reply.
	replyBytes int
}

// gathered is one command whose reply is to come.
type gathered struct {
	call cluster.Call
	op   [1]fsm.Op
	spec *command.Spec
	// exec is the transaction, or nil for a single command.
	exec *transaction
	// receivers is set for a published message: it waits for the number of
	// receivers.
	receivers func() int
	// at is the position of its reply in the client's out.
	at    int
	muted bool
}

const (
	// callsMax bounds the calls that are run together.
	callsMax = 1024
	// callsFew is the number of calls in a small room, callsKept that in a large one.
	callsFew, callsKept = 4, 64
	// repliesBytes is how many bytes of replies are requested together, as far as
	// earlier replies allow an estimate.
	repliesBytes = 4 << 20
)

func (b *calls) empty() bool { return len(b.all) == 0 }

// room is memory for the calls of most batches. Clients share the rooms, one after the other,
// because memory of each client's own would be out of the processor's cache each time. Small rooms
// are for clients that may wait for long: thousands of them, with one command each.
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

// reserve makes room for n calls, which then do not move while pointers to them
// exist.
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

// release returns the room when a batch has ended and all its calls are answered.
func (b *calls) release() {
	if b.room != nil {
		b.room.home.Put(b.room)
	}
	b.all, b.ptrs, b.room = nil, nil, nil
}

// takeBack drops the last call. Nothing of it stays in the room.
func (b *calls) takeBack() {
	last := len(b.all) - 1
	b.all[last] = gathered{}
	b.all = b.all[:last]
}

func (b *calls) full() bool {
	return len(b.all) == cap(b.all) || len(b.all) >= max(1, repliesBytes/max(b.replyBytes, 1))
}

// gather adds a data command to the calls that will run together.
func (c *Client) gather(spec *command.Spec, args [][]byte) {
	s := c.nextCall(spec)
	c.calls.data = true
	s.op[0] = opOf(c.db, args, spec)
	call := &s.call
	call.Txn = fsm.Txn{Proto: uint8(c.out.Proto), NoTouch: c.noTouch, Ops: s.op[:]}
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

// opOf is a command in the form in which it is sent to the shard.
func opOf(db int, args [][]byte, spec *command.Spec) fsm.Op {
	if spec.SentAs != "" {
		args = slices.Clone(args)
		args[0] = []byte(spec.SentAs)
		spec = commands.Get(spec.SentAs)
	}
	return fsm.NewOp(db, args, spec)
}

// answerFor lets a call that may take long find out whether the client has gone.
func (c *Client) answerFor(call *cluster.Call) {
	if call.Txn.TakesLong() {
		call.From = c
	}
}

// Gone implements cluster.Leaver: the client was killed, or its end of the connection is closed.
func (c *Client) Gone() bool { return c.shared.killed.Load() || c.conn.Gone() }

// logs reports whether a call must enter the log.
func (c *Client) logs(spec *command.Spec, args [][]byte) bool {
	return spec.MustLog(args, c.backend.Shards(), c.backend.programs)
}

// nextCall makes room for a call whose reply belongs at this position.
func (c *Client) nextCall(spec *command.Spec) *gathered {
	b := &c.calls
	if b.full() {
		c.settle()
	}
	n := len(b.all)
	b.all = b.all[:n+1]
	s := &b.all[n]
	*s = gathered{spec: spec, at: c.out.Len(), muted: c.out.muted()}
	return s
}

// redirect drops the last call if the client is to go to another node itself. It
// returns true if it did.
func (c *Client) redirect(call *cluster.Call) bool {
	moved := c.moved(call.Slots, call.Stale)
	if moved == "" {
		return false
	}
	c.calls.takeBack()
	c.out.countedError(moved)
	return true
}

// settle runs the collected calls and puts their replies where they belong.
func (c *Client) settle() {
	c.later.Kick()
	b := &c.calls
	if len(b.all) == 0 {
		return
	}
	c.out.awaitRoom()
	b.begin()
	if len(b.ptrs) > 0 {
		c.backend.Do(c.ctx, b.ptrs)
	}
	if len(b.ptrs) < len(b.all) {
		b.countReceivers()
	}
	c.mergeAll()
}

// begin builds the list of the calls that are to run.
func (b *calls) begin() {
	b.started = time.Now()
	b.ptrs = b.ptrs[:0]
	for i := range b.all {
		if b.all[i].receivers == nil {
			b.ptrs = append(b.ptrs, &b.all[i].call)
		}
	}
}

// mergeAll inserts the replies of calls that have run, and forgets the calls.
func (c *Client) mergeAll() {
	b := &c.calls
	each := time.Since(b.started) / time.Duration(len(b.all))
	c.merge(each)
	c.stats.Count(&b.ran)
	clear(b.all)
	clear(b.ptrs)
	b.all, b.data = b.all[:0], false
}

// merge writes the calls' replies between the replies that are already there.
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
			if c.out.lost {
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
			c.out.write()
			c.out.awaitRoom()
		}
	}
	c.out.Raw(between)
	b.replyBytes = (b.replyBytes + size/len(b.all)) / 2
	if cap(b.behind) > flushBytes {
		b.behind = nil
	}
}

// runRest runs the calls, from the i-th on, that were left for later because the
// replies before them were large. If replies can no longer be written, it runs only
// the calls that write.
func (c *Client) runRest(i int) {
	c.out.awaitRoom()
	b := &c.calls
	b.ptrs = b.ptrs[:0]
	for j := i; j < len(b.all); j++ {
		if call := &b.all[j].call; !call.Answered() && !(c.out.lost && call.ReadOnly) {
			b.ptrs = append(b.ptrs, call)
		}
	}
	if len(b.ptrs) > 0 {
		c.backend.Do(c.ctx, b.ptrs)
	}
}

// answer is the reply to a call that has run. It also counts the call.
func (c *Client) answer(s *gathered, took time.Duration) []byte {
	answer := s.call.Reply
	if s.call.Err != nil {
		answer = c.out.callError(s.call.Err, s.exec != nil)
	}
	failed := len(answer) > 0 && answer[0] == '-'
	if failed && (s.call.Err != nil || !s.spec.RunsProgram()) {
		// Errors of programs are counted where the programs run (command.Witness).
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

// withoutCode is an error's text without the leading "ERR" that most have.
func withoutCode(text string) string {
	rest, _ := bytes.CutPrefix([]byte(text), []byte("ERR "))
	return string(rest)
}

// one runs a single call of the client's own and returns its reply.
func (c *Client) one(call *cluster.Call) []byte { return c.oneWithin(c.ctx, call) }

// oneWithin is one with a limit: ctx.
func (c *Client) oneWithin(ctx context.Context, call *cluster.Call) []byte {
	c.backend.Do(ctx, []*cluster.Call{call})
	if call.Err != nil {
		return c.out.callError(call.Err, false)
	}
	return call.Reply
}
