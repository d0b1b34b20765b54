package router

import (
	"cmp"
	"errors"

	"lockstep/cluster"
	"lockstep/cluster/shard"
	"lockstep/engine/script"
	"lockstep/fsm"
)

// write sends calls as one bundle until their outcome is known; texts: scripts that the shard
// should have travel all the same.
func (r *Router) write(at route, calls []*cluster.Call, texts bool, done func(alone bool)) {
	s := r.newSending(at, KindPropose, calls, done)
	s.texts, s.client = texts, leaverOf(calls)
	s.begin()
}

// begin numbers a bundle and sends it.
func (s *sending) begin() {
	defer s.guard()
	switch {
	case s.client != nil && s.router.elapsed(s.deadline) > goneAfter && s.client.Gone():
		s.fail(cluster.ErrTakenBack)
	case s.seal():
		s.attempt()
	default:
		s.beginLater()
	}
}

// beginLater numbers a bundle anew behind a pause.
func (s *sending) beginLater() {
	s.numberings++
	if !s.later(s.numberings-1, s.begin) {
		s.fail(cmp.Or(s.last, cluster.ErrOverloaded))
	}
}

// seal numbers the calls and makes their bundle; false: too many are under way.
func (s *sending) seal() bool {
	r := s.router
	r.leaveTextsOut(s.index, s.calls, s.texts)
	s.txns = takeTxns(s.calls)
	b := fsm.Bundle{Txns: *s.txns}
	var ok bool
	s.from = r.lanes[s.index].now.Load()
	if s.id, ok = s.from.open(&b); !ok {
		giveTxns(s.txns)
		return false
	}
	if r.cfg.Numbered != nil && anyNamed(s.calls) {
		r.cfg.Numbered(s.index, fsm.TxnID{Origin: b.Origin, Seq: b.FirstSeq}, s.calls)
	}
	s.req.bundle = fsm.AppendBundle(make([]byte, 0, fsm.BundleSize(&b)), &b)
	s.req.txns = *s.txns
	return true
}

// completeWrites takes what became of a bundle.
func (s *sending) completeWrites(replies []shard.Reply, err error, alone bool) {
	s.id.close()
	giveTxns(s.txns)
	if n, boot := staleOf(replies); n > 0 {
		// It was not given up: a client waits for it. The new boot number goes to the disk, for which
		// nobody else is to wait.
		go s.renumber(n, boot, replies)
		return
	}
	s.answer(replies, err, alone)
}

// renumber takes another boot number for a bundle of which n txns count as given up.
func (s *sending) renumber(n int, boot uint64, replies []shard.Reply) {
	defer s.guard()
	s.router.renew(s.index, s.from, boot)
	if n == len(s.calls) && !s.req.again {
		// It was in the log once, and did not run there.
		s.tries, s.last = 0, cluster.ErrUnknown
		s.beginLater()
		return
	}
	s.router.Counters.Unknown.Add(uint64(n))
	s.answer(replies, nil, true)
}

// answer gives the calls of a bundle what became of them, or sends those again that did not run,
// in another way.
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

// writeInTurn sends the first n calls by themselves, and then the others, if there are any.
func (s *sending) writeInTurn(n int) {
	first, rest, done := s.calls[:n], s.calls[n:], s.done
	if len(rest) > 0 {
		done = func(bool) { s.resend(rest, false, s.done) }
	}
	s.resend(first, false, done)
}

// writeWithoutMemory runs those calls of a refused bundle that need no memory,
// in their order with the others: each run of them by itself, and what comes
// behind them is tried again, for they may have made room.
func (s *sending) writeWithoutMemory() {
	calls, n := s.calls, 1
	grows, bends := calls[0].Txn.GrowsMemory(), calls[0].Txn.Bends()
	for n < len(calls) && calls[n].Txn.GrowsMemory() == grows && calls[n].Txn.Bends() == bends {
		n++
	}
	if !grows && n < len(calls) || grows && bends {
		if grows {
			// Scripts run all the same, and refuse what may need memory.
			for _, c := range calls[:n] {
				c.Txn.MemoryFull = true
			}
		}
		s.writeInTurn(n)
		return
	}
	failAll(calls[:n], cluster.ErrOutOfMemory)
	if n == len(calls) {
		s.complete(false)
		return
	}
	s.resend(calls[n:], false, s.done)
}

// textLeast is how long a script's text must be to be left out, in bytes.
const textLeast = 64

// leaveTextsOut has calls name the scripts by their SHA1 that the shard has, or
// none with texts.
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

// firstGone is how many of the replies are not for want of a script.
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
