package commands_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/tests/kit/cmdtest"
)

// listener hears the events of redis-server on a connection of its own.
type listener struct {
	o, ear *cmdtest.Oracle
}

// classLetters are the classes and their letters in notify-keyspace-events.
var classLetters = []struct {
	letter string
	class  command.EventClass
}{
	{"g", command.EventGeneric}, {"$", command.EventString}, {"l", command.EventList}, {"s", command.EventSet}, {"h", command.EventHash},
	{"z", command.EventSortedSet}, {"t", command.EventStream}, {"x", command.EventExpired}, {"e", command.EventEvicted}, {"m", command.EventMiss}, {"n", command.EventNew},
}

// listenTo makes redis-server publish the events of some classes and subscribes to them.
func listenTo(o *cmdtest.Oracle, letters string) *listener {
	o.T.Helper()
	for _, line := range []string{"config set notify-keyspace-events E" + letters, "debug set-active-expire 0"} {
		if got := o.Do(line); got != "+OK" {
			o.T.Fatalf("%s: %s", line, got)
		}
	}
	return &listener{o, o.Listen("PSUBSCRIBE __keyevent@* marker")}
}

// take returns the events since its last call: those that arrive before a marker that it sends.
func (l *listener) take() []string {
	l.o.Do("publish marker x")
	var events []string
	for {
		m := l.ear.Message()
		channel, key := m[2].(string), m[3].(string)
		if channel == "marker" {
			return events
		}
		db, event, _ := strings.Cut(strings.TrimPrefix(channel, "__keyevent@"), "__:")
		events = append(events, fmt.Sprintf("%s %s %q", db, event, key))
	}
}

// compareEvents runs random commands in Lockstep and in redis-server and compares the events of the
// classes that letters names.
func compareEvents(t *testing.T, letters string, seed int64, n int, templates []func(cmdtest.Generator) []string) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.NowMs = cmdtest.WallMs()
	rec := &cmdtest.Recorder{}
	for _, c := range classLetters {
		if strings.Contains(strings.ReplaceAll(letters, "A", "g$lshzxet"), c.letter) {
			rec.Classes |= c.class
		}
	}
	r.Observer = rec
	l := listenTo(o, letters)
	g := cmdtest.Generator{Rand: rand.New(rand.NewSource(seed)), Future: true}
	heard := 0
	for i := range n {
		args := g.Command(templates)
		cmdtest.Both(r, o, args)
		got, want := rec.Take(), l.take()
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, command %d: %.300q\n got %s\nwant %s", seed, i, args, got, want)
		}
		heard += len(got)
	}
	if heard < n/20 && letters != "x" {
		t.Errorf("only %d events in %d commands", heard, n)
	}
}

func TestEventsAreRedisEvents(t *testing.T) {
	n := 6000
	if testing.Short() {
		n = 1000
	}
	families := map[string][]func(cmdtest.Generator) []string{
		"strings": cmdtest.StringCommands, "keys": cmdtest.KeyCommands, "bitmaps": cmdtest.BitCommands, "hyperloglogs": cmdtest.HLLCommands,
	}
	for name, templates := range families {
		t.Run(name, func(t *testing.T) { compareEvents(t, "Amn", 1, n, templates) })
	}
	// Each class runs alone, so that the test sees an event of a wrong class.
	for _, c := range classLetters {
		if strings.Contains("lshzte", c.letter) {
			continue // none of these families has such events
		}
		t.Run("class "+c.letter, func(t *testing.T) {
			all := slices.Concat(cmdtest.StringCommands, cmdtest.KeyCommands, cmdtest.BitCommands, cmdtest.HLLCommands)
			compareEvents(t, c.letter, 2, n/3, all)
		})
	}
}

