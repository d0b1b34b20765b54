package clock

import (
	"context"
	"slices"
	"sync"
	"time"

	"lockstep/cluster/stepper"
)

// Kind is the peer request that asks for the time. The payload is empty; the answer is what encode writes.
const Kind uint8 = 19

const (
	// askEvery is how often a node asks each other one, and askSoon how often as long as one has not answered that
	// was not silent before.
	askEvery = time.Second
	askSoon  = 100 * time.Millisecond
	// freshUs is for how long a reading counts. Clocks that drift part by far less meanwhile.
	freshUs = 10_000_000
	// soonFor is for how long after its start a node asks more often.
	soonFor = 10 * time.Second
	// openMax bounds the questions to one node that have no answer yet.
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
	// Counts reports whether its clock counts where the nodes' clocks are compared (Standings).
	Counts bool
}

// LogTime is the log time of a shard as its leader reports it.
type LogTime struct {
	Shard uint32
	Term  uint64
	RunUs int64
}

// Config is what an exchange is made with.
type Config struct {
	// Self is this node.
	Self string
	// Members are the nodes of the cluster, this one among them.
	Members func() []Member
	Peers   Peers
	// Mono is the monotonic clock, which must run while the machine is suspended. Wall is the wall clock.
	Mono func() time.Duration
	Wall func() time.Time
	// Led are the log times of the shards that this node leads.
	Led func() []LogTime
	// Heard is told what a node told between two moments of the monotonic clock of a shard that it leads, as it says;
	// it does not block.
	Heard func(node string, t LogTime, sentUs, gotUs int64)
}

// Exchange knows what the other nodes' wall clocks show. Its methods may be called by any goroutine.
type Exchange struct {
	*stepper.Stepper
	cfg Config

	mu       sync.Mutex // guards readings, open
	readings map[string]Reading
	open     map[string]int
}

// NewExchange returns an exchange that has asked nobody; Run makes it ask.
func NewExchange(cfg Config) *Exchange {
	return &Exchange{Stepper: stepper.New(), cfg: cfg, readings: map[string]Reading{}, open: map[string]int{}}
}

// Run asks until ctx ends.
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

// own reads this node's clocks. The wall clock is read last, so that a log time which follows it is not behind.
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

// forget drops what is known of nodes that have left.
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

// ask asks one node what the time is, unless too many such questions are open.
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

// Now is what a majority of some nodes say, which may be voters of a group, and what this node's clock shows. Nodes
// that have not been heard lately are counted as having said nothing.
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

// fresh appends the readings of nodes that count now, this node's own among them.
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

// Standing is how one node's clock stands to the others.
type Standing struct {
	ID string
	// Heard reports whether the node has said lately what its clock shows. OffUs is how far that is for certain ahead
	// of what a majority of the members say that count, negative: behind; 0 where no majority says anything.
	// UnsureUs is half the time that the question took.
	Heard           bool
	OffUs, UnsureUs int64
}

// Standings are those of all members.
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

// offOf is how far a clock is outside bounds for certain.
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
