package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

const (
	// earlyMost is how much too early a key may go: by as much as a clock may be off
	// (clock-offset-max-ms).
	earlyMost = 500 * time.Millisecond
	// lateMost is how much too late a key may still exist. The log time may run slower by an
	// eighth.
	lateMost = 1500 * time.Millisecond
	// watchers are the clients that set keys and wait until they expire.
	watchers = 4
)

// setClock sets the wall clock of a node.
func setClock(t *testing.T, n *proc.Node, ahead time.Duration, ppm int64) {
	t.Helper()
	if err := n.SetClock(ahead, ppm); err != nil {
		t.Fatal(err)
	}
}

// wrongClock is a way in which a clock is wrong.
type wrongClock struct {
	what  string
	ahead time.Duration
	ppm   int64
}

var wrongClocks = []wrongClock{
	{"an hour ahead", time.Hour, 0}, {"an hour behind", -time.Hour, 0}, {"ten years ahead", 10 * 365 * 24 * time.Hour, 0},
	{"runs twice as fast", 0, 1_000_000}, {"stands still", 0, -1_000_000}, {"0.4 s ahead", 400 * time.Millisecond, 0}, {"right", 0, 0},
}

// clock makes the wall clock of one node wrong. It does so at most once per round, because two of
// three clocks would be a majority.
func (n *nemesis) clock(from, to time.Duration) {
	if n.wrongClock {
		return
	}
	n.wrongClock = true
	node, how := n.node(), wrongClocks[n.r.IntN(len(wrongClocks))]
	n.at(from, "the clock of "+node.Name+": "+how.what, func() {
		_ = node.SetClock(how.ahead, how.ppm) // its disk may be full
	})
	n.at(to, "the clock of "+node.Name+" is right", func() {
		if err := node.RightClock(); err != nil {
			n.t.Error(err)
		}
	})
}

// clockWatch checks keys with a time to live.
type clockWatch struct {
	t     *testing.T
	c     *proc.Cluster
	gone  atomic.Int64
	early atomic.Int64 // the most by which a key went too early, in microseconds
	late  atomic.Int64 // the most by which a key still existed too late
}

// ask sends a command to a random node.
func (w *clockWatch) ask(r *rand.Rand, args ...string) (string, error) {
	conn, err := respconn.DialTimeout(w.c.Nodes[r.IntN(len(w.c.Nodes))].Addr(), time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.Patience = clientPatience
	v, err := conn.Do(args...)
	if err != nil {
		return "", err
	}
	return v.Text()
}

// lifetime sets a key, with a time to live or a time of day, and waits until it is gone.
func (w *clockWatch) lifetime(ctx context.Context, r *rand.Rand, key string) {
	lives := time.Duration(800+r.IntN(2500)) * time.Millisecond
	set := time.Now()
	args := []string{"SET", key, "v", "PX", strconv.FormatInt(lives.Milliseconds(), 10)}
	from, to := set.Add(lives), time.Time{}
	if byDay := r.IntN(2) == 0; byDay {
		args[3], args[4] = "PXAT", strconv.FormatInt(from.UnixMilli(), 10)
		to = from
	}
	if _, err := w.ask(r, args...); err != nil {
		return // the key may have been set later than this client knows
	}
	if to.IsZero() {
		to = time.Now().Add(lives)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		asked := time.Now()
		got, err := w.ask(r, "EXISTS", key)
		switch now := time.Now(); {
		case err != nil:
		case got == "0":
			most(&w.early, from.Sub(now))
			if from.Sub(now) > earlyMost {
				w.t.Errorf("%q: the key is gone %v too early", args, from.Sub(now))
			}
			w.gone.Add(1)
			return
		case asked.After(to):
			most(&w.late, asked.Sub(to))
			if asked.Sub(to) > lateMost+lives/8 {
				w.t.Errorf("%q: the key is there %v too long", args, asked.Sub(to))
				return
			}
		}
		<-tick.C
	}
}

func most(to *atomic.Int64, d time.Duration) {
	for {
		old := to.Load()
		if d.Microseconds() <= old || to.CompareAndSwap(old, d.Microseconds()) {
			return
		}
	}
}

// TestWrongClocksMoveNoKey sets the clock of one node of three forward and back, and makes it run
// fast and slow, while the node leads and while it follows. Leaders are moved and killed. A key
// with a time to live, or with a time of day at which it expires, must not go early, nor exist much
// longer.
func TestWrongClocksMoveNoKey(t *testing.T) {
	program := proc.ClockedLockstepd(t)
	c := proc.NewCluster(t, 3, proc.Options{Before: func(n *proc.Node) { n.Become(program) }})
	seed := proc.Seed(t, 1)
	r := rand.New(rand.NewPCG(seed, 1))
	rounds := 2
	if proc.Long() {
		rounds = 100
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &clockWatch{t: t, c: c}
	var all sync.WaitGroup
	for i := range watchers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(2+i)))
			for k := 0; ctx.Err() == nil; k++ {
				w.lifetime(ctx, r, fmt.Sprintf("%d:%d", i, k))
			}
		})
	}
	for round := range rounds {
		w.round(r, round)
	}
	cancel()
	all.Wait()
	t.Logf("%d keys went, at most %d us too early, and were seen at most %d us too late", w.gone.Load(), w.early.Load(), w.late.Load())
	if w.gone.Load() == 0 {
		t.Error("no key was watched to its end")
	}
}

// round makes one clock wrong, and meanwhile moves or kills leaders. In the first round it is the
// leader's clock, which is set forward; in later rounds the node and the fault are random.
func (w *clockWatch) round(r *rand.Rand, round int) {
	bad, how := w.c.WaitLeader(), wrongClocks[0]
	if round > 0 {
		bad, how = w.c.Nodes[r.IntN(len(w.c.Nodes))], wrongClocks[r.IntN(len(wrongClocks))]
	}
	w.t.Logf("round %d: the clock of %s: %s; %s led", round, bad.Name, how.what, w.c.WaitLeader().Name)
	setClock(w.t, bad, how.ahead, how.ppm)
	wait := w.gone.Load() + watchers
	proc.Wait(w.t, proc.ElectionPatience, "keys to go", func() bool { return w.gone.Load() >= wait || w.t.Failed() })
	leader := w.c.WaitLeader()
	if r.IntN(2) == 0 {
		_, _ = proc.Ask(leader.Addr(), "LOCKSTEP", "TRANSFER", "0")
	} else {
		leader.Kill9()
		leader.Start()
	}
	wait = w.gone.Load() + watchers
	proc.Wait(w.t, proc.ElectionPatience, "keys to go", func() bool { return w.gone.Load() >= wait || w.t.Failed() })
	setClock(w.t, bad, 0, 0)
}
