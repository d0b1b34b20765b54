package clock

import (
	"context"
	"slices"
	"sync"
	"time"

	"lockstep/cluster/stepper"
)

// Kind is the request kind that asks another node for the time. The payload is empty; encode writes
// the answer.
const Kind uint8 = 19

const (
	// askEvery is how often a node asks each other node. It asks every askSoon while some node that
	// was not silent before has not answered.
	askEvery = time.Second
	askSoon  = 100 * time.Millisecond
	// freshUs is how long a reading counts. Clocks drift apart far less in that time.
	freshUs = 10_000_000
	// soonFor is how long after its start a node asks more often.
	soonFor = 10 * time.Second
	// openMax bounds the unanswered questions to one node.
	openMax = 4
)

// Peers sends requests to other nodes.
type Peers interface {
	// Go sends a request and calls done once with the answer, from any goroutine.
	Go(addr string, kind uint8, payload []byte, done func([]byte, error))
}

// Member is a node of the cluster.
type Member struct {
	ID, Addr string
	// Counts reports whether the node's clock counts when the nodes' clocks are compared
	// (Standings).
	Counts bool
}

// LogTime is the log time of a shard as its leader reports it.
type LogTime struct {
	Shard uint32
	Term  uint64
	RunUs int64
}

// Config is the configuration of an Exchange.
type Config struct {
	// Self is this node.
	Self string
	// Members are the nodes of the cluster, this one among them.
	Members func() []Member
	Peers   Peers
	// Mono is the monotonic clock, which must run while the machine is suspended. Wall is the wall clock.
	Mono func() time.Duration
	Wall func() time.Time
	// Led returns the log times of the shards that this node leads.
	Led func() []LogTime
	// Heard is called with the log time of a shard whose leader another node claims to be. That
	// time was read between sentUs and gotUs on this node's monotonic clock. Heard must not block.
	Heard func(node string, t LogTime, sentUs, gotUs int64)
}

// Exchange knows what the other nodes' wall clocks show. Any goroutine may call its methods.
type Exchange struct {
	*stepper.Stepper
	cfg Config

	mu       sync.Mutex // guards readings, open
	readings map[string]Reading
	open     map[string]int
}

// NewExchange returns an exchange that has asked no node yet. Run makes it ask.
func NewExchange(cfg Config) *Exchange {
	return &Exchange{Stepper: stepper.New(), cfg: cfg, readings: map[string]Reading{}, open: map[string]int{}}
}

// Run asks the other nodes until ctx ends.
func (x *Exchange) Run(ctx context.Context) {
	began := x.monoUs()
	x.Stepper.Run(ctx, func(context.Context) time.Duration {
		members := x.cfg.Members()
		x.forget(members)
		for _, m := range members {
			if m.ID != x.cfg.Self {
				x.ask(m)
			}
		}
		if x.monoUs()-began < soonFor.Microseconds() && !x.heardAll(members) {
			return askSoon
		}
		return askEvery
	})
}

func (x *Exchange) monoUs() int64 { return x.cfg.Mono().Microseconds() }

// own reads this node's clocks. It reads the wall clock last, so that a log time that is read
// afterwards is not behind it.
func (x *Exchange) own() (monoUs, wallUs int64) {
	const tries, quickUs = 3, 100
	for range tries {
		monoUs = x.monoUs()
		wallUs = x.cfg.Wall().UnixMicro()
		if x.monoUs()-monoUs <= quickUs {
			break
		}
	}
	return monoUs, wallUs
}

// forget drops the readings of nodes that have left.
func (x *Exchange) forget(members []Member) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.readings {
		if !slices.ContainsFunc(members, func(m Member) bool { return m.ID == id }) {
			delete(x.readings, id)
		}
	}
}

func (x *Exchange) heardAll(members []Member) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !slices.ContainsFunc(members, func(m Member) bool {
		_, heard := x.readings[m.ID]
		return !heard && m.ID != x.cfg.Self
	})
}

