package router

import (
	"sync"
	"sync/atomic"

	"lockstep/fsm"
)

// lanes hands out identities for the bundles this gateway sends to one shard.
type lanes struct {
	node, boot uint64
	turn       atomic.Uint32
	all        [fsm.Lanes]lane
}

// lane is one row of sequence numbers.
type lane struct {
	mu   sync.Mutex
	next uint64
	// open holds the first numbers of bundles not yet answered, ascending.
	open []uint64
}

// unanswered is a bundle that has been numbered and may be asked for again, until
// close.
type unanswered struct {
	lane  *lane
	first uint64
}

// open numbers a bundle of n txns; false: every lane is full of unanswered
// ones.
func (l *lanes) open(b *fsm.Bundle) (unanswered, bool) {
	n := uint64(len(b.Txns))
	start := l.turn.Add(1)
	for i := range uint32(fsm.Lanes) {
		index := (start + i) % fsm.Lanes
		if t, ok := l.all[index].number(b, n); ok {
			b.Origin = fsm.Origin{Node: l.node, Boot: l.boot, Lane: index}
			return t, true
		}
	}
	return unanswered{}, false
}

// number is open, in one lane.
func (l *lane) number(b *fsm.Bundle, n uint64) (unanswered, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	acked := l.next
	if len(l.open) > 0 {
		acked = l.open[0]
	}
	if l.next+n > acked+fsm.LaneWindow {
		return unanswered{}, false
	}
	first := l.next
	l.next += n
	l.open = append(l.open, first)
	b.FirstSeq, b.AckedBelow = first, acked
	return unanswered{l, first}, true
}

// close says that nobody will ask for the bundle again. To say so twice does no harm, nor
// of a request without a number. Each number that is given out must come here: a lane
// goes no further than LaneWindow beyond the oldest that has not.
func (u unanswered) close() {
	l := u.lane
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, first := range l.open {
		if first == u.first {
			l.open = append(l.open[:i], l.open[i+1:]...)
			break
		}
	}
}
