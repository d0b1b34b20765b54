package keycmd_test

import (
	"fmt"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/commands/keycmd"
	"lockstep/tests/kit/cmdtest"
)

// heardEvents keeps keyspace events.
type heardEvents []string

// Wants implements Observer.
func (*heardEvents) Wants(command.EventClass) bool { return true }

func (h *heardEvents) Event(class command.EventClass, event string, db int, key []byte) {
	*h = append(*h, fmt.Sprintf("%d %s %d %s", class, event, db, key))
}
func (*heardEvents) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (*heardEvents) Gone(int, []byte) {}

// TestEvictTakesWhatHasNotChanged expects lockstep.evict to delete the keys that still have the
// version that the leader saw.
func TestEvictTakesWhatHasNotChanged(t *testing.T) {
	r := cmdtest.NewRunner(t)
	for _, line := range []string{"SET a 1", "SET b 1", "SET c 1", "SET d 1 PX 10", "SELECT 3", "RPUSH l x", "SELECT 0"} {
		r.Do(line)
	}
	r.Do("SET b 2")
	var heard heardEvents
	r.Observer = &heard
	r.NowMs += 1000
	if got := r.Do("lockstep.evict 0 a 1 0 b 2 0 gone 3 0 d 4 3 l 5 99 a 1 0 c x"); got != ":2" {
		t.Errorf("%s", got)
	}
	want := fmt.Sprintf("%d evicted 0 a|%d evicted 3 l", command.EventEvicted, command.EventEvicted)
	evicted := heard[:0:0]
	for _, e := range heard {
		if strings.Contains(e, "evicted") {
			evicted = append(evicted, e)
		}
	}
	if got := strings.Join(evicted, "|"); got != want {
		t.Errorf("events %s", got)
	}
	if got := r.Do("MGET a b c d"); got != "*4 $-1 $1 2 $1 1 $-1" {
		t.Errorf("left %s", got)
	}
	if n := r.KS.Stats.Evicted.Load(); n != 2 {
		t.Errorf("%d counted", n)
	}
	if got := r.Do("lockstep.evict 0 c 1 0"); got != "-"+command.ErrSyntax {
		t.Errorf("%s", got)
	}
}

// clocked runs commands at given seconds of the clock of uses.
type clocked struct {
	*cmdtest.Runner
	touches uint64
	noTouch bool
}

func (r *clocked) at(sec uint32, line string) string {
	r.Out.Reset(0)
	args := cmdtest.Words(line)
	spec, _ := commands.Lookup(args)
	r.TxnNo++
	r.touches++
	spec.Run(&command.Ctx{
		KS:     r.KS,
		Out:    &r.Out,
		TxnNo:  r.TxnNo,
		Logged: spec.Writes(args),
		Seed:   r.touches * 0x9e3779b97f4a7c15,
		Uses:   command.Uses{UseTick: sec * engine.UseTicks, NoTouch: r.noTouch},
		Times:  command.Times{NowMs: r.NowMs},
		Meter:  command.Meter{Settings: &r.Settings},
	}, args)
	return cmdtest.Flat(r.Out.Bytes())
}

func TestFreqFollowsUse(t *testing.T) {
	r := &clocked{Runner: cmdtest.NewRunner(t)}
	if got := r.at(60, "SET k v"); got != "+OK" {
		t.Fatal(got)
	}
	if got := r.at(60, "OBJECT FREQ k"); got != "-"+keycmd.ErrNoLFU {
		t.Errorf("%s", got)
	}
	r.Settings.EvictionPolicy = int64(command.PolicyAllKeysLFU)
	r.at(60, "DEL k")
	r.at(60, "SET k v")
	for _, c := range []struct {
		sec        uint32
		line, want string
	}{
		{60, "OBJECT FREQ k", ":5"}, {60, "OBJECT IDLETIME k", "-" + keycmd.ErrLFU}, {60, "OBJECT FREQ none", "$-1"},
		// The first use after the initial count always counts.
		{60, "GET k", "$1 v"}, {60, "OBJECT FREQ k", ":6"},
		{180, "OBJECT FREQ k", ":4"}, {180, "TOUCH k", ":1"}, {180, "OBJECT FREQ k", ":5"},
		{180, "SET k a-value-that-is-much-longer-than-the-one-before", "+OK"}, {180, "OBJECT FREQ k", ":6"},
	} {
		if got := r.at(c.sec, c.line); got != c.want {
			t.Errorf("%s at %d: %s", c.line, c.sec, got)
		}
	}
	r.Settings.LFULogFactor = 0
	r.at(180, "DEL k")
	r.at(180, "SET k 1")
	// One command is one use, however often it looks at the key.
	for range 10 {
		r.at(180, "APPEND k 1")
	}
	if got := r.at(180, "OBJECT FREQ k"); got != ":15" {
		t.Errorf("%s after ten APPENDs", got)
	}
}

func TestNoTouchLeavesTheRecord(t *testing.T) {
	r := &clocked{Runner: cmdtest.NewRunner(t)}
	r.at(100, "SET k v")
	r.noTouch = true
	r.at(200, "GET k")
	r.at(200, "STRLEN k")
	if got := r.at(300, "OBJECT IDLETIME k"); got != ":200" {
		t.Errorf("idle %s", got)
	}
	// TOUCH counts as a use, and a new value has no idle time.
	r.at(300, "TOUCH k")
	if got := r.at(310, "OBJECT IDLETIME k"); got != ":10" {
		t.Errorf("idle %s", got)
	}
	r.at(320, "SET k w")
	r.at(320, "SET l w")
	if k, l := r.at(330, "OBJECT IDLETIME k"), r.at(330, "OBJECT IDLETIME l"); k != ":10" || l != ":10" {
		t.Errorf("idle %s and %s", k, l)
	}
}