// ask asks one node for the time, unless too many questions to it are unanswered.
func (x *Exchange) ask(m Member) {
	x.mu.Lock()
	if x.open[m.ID] >= openMax {
		x.mu.Unlock()
		return
	}
	x.open[m.ID]++
	x.mu.Unlock()
	sentUs := x.monoUs()
	x.cfg.Peers.Go(m.Addr, Kind, nil, func(answer []byte, err error) {
		gotUs := x.monoUs()
		x.mu.Lock()
		if x.open[m.ID]--; x.open[m.ID] == 0 {
			delete(x.open, m.ID)
		}
		x.mu.Unlock()
		if err != nil {
			return
		}
		if a, ok := decode(answer); ok && a.node == m.ID {
			x.take(&a, sentUs, gotUs)
		}
	})
}

func (x *Exchange) take(a *answer, sentUs, gotUs int64) {
	x.mu.Lock()
	x.readings[a.node] = Take(a.wallUs, sentUs, gotUs)
	x.mu.Unlock()
	for _, t := range a.led {
		x.cfg.Heard(a.node, t, sentUs, gotUs)
	}
}

// Serve answers a question.
func (x *Exchange) Serve(reply func([]byte)) {
	led := x.cfg.Led()
	_, wallUs := x.own()
	reply(encode(&answer{node: x.cfg.Self, wallUs: wallUs, led: led}))
}

// Now returns what a majority of the voters says and what this node's clocks show. Voters without a
// recent answer count as silent.
func (x *Exchange) Now(voters []string) Now {
	monoUs, wallUs := x.own()
	now := Now{MonoUs: monoUs, OwnUs: wallUs}
	var buf [9]Reading
	least, most := Majority(len(voters), x.fresh(buf[:0], voters, monoUs, wallUs))
	now.LeastUs, now.MostUs = Never, Always
	if least != Never {
		now.LeastUs, now.MostUs = plus(least, monoUs), plus(most, monoUs)
	}
	return now
}

// fresh appends the recent readings of nodes, including this node's own.
func (x *Exchange) fresh(dst []Reading, nodes []string, monoUs, wallUs int64) []Reading {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range nodes {
		r, known := x.readings[id]
		switch {
		case id == x.cfg.Self:
			dst = append(dst, Take(wallUs, monoUs, monoUs))
		case known && monoUs-r.AtUs <= freshUs:
			dst = append(dst, r)
		}
	}
	return dst
}

// Standing compares one node's clock with the others.
type Standing struct {
	ID string
	// Heard reports whether the node has answered lately. OffUs is how far its clock is for certain
	// ahead of what a majority of the counting members says, or behind if negative; it is 0 if
	// there is no majority. UnsureUs is half the time that the question took.
	Heard           bool
	OffUs, UnsureUs int64
}

// Standings returns the standing of each member.
func (x *Exchange) Standings() []Standing {
	members := x.cfg.Members()
	var count []string
	for _, m := range members {
		if m.Counts {
			count = append(count, m.ID)
		}
	}
	monoUs, wallUs := x.own()
	least, most := Majority(len(count), x.fresh(nil, count, monoUs, wallUs))
	all := make([]Standing, len(members))
	for i, m := range members {
		all[i].ID = m.ID
		for _, r := range x.fresh(nil, []string{m.ID}, monoUs, wallUs) {
			all[i].Heard, all[i].UnsureUs = true, (r.MostUs-r.LeastUs)/2
			all[i].OffUs = offOf(&r, least, most)
		}
	}
	return all
}

// offOf is how far a clock is for certain outside the bounds.
func offOf(r *Reading, leastUs, mostUs int64) int64 {
	if behind := Away(r.MostUs, leastUs, mostUs); behind < 0 {
		return behind
	}
	return max(Away(r.LeastUs, leastUs, mostUs), 0)
}

// OffUs is a member's Standing.OffUs.
func (x *Exchange) OffUs(id string) int64 {
	for _, s := range x.Standings() {
		if s.ID == id {
			return s.OffUs
		}
	}
	return 0
}
