package client

import (
	"bytes"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/fsm"
	"lockstep/proto/pubsub"
	"lockstep/proto/resp"
	"lockstep/proto/stats"
)

// calls are the data commands collected from a batch.
type calls struct {
	env     *environment
	out     *output
	records records
	// later are the clients that have been pushed messages of the batch and not been
	// kicked yet.
	later pubsub.Later
	all   []batched
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

// batched is one command whose reply is to come.
type batched struct {
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
	// repliesBytes is how many bytes of replies are requested together, as far as
	// earlier replies allow an estimate.
	repliesBytes = 4 << 20
)

func (b *calls) empty() bool { return len(b.all) == 0 }

// dropLast drops the last call. Nothing of it stays in the room.
func (b *calls) dropLast() {
	last := len(b.all) - 1
	b.all[last] = batched{}
	b.all = b.all[:last]
}

func (b *calls) full() bool {
	return len(b.all) == cap(b.all) || len(b.all) >= max(1, repliesBytes/max(b.replyBytes, 1))
}

// add makes room for a call whose reply belongs at this position.
func (b *calls) add(spec *command.Spec) *batched {
	if b.full() {
		b.run()
	}
	n := len(b.all)
	b.all = b.all[:n+1]
	s := &b.all[n]
	*s = batched{spec: spec, at: b.out.Len(), muted: b.out.muted()}
	return s
}

// letGiveUp lets a call that may take long find out whether the client has gone.
func (b *calls) letGiveUp(call *cluster.Call) {
	if call.Txn.TakesLong() {
		call.From = &b.env.shared
	}
}

// redirect drops the last call if the client is to go to another node itself. It
// returns true if it did.
func (b *calls) redirect(call *cluster.Call) bool {
	moved := b.env.moved(call.Slots, call.Stale)
	if moved == "" {
		return false
	}
	b.dropLast()
	b.out.countedError(moved)
	return true
}

// run runs the collected calls and puts their replies where they belong.
func (b *calls) run() {
	b.later.Kick()
	if len(b.all) == 0 {
		return
	}
	b.out.awaitRoom()
	b.listToRun()
	if len(b.ptrs) > 0 {
		b.env.backend.Do(b.env.ctx, b.ptrs)
	}
	if len(b.ptrs) < len(b.all) {
		b.countReceivers()
	}
	b.mergeAll()
}

// listToRun builds the list of the calls that are to run.
func (b *calls) listToRun() {
	b.started = time.Now()
	b.ptrs = b.ptrs[:0]
	for i := range b.all {
		if b.all[i].receivers == nil {
			b.ptrs = append(b.ptrs, &b.all[i].call)
		}
	}
}

// mergeAll inserts the replies of calls that have run, and forgets the calls.
func (b *calls) mergeAll() {
	each := time.Since(b.started) / time.Duration(len(b.all))
	b.merge(each)
	b.env.stats.Count(&b.ran)
	clear(b.all)
	clear(b.ptrs)
	b.all, b.data = b.all[:0], false
}

// merge writes the calls' replies between the replies that are already there.
func (b *calls) merge(each time.Duration) {
	var between []byte
	if first := b.all[0].at; first < b.out.Len() {
		b.behind = append(b.behind[:0], b.out.Bytes()[first:]...)
		between = b.behind
		b.out.Truncate(first)
	}
	done, size := b.all[0].at, 0
	for i := range b.all {
		s := &b.all[i]
		if !s.call.Answered() {
			b.runRest(i)
			if b.out.lost {
				break
			}
		}
		b.out.Raw(between[:s.at-done])
		between, done = between[s.at-done:], s.at
		answer := b.answer(s, each)
		size += len(answer)
		s.call.Reply = nil
		if s.muted {
			continue
		}
		b.out.Raw(answer)
		if b.out.Len() > flushBytes {
			b.out.write()
			b.out.awaitRoom()
		}
	}
	b.out.Raw(between)
	b.replyBytes = (b.replyBytes + size/len(b.all)) / 2
	if cap(b.behind) > flushBytes {
		b.behind = nil
	}
}

// runRest runs the calls, from the i-th on, that were left for later because the
// replies before them were large. If replies can no longer be written, it runs only
// the calls that write.
func (b *calls) runRest(i int) {
	b.out.awaitRoom()
	b.ptrs = b.ptrs[:0]
	for j := i; j < len(b.all); j++ {
		if call := &b.all[j].call; !call.Answered() && !(b.out.lost && call.ReadOnly) {
			b.ptrs = append(b.ptrs, call)
		}
	}
	if len(b.ptrs) > 0 {
		b.env.backend.Do(b.env.ctx, b.ptrs)
	}
}

// answer is the reply to a call that has run. It also counts the call.
func (b *calls) answer(s *batched, took time.Duration) []byte {
	answer := s.call.Reply
	if s.call.Err != nil {
		answer = b.out.callError(s.call.Err, s.exec != nil)
	}
	failed := len(answer) > 0 && answer[0] == '-'
	if failed && (s.call.Err != nil || !s.spec.RunsProgram()) {
		// Errors of programs are counted where the programs run (command.Witness).
		b.env.stats.CountError(answer)
	}
	if s.exec == nil && s.call.Err != nil && resp.NotExecuted(s.call.Err) {
		b.env.stats.Rejected(s.spec)
		return answer
	}
	if !b.ran.Add(s.spec, failed) {
		b.env.stats.Count(&b.ran)
		b.ran = stats.NewTally(s.spec, took)
		b.ran.Add(s.spec, failed)
	}
	if s.exec != nil {
		b.records.showTransaction(s.exec, !failed && len(answer) > 1 && answer[0] == '*' && answer[1] != '-')
		b.records.countQueued(s.exec, took, answer)
		return answer
	}
	b.records.slow(s.spec, s.op[0].Args, took)
	return answer
}

// withoutCode is an error's text without the leading "ERR" that most have.
func withoutCode(text string) string {
	rest, _ := bytes.CutPrefix([]byte(text), []byte("ERR "))
	return string(rest)
}