// TestEventsOfKeysThatExpire runs commands on keys that have expired but were
// not deleted.
func TestEventsOfKeysThatExpire(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.NowMs = cmdtest.WallMs()
	rec := &cmdtest.Recorder{Classes: 1<<16 - 1}
	r.Observer = rec
	l := listenTo(o, "Amn")
	run := func(line string) (got, want []string) {
		t.Helper()
		a, b := cmdtest.Both(r, o, cmdtest.Words(line))
		if string(a) != string(b) {
			t.Errorf("%s: reply %q, want %q", line, a, b)
		}
		return rec.Take(), l.take()
	}
	for _, line := range []string{
		"set k v", "set k v ex 1000", "set k v get", "set k v keepttl", "set k v nx", "set k v xx", "set k v pxat 5", "setnx k v", "setex k 1000 v", "psetex k 1000 v", "getset k v", "getdel k", "getex k persist",
		"mset k 1 l 2 m 3", "msetnx k 1 m 2", "incr k", "decrby l 5", "incrbyfloat k 2", "append k x", "setrange k 1 x",
		"del k", "unlink k l m", "rename k n", "rename s k", "renamenx s k", "renamenx k m",
		"move k 1", "move s 1", "copy s k", "copy s k replace", "copy s k db 1", "copy s k db 1 replace",
		"expire k 100", "pexpireat k 5", "persist k", "setbit k 1 1", "bitop or k s", "bitfield k incrby u8 0 1",
		"pfadd k x", "pfmerge k", "expire s 0", "expire s 100", "pexpireat s 5", "getex s ex 100", "getex s pxat 5", "getex s persist", "getex t persist", "persist t", "persist s",
		"getdel s", "set t v keepttl", "flushall", "swapdb 0 1", "get s", "getex s", "object encoding nokey", "type nokey", "ttl nokey", "exists s nokey", "touch s nokey", "dump nokey",
		"copy nokey k", "rename nokey k", "move nokey 1", "restore k 5 x", "getdel nokey", "getset nokey x", "xadd nokey 1-1 f v", "xadd k 1-1 f v", "xadd nokey maxlen 0 1-1 f v", "xgroup create nokey g 0 mkstream", "setrange nokey 1 x", "pfdebug encoding nokey", "xack nokey g 1-1", "xclaim nokey g ann 0 1-1", "xautoclaim nokey g ann 0 0", "xreadgroup group g ann streams nokey >",
		"xpending nokey g", "xinfo stream nokey", "xlen nokey", "xrange nokey - +", "xdel nokey 1-1", "xgroup destroy nokey g", "xack l g 1-1", "bitcount nokey", "lcs nokey s", "mget nokey s nokey",
	} {
		for _, setup := range []string{"flushall", "select 1", "set k gone pxat 7", "select 0", "set k gone pxat 7", "set l gone pxat 7", "set s text", "set t text pxat 4000000000123"} {
			run(setup)
		}
		if got, want := run(line); !slices.Equal(got, want) {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
	// Redis does not check whether the key that it deletes has expired.
	run("flushall")
	run("set k gone pxat 7")
	got, want := run("bitop or k nokey")
	if fmt.Sprint(got, want) != `[0 keymiss "nokey" 0 expired "k"] [0 keymiss "nokey" 0 del "k"]` {
		t.Errorf("bitop onto a key that has expired: %s, Redis: %s", got, want)
	}
}

// TestEventsNobodyWants: without a listener, a command does no work for the sake of events. The
// keys end up the same.
func TestEventsNobodyWants(t *testing.T) {
	heard, quiet := cmdtest.NewRunner(t), cmdtest.NewRunner(t)
	all := &cmdtest.Recorder{Classes: command.AnyEvent}
	heard.Observer, quiet.Observer = all, cmdtest.Deaf{}
	for _, line := range []string{"set k v pxat 7", "set k w", "rpush l a b", "hset h f v", "zadd z 1 a", "sadd s a", "xadd x 1-1 f v", "sinterstore d s s", "rename l m"} {
		if a, b := heard.Do(line), quiet.Do(line); a != b {
			t.Errorf("%s: %s where somebody hears, %s where nobody does", line, a, b)
		}
	}
	if a, b := heard.Do("lockstep.digest"), quiet.Do("lockstep.digest"); a != b || strings.HasPrefix(a, "-") {
		t.Errorf("digests: %s, %s", a, b)
	}
	if len(all.Events) == 0 {
		t.Error("nothing was heard")
	}
	// With a listener a key is looked up for the event "new", and its collection's events are held
	// behind that one. Both cost time, which nobody should pay without a listener.
	allocs := func(o command.Observer) float64 {
		c := command.Ctx{KS: heard.KS, Listeners: command.Listeners{Observer: o}, Times: command.Times{NowMs: 8}}
		return testing.AllocsPerRun(100, func() { c.HoldEvents(func() {}) })
	}
	if n := allocs(cmdtest.Deaf{}); n != 0 {
		t.Errorf("events that nobody wants are held: %v allocations", n)
	}
	heard.Do("set gone v pxat 7")
	all.Take()
	c := command.Ctx{KS: heard.KS, Listeners: command.Listeners{Observer: &cmdtest.Recorder{}}, Times: command.Times{NowMs: 8}}
	if c.IsNew(0, []byte("nokey")) {
		t.Error("a key is looked up for an event that nobody wants")
	}
	if c.Observer = all; !c.IsNew(0, []byte("nokey")) || !c.IsNew(0, []byte("gone")) || fmt.Sprint(all.Take()) != `[0 expired "gone"]` {
		t.Error("a new key is not known where somebody asks")
	}
}

// TestEventsOfReadingWhatHasExpired: a read changes nothing here. The event that a key has expired
// comes when the leader has found the key due, and not when a client reads the key.
func TestEventsOfReadingWhatHasExpired(t *testing.T) {
	r := cmdtest.NewRunner(t)
	rec := &cmdtest.Recorder{Classes: 1<<16 - 1}
	r.Observer = rec
	for line, want := range map[string]string{
		"set k v pxat 7":      `[0 new "k" 0 set "k" 0 expire "k"]`,
		"get k":               `[0 keymiss "k"]`,
		"getex k":             `[0 keymiss "k"]`,
		"lockstep.expire 0 k": `[0 expired "k"]`,
	} {
		r.Do("flushall")
		if line[:3] != "set" {
			r.Do("set k v pxat 7")
		}
		rec.Take()
		r.Do(line)
		if got := fmt.Sprint(rec.Take()); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
