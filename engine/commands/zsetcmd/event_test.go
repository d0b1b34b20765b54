package zsetcmd_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/tests/kit/cmdtest"
)

// heardOfSortedSets is an Observer that records "event key" and the keys that were filled.
type heardOfSortedSets struct {
	events, filled []string
	classes        command.EventClass
}

// Wants implements Observer.
func (*heardOfSortedSets) Wants(command.EventClass) bool { return true }

// Event implements Observer. Redis's class A does not include misses and new keys.
func (h *heardOfSortedSets) Event(class command.EventClass, event string, _ int, key []byte) {
	if class != command.EventMiss && class != command.EventNew {
		h.events = append(h.events, fmt.Sprintf("%s %q", event, key))
		h.classes |= class
	}
}

// Filled implements Observer.
func (h *heardOfSortedSets) Filled(_ int, key []byte, _ engine.Kind) {
	h.filled = append(h.filled, string(key))
}

// Gone implements Observer.
func (h *heardOfSortedSets) Gone(int, []byte) {}

// subscriber hears the keyspace events of an oracle.
type subscriber struct {
	o, ear *cmdtest.Oracle
}

func subscribe(o *cmdtest.Oracle) *subscriber {
	o.T.Helper()
	o.Do("config set notify-keyspace-events KEA")
	return &subscriber{o, o.Listen("psubscribe __keyevent@0__:* marker")}
}

// heard returns the events since the last call.
func (s *subscriber) heard() []string {
	s.o.T.Helper()
	s.o.Do("publish marker x")
	var events []string
	for {
		message := s.ear.Message()
		channel := message[2].(string)
		if channel == "marker" {
			return events
		}
		events = append(events, fmt.Sprintf("%s %q", strings.TrimPrefix(channel, "__keyevent@0__:"), message[3].(string)))
	}
}

// TestSortedSetEventsAreRedisEvents compares the events of random commands, one by one. Clients
// that wait must also be notified of the keys that commands make or change.
func TestSortedSetEventsAreRedisEvents(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.NowMs = cmdtest.WallMs()
	h := &heardOfSortedSets{}
	r.Observer = h
	s := subscribe(o)
	g := cmdtest.Generator{Rand: rand.New(rand.NewSource(9)), Future: true}
	// Ranges of texts mean nothing if scores differ. So those commands come first, by themselves.
	const commandsEach = 3000
	templates := [][]func(cmdtest.Generator) []string{lexCommands, slices.Concat(cmdtest.SortedSetCommands(false), cmdtest.GeoCommands)}
	kinds := map[string]bool{}
	for i := range len(templates) * commandsEach {
		args := g.Command(templates[i/commandsEach])
		*h = heardOfSortedSets{}
		bothSorted(r, o, args)
		want := s.heard()
		name := strings.ToLower(string(args[0]))
		if !strings.HasPrefix(strings.TrimPrefix(name, "b"), "z") && !strings.HasPrefix(name, "geo") {
			continue
		}
		if !slices.Equal(h.events, want) {
			t.Fatalf("command %d: %q\n got %q\nwant %q", i, args, h.events, want)
		}
		if h.classes&^(command.EventSortedSet|command.EventGeneric) != 0 {
			t.Fatalf("%q: events of classes %b", args, h.classes)
		}
		for _, event := range want {
			kind, _, _ := strings.Cut(event, " ")
			kinds[kind] = true
		}
		if filled := len(h.filled) > 0; filled != (len(want) > 0 && want[0][:3] != "del") {
			t.Fatalf("%q: filled %q, events %q", args, h.filled, want)
		}
	}
	if len(kinds) < 15 {
		t.Errorf("only these events were seen: %v", kinds)
	}
}

// TestNothingHappensToAKeyThatDoesNotChange checks the versions, which WATCH compares.
func TestNothingHappensToAKeyThatDoesNotChange(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Do("zadd z 1 a 2 b")
	key := []byte("z")
	version := func() uint64 { return r.KS.Find(r.KS.LockSlot(key), 0, key).Version }
	before := version()
	for _, line := range []string{
		"zadd z 1 a 2 b", "zadd z nx 5 a", "zadd z gt 1 a", "zadd z xx 5 none", "zadd z incr 0 a", "zadd z nx incr 5 a", "zrem z none",
		"zremrangebyrank z 5 9", "zremrangebyscore z 7 9", "zremrangebylex z [x [y", "zpopmin z 0", "zadd z incr nan a",
	} {
		if r.Do(line); version() != before {
			t.Errorf("%s changes the key", line)
			before = version()
		}
	}
	if r.Do("zadd z 2 a"); version() == before {
		t.Error("a change is no change")
	}
}
