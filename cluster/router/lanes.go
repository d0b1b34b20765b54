package router

import (
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster/shard"
	"lockstep/fsm"
)

// identities are the identities from which this gateway numbers its bundles to one shard.
// If another node used this gateway's name, the shard knows numbers that the gateway
// never gave out, and counts the gateway's own numbers as given up, for ever. The gateway
// then starts again, with a boot number greater than the one that the shard knows.
type identities struct {
	now atomic.Pointer[lanes]
	// mu lets one bundle at a time take a new boot number. renewed is when one did last.
	mu      sync.Mutex
	renewed time.Time
}

// renewEvery is the least time between two new boot numbers.
const renewEvery = time.Second

// renew takes a boot number greater than behind. It does nothing if another bundle has
// done so since these lanes were used, or if the last new number is less than renewEvery
// old.
func (r *Router) renew(index int, poisoned *lanes, behind uint64) {
	if r.cfg.Reboot == nil {
		return
	}
	id := &r.lanes[index]
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.now.Load() != poisoned || time.Since(id.renewed) < renewEvery {
		return
	}
	boot, err := r.cfg.Reboot(index, behind)
	if err != nil {
		return // Reboot logs the error; the next bundle tries again
	}
	id.renewed = time.Now()
	id.now.Store(&lanes{node: r.cfg.Node, boot: boot})
	r.Counters.Renewed.Add(1)
}

// staleOf counts the replies of txns that the shard took for given up. boot is the
// greatest boot number that the shard knows of this gateway.
func staleOf(replies []shard.Reply) (n int, boot uint64) {
	for i := range replies {
		if replies[i].Outcome == fsm.OutcomeStale {
			n++
			boot = max(boot, fsm.StaleBoot(replies[i].Bytes))
		}
	}
	return n, boot
}

// lanes hands out the numbers of the bundles this gateway sends to one shard.
type lanes struct {
	node, boot uint64
	turn       atomic.Uint32
	all        [fsm.Lanes]lane
}

// lane is one row of sequence numbers.
type lane struct {
	mu   sync.Mutex // guards next, open
	next uint64
	// open holds the first numbers of bundles not yet answered, ascending.
	open []uint64
}

// unanswered is a bundle that has a number and may be asked for again, until close.
type unanswered struct {
	lane  *lane
	first uint64
}

// open numbers a bundle of n txns. It returns false if every lane is full of unanswered
// bundles.
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

// number is open for one lane.
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

// close says that the bundle will not be asked for again. A second call does no harm, nor
// does a call for a request without a number. Every number that was given out must be
// closed: a lane does not go further than LaneWindow beyond its oldest open number.
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
