package router

import (
	"sync"
	"time"

	"lockstep/cluster"
)

const (
	// watchEvery is how often it is looked at an attempt that has no answer: its shard may have
	// another leader by now, and the one that was asked may never answer.
	watchEvery = 50 * time.Millisecond
	// staleWait is how long a replica may take for a stale read before another one is asked.
	staleWait = 500 * time.Millisecond
)

// watch looks after the sendings that are open. One timer runs for all of them, and only while there
// are any.
type watch struct {
	mu sync.Mutex
	// first and last are the ends of the list of open sendings, in the order in which they began.
	first, last *sending
	// running: the timer runs. all has room for those that are looked at.
	running bool
	all     []*sending
}

// watched is a sending's place in the list.
type watched struct {
	before, behind *sending
	listed         bool
}

func (w *watch) add(s *sending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.watched = watched{before: w.last, listed: true}
	if w.last == nil {
		w.first = s
	} else {
		w.last.watched.behind = s
	}
	w.last = s
	if !w.running {
		w.running = true
		time.AfterFunc(watchEvery, w.look)
	}
}

func (w *watch) remove(s *sending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := &s.watched
	if !at.listed {
		return
	}
	if at.before == nil {
		w.first = at.behind
	} else {
		at.before.watched.behind = at.behind
	}
	if at.behind == nil {
		w.last = at.before
	} else {
		at.behind.watched.before = at.before
	}
	s.watched = watched{}
}

// look looks at all open sendings, and comes again while there are any.
func (w *watch) look() {
	w.mu.Lock()
	all := w.all
	for s := w.first; s != nil; s = s.watched.behind {
		all = append(all, s)
	}
	w.mu.Unlock()
	now := time.Now()
	for _, s := range all {
		s.look(now)
	}
	clear(all)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = all[:0]
	if w.running = w.first != nil; w.running {
		time.AfterFunc(watchEvery, w.look)
	}
}

// look ends the open attempt if it is not worth waiting for any more; the identity of a bundle makes it
// safe to ask another leader. Where the way to the leader turns out to be shut, it sends the request
// another way, too (relay.go).
func (s *sending) look(now time.Time) {
	s.mu.Lock()
	number, to, waits := s.open, s.to, s.waits
	s.mu.Unlock()
	if !waits {
		return
	}
	defer s.caught(number)
	doubted, gone, end := s.seen(number, now)
	if doubted {
		s.router.ways.doubt(s.index, to.Addr)
		s.router.leaders.ask(s.index)
	}
	if gone {
		s.takeBack(to)
	}
	if end != nil {
		s.end(number, end)
		return
	}
	s.turn(number, to, now)
}

// seen looks at an attempt. doubted: it is to be asked who leads; gone: the client has gone; end:
// what the attempt ends with.
//
// The deadline counts when it was seen twice that it has passed: where this process stood still,
// the answer may be there, and not have been read yet.
func (s *sending) seen(number int, now time.Time) (doubted, gone bool, end error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.open != number || !s.waits:
	case s.ctx.Err() != nil:
		end = cluster.ErrUnknown
	case s.req.kind == KindStale:
		if now.Sub(s.asked) > staleWait {
			end = cluster.ErrNoAnswer
		}
	case now.After(s.deadline):
		if s.late {
			end = cluster.ErrUnknown
		}
		s.late = true
	default:
		gone = !s.takenBack && s.clientGone()
		s.takenBack = s.takenBack || gone
		if doubted = !s.to.Self && now.Sub(s.asked) > doubtAfter; doubted {
			s.asked = now
		}
		if other := s.router.leaders.of(s.index); other.Addr != s.to.Addr && other.Addr != "" {
			end = errAbandoned
		}
	}
	return doubted, gone, end
}
