package router

import (
	"slices"
	"sync"
	"time"

	"lockstep/cluster"
	"lockstep/cluster/shard"
)

const (
	// watchEvery is how often attempts without an answer are checked: the answer may
	// never come.
	watchEvery = 50 * time.Millisecond
	// staleWait is how long a replica may take for a stale read before another one is asked.
	staleWait = 500 * time.Millisecond
)

// watch checks the open sendings. One timer runs for all of them, and only while there
// are any.
type watch struct {
	mu sync.Mutex // guards open, running, and the place of each sending
	// open are the sendings; the place of each is its index plus one. running is true while the timer runs.
	open    []*sending
	running bool
}

func (w *watch) add(s *sending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.place == 0 {
		w.open = append(w.open, s)
		s.place = len(w.open)
	}
	if !w.running {
		w.running = true
		time.AfterFunc(watchEvery, w.look)
	}
}

func (w *watch) remove(s *sending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.place == 0 {
		return
	}
	end := len(w.open) - 1
	moved := w.open[end]
	w.open[s.place-1], moved.place = moved, s.place
	w.open[end], w.open, s.place = nil, w.open[:end], 0
}

// look checks all open sendings, and starts the timer again while there are any.
func (w *watch) look() {
	w.mu.Lock()
	open := slices.Clone(w.open)
	w.mu.Unlock()
	now := time.Now()
	for _, s := range open {
		s.look(now)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running = len(w.open) > 0; w.running {
		time.AfterFunc(watchEvery, w.look)
	}
}

// look ends the open attempt if it is not worth waiting for any more. The identity of a
// bundle makes it safe to ask another leader. If the way to the leader turns out to be
// shut, look also sends the request another way (relay.go).
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
		s.answered(number, shard.Result{Err: end}, true)
		return
	}
	s.turn(number, to, now)
}

// seen checks an attempt. If doubted is true, the router must ask which node leads. If
// gone is true, the client has gone. end is the error with which the attempt ends, if it
// does.
//
// The deadline counts only when it was seen twice that it has passed: if this process
// stood still, the answer may have arrived and not have been read yet.
func (s *sending) seen(number int, now time.Time) (doubted, gone bool, end error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.open != number || !s.waits:
	case s.ctx.Err() != nil:
		end = cluster.ErrUnknown
	case s.kind == KindStale:
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
