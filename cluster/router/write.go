package router

import (
	"cmp"
	"errors"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/engine/script"
	"lockstep/fsm"
)

// write sends calls as one bundle until their outcome is known. If texts is true, scripts
// are sent with their texts even if the shard should have them.
func (r *Router) write(at route, calls []*cluster.Call, texts bool, done func(alone bool)) {
	s := r.newSending(at, KindPropose, calls, done)
	s.texts, s.client = texts, leaverOf(calls)
	s.numberAndSend()
}

// numberAndSend numbers a bundle and sends it.
func (s *sending) numberAndSend() {
	defer s.guard()
	switch {
	case s.client != nil && s.router.elapsed(s.deadline) > goneAfter && s.client.Gone():
		s.fail(cluster.ErrTakenBack)
	case s.seal():
		s.attempt()
	default:
		s.numberLater()
	}
}

// numberLater gives a bundle new numbers after a pause.
func (s *sending) numberLater() {
	s.tries++
	if !s.later(s.numberAndSend) {
		s.fail(cmp.Or(s.last, cluster.ErrOverloaded))
	}
}

// seal numbers the calls and makes their bundle. It returns false if too many bundles
// have no answer yet.
func (s *sending) seal() bool {
	r := s.router
	r.leaveTextsOut(s.index, s.calls, s.texts)
	s.list = takeTxns(s.calls)
	b := fsm.Bundle{Txns: *s.list}
	var ok bool
	s.from = r.lanes[s.index].now.Load()
	if s.id, ok = s.from.open(&b); !ok {
		giveTxns(s.list)
		return false
	}
	if r.cfg.Numbered != nil && anyNamed(s.calls) {
		r.cfg.Numbered(s.index, fsm.TxnID{Origin: b.Origin, Seq: b.FirstSeq}, s.calls)
	}
	s.bundle = fsm.AppendBundle(make([]byte, 0, fsm.BundleSize(&b)), &b)
	s.txns = *s.list
	return true
}

// completeWrites handles the outcome of a bundle.
func (s *sending) completeWrites(replies []shard.Reply, err error, alone bool) {
	s.id.close()
	giveTxns(s.list)
	if n, boot := staleOf(replies); n > 0 {
		// The bundle was not given up: a client waits for it. Writing the new boot number
		// to the disk must not delay other callers.
		go s.renumber(n, boot, replies)
		return
	}
	s.answer(replies, err, alone)
}

// renumber takes another boot number for a bundle of which the shard counts n txns as
// given up.
func (s *sending) renumber(n int, boot uint64, replies []shard.Reply) {
	defer s.guard()
	s.router.renew(s.index, s.from, boot)
	if n == len(s.calls) && !s.again {
		// The bundle was in the log only once, and did not run there.
		s.last = cluster.ErrUnknown
		s.numberLater()
		return
	}
	s.router.Counters.Unknown.Add(uint64(n))
	s.answer(replies, nil, true)
}

// answer gives the calls of a bundle their replies or their error. Calls that did not run
// are sent again in another form.
func (s *sending) answer(replies []shard.Reply, err error, alone bool) {
	switch {
	case errors.Is(err, cluster.ErrOutOfMemory):
		s.writeWithoutMemory()
		return
	case errors.Is(err, cluster.ErrTooMuchAtOnce) && len(s.calls) > 1:
		s.writeInTurn(len(s.calls) / 2)
		return
	case err != nil:
		failAll(s.calls, err)
	default:
		n := len(replies)
		if !s.texts {
			n = firstGone(replies)
		}
		fill(s.calls[:n], replies[:n])
		if n < len(replies) {
			s.router.Counters.TextsSentAgain.Add(uint64(len(replies) - n))
			s.resend(s.calls[n:], true, s.done)
			return
		}
	}
	s.complete(alone)
}

// writeInTurn sends the first n calls in a bundle of their own, and then the others, if
// any.
func (s *sending) writeInTurn(n int) {
	first, rest, done := s.calls[:n], s.calls[n:], s.done
	if len(rest) > 0 {
		done = func(bool) { s.resend(rest, false, s.done) }
	}
	s.resend(first, false, done)
}

// writeWithoutMemory runs the calls of a refused bundle that need no memory, in their
// order among the others. Each run of such calls is sent by itself. The calls after it
// are tried again, because it may have made room.
func (s *sending) writeWithoutMemory() {
	calls, n := s.calls, 1
	grows, bends := calls[0].Txn.GrowsMemory(), calls[0].Txn.Bends()
	for n < len(calls) && calls[n].Txn.GrowsMemory() == grows && calls[n].Txn.Bends() == bends {
		n++
	}
	switch {
	case grows && bends:
		// Scripts run all the same, and refuse the commands that may need memory.
		for _, c := range calls[:n] {
			c.Txn.MemoryFull = true
		}
	case grows || n == len(calls):
		failAll(calls[:n], cluster.ErrOutOfMemory)
		if n == len(calls) {
			s.complete(false)
			return
		}
		s.calls, n = calls[n:], len(calls)-n // the others are tried again
	}
	s.writeInTurn(n)
}

// textLeast is how long a script's text must be to be left out, in bytes.
const textLeast = 64

// leaveTextsOut replaces the texts of scripts that the shard has by their SHA1. It
// replaces none if texts is true.
func (r *Router) leaveTextsOut(index int, calls []*cluster.Call, texts bool) {
	var scripts *script.Cache
	if r.cfg.Scripts != nil && !texts {
		scripts = r.cfg.Scripts(index)
	}
	for _, c := range calls {
		for i := range c.Txn.Ops {
			op := &c.Txn.Ops[i]
			op.Sum = nil
			if scripts == nil || !op.Evaluates() || len(op.Args[1]) < textLeast {
				continue
			}
			if s := scripts.Find(op.Args[1]); s != nil {
				op.Sum = s.Sum[:]
				r.Counters.TextsLeftOut.Add(1)
			}
		}
	}
}

// firstGone is how many replies come before the first one that lacks a script.
func firstGone(replies []shard.Reply) int {
	for i := range replies {
		if replies[i].Outcome == fsm.OutcomeScriptGone {
			return i
		}
	}
	return len(replies)
}

func anyNamed(calls []*cluster.Call) bool {
	for _, c := range calls {
		if c.Client != 0 {
			return true
		}
	}
	return false
}
