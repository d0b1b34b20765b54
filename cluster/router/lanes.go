package router

import (
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster/shard"
	"lockstep/fsm"
)

// identities are what this gateway's bundles to one shard are numbered by. Where the shard
// knows numbers that the gateway never gave out, because somebody else spoke in its name,
// it takes the gateway's own for given up, and would for ever. So the gateway begins anew
// then, with a boot number behind the one that the shard knows.
type identities struct {
	now atomic.Pointer[lanes]
	// mu lets one bundle at a time begin anew; renewed is when one did last.
	mu      sync.Mutex
	renewed time.Time
}

// renewEvery is the least time between two beginnings.
const renewEvery = time.Second

// renew begins anew behind a boot number, unless another bundle has since these lanes were
// used, or somebody did a moment ago.
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
		return // Reboot says so; the next bundle tries again
	}
	id.renewed = time.Now()
	id.now.Store(&lanes{node: r.cfg.Node, boot: boot})
	r.Counters.Renewed.Add(1)
}

// staleOf counts the replies of txns that the shard took for given up, and tells the
// greatest boot number that it knows of this gateway.
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

// unanswered is a bundle that has been numbered and may be asked for again, until
// close.
type unanswered struct {
	lane  *lane
	first uint64
}

// open numbers a bundle of n txns. It returns false if every lane is full of unanswered
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
