package shard

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"lockstep/cluster"
	"lockstep/engine"
	"lockstep/fsm"
)

// waiting is a shard that leads, without a group, for its waiters alone.
type waiting struct {
	*Shard
	t *testing.T
}

func newWaiting(t *testing.T) *waiting {
	s := &Shard{machine: fsm.New(fsm.Config{Engine: engine.Config{LockSlots: 8}})}
	s.evictor.init(s)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.waiters.init(s)
	s.readyTerm.Store(1)
	t.Cleanup(func() {
		s.cancel()
		s.working.Wait()
		s.machine.Close()
	})
	return &waiting{s, t}
}

// ask sends a wait; the answer arrives on the channel.
func (w *waiting) ask(n uint64, req Wait) chan error {
	req.ID = WaiterID{1, n}
	told := make(chan error, 1)
	w.Wait(req, func(err error) { told <- err })
	return told
}

func keysOf(keys ...string) (all [][]byte) {
	for _, k := range keys {
		all = append(all, []byte(k))
	}
	return all
}

func (w *waiting) told(what string, c chan error, want error) {
	w.t.Helper()
	select {
	case err := <-c:
		if !errors.Is(err, want) {
			w.t.Fatalf("%s: told %v, not %v", what, err, want)
		}
	case <-time.After(patience):
		w.t.Fatalf("%s: told nothing", what)
	}
}

// silent looks after everything under way has been done.
func (w *waiting) silent(what string, c chan error) {
	w.t.Helper()
	w.working.Wait()
	select {
	case err := <-c:
		w.t.Fatalf("%s: told %v", what, err)
	default:
	}
}

func (w *waiting) put(key string, kind engine.Kind) {
	w.working.Wait()
	e := engine.NewObject([]byte(key), kind, thing{})
	ks := w.machine.Keyspace()
	ks.Put(ks.LockSlotOf(e), 0, e, 1)
}

type thing struct{}

func (thing) Clone() engine.Object { return thing{} }
func (thing) MemoryBytes() int     { return 1 }

// The oldest waiter has the turn until it leaves or finds nothing; who finds
// nothing keeps its place.
func TestTurnsGoByAge(t *testing.T) {
	w := newWaiting(t)
	first, second := w.ask(1, Wait{Keys: keysOf("a", "b")}), w.ask(2, Wait{Keys: keysOf("b")})
	w.waiters.filled(0, []byte("b"), engine.KindList)
	w.told("the oldest", first, nil)
	w.silent("the next one", second)
	w.waiters.filled(1, []byte("b"), engine.KindList) // of another database
	first = w.ask(1, Wait{Keys: keysOf("a", "b"), Tried: true})
	w.waiters.filled(0, []byte("b"), engine.KindList)
	w.told("the oldest, again", first, nil)
	// Filled while it tries: it is told at once when it comes back.
	w.waiters.filled(0, []byte("b"), engine.KindList)
	first = w.ask(1, Wait{Keys: keysOf("a", "b"), Tried: true})
	w.told("the oldest, filled meanwhile", first, nil)
	w.put("b", engine.KindList)
	w.LeaveWait(WaiterID{1, 1})
	w.told("the next one, for something is left", second, nil)
	w.LeaveWait(WaiterID{1, 2})
	if w.Waiting() != 0 || len(w.waiters.keys) != 0 {
		t.Errorf("%d waiters, %d keys are left", w.Waiting(), len(w.waiters.keys))
	}
}

// Who only reads is told together with all others.
func TestReadersAreToldTogether(t *testing.T) {
	w := newWaiting(t)
	a, b := w.ask(1, Wait{Keys: keysOf("s"), Shared: true}), w.ask(2, Wait{Keys: keysOf("s"), Shared: true})
	w.waiters.filled(0, []byte("s"), engine.KindList)
	w.told("one", a, nil)
	w.told("the other", b, nil)
}

// Who only reads is told wherever it stands; of the others, the oldest alone.
func TestReadersBehindOthersAreTold(t *testing.T) {
	w := newWaiting(t)
	first, reader := w.ask(1, Wait{Keys: keysOf("s")}), w.ask(2, Wait{Keys: keysOf("s"), Shared: true})
	third, last := w.ask(3, Wait{Keys: keysOf("s")}), w.ask(4, Wait{Keys: keysOf("s"), Shared: true})
	w.waiters.filled(0, []byte("s"), engine.KindList)
	w.told("the oldest", first, nil)
	w.told("a reader", reader, nil)
	w.told("a reader behind all", last, nil)
	w.silent("the next of the others", third)
}

// What is filled while a waiter is between two requests is not lost, though
// another finds nothing meanwhile.
func TestFillsBetweenRequestsCount(t *testing.T) {
	w := newWaiting(t)
	away, reader := w.ask(1, Wait{Keys: keysOf("s", "t")}), w.ask(2, Wait{Keys: keysOf("s"), Shared: true})
	w.working.Wait()
	w.waiters.sweep(time.Now().Add(renewEvery + time.Second))
	w.told("to renew", away, ErrRenew)
	w.told("to renew", reader, ErrRenew)
	reader = w.ask(2, Wait{Keys: keysOf("s"), Shared: true, Renew: true})
	w.waiters.filled(0, []byte("s"), engine.KindList)
	w.told("the reader", reader, nil)
	reader = w.ask(2, Wait{Keys: keysOf("s"), Shared: true, Tried: true})
	away = w.ask(1, Wait{Keys: keysOf("s", "t"), Renew: true})
	w.told("who was away", away, nil)
	// Nothing was filled since, and nothing is offered again.
	away = w.ask(1, Wait{Keys: keysOf("s", "t"), Tried: true})
	w.silent("who found nothing", away)
	w.silent("the reader", reader)
	// A database that has another content now, while one tries.
	w.waiters.filled(0, []byte("t"), engine.KindList)
	w.told("the oldest", away, nil)
	w.waiters.swapped(0)
	w.told("who was away when databases were swapped", w.ask(1, Wait{Keys: keysOf("s", "t"), Tried: true}), nil)
}

// A waiter that could not try, for its gateway met no leader, is told again.
func TestWhoCouldNotTryIsToldAgain(t *testing.T) {
	w := newWaiting(t)
	w.put("s", engine.KindStream)
	for _, shared := range []bool{true, false} {
		id := uint64(1)
		if shared {
			id = 2
		}
		w.told("what is there", w.ask(id, Wait{Keys: keysOf("s"), Shared: shared}), ErrAtOnce)
		w.told("again", w.ask(id, Wait{Keys: keysOf("s"), Shared: shared}), ErrAtOnce)
		w.silent("who found nothing", w.ask(id, Wait{Keys: keysOf("s"), Shared: shared, Tried: true}))
	}
}

// Who leaves while a request is open has it ended: an open request takes room.
func TestLeavingEndsTheRequest(t *testing.T) {
	w := newWaiting(t)
	waiter := w.ask(1, Wait{Keys: keysOf("a")})
	w.working.Wait()
	w.LeaveWait(WaiterID{1, 1})
	w.told("who left", waiter, ErrRenew)
}

// Two requests of one waiter may come in at one time, over a connection that broke and
// the next one: neither knows of the waiter, and it stands in the queues once.
func TestAWaiterComesOnce(t *testing.T) {
	w := newWaiting(t)
	one, two, next := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	for n, told := range []chan error{one, two, next} {
		w.waiters.add(&Wait{ID: WaiterID{1, uint64(max(n, 1))}, Keys: keysOf("a")}, func(err error) { told <- err })
	}
	w.told("the second request", two, ErrRenew)
	w.LeaveWait(WaiterID{1, 1})
	w.told("the first request", one, ErrRenew)
	w.waiters.filled(0, []byte("a"), engine.KindList)
	w.told("the next waiter", next, nil)
}

// A waiter's next request may come while those of its keys are put into the queues.
func TestNoRequestIsForgottenWhileAWaiterComes(t *testing.T) {
	w := newWaiting(t)
	var keys [][]byte
	for i := range 200_000 {
		keys = append(keys, fmt.Appendf(nil, "key:%d", i))
	}
	w.put("key:199999", engine.KindList)
	req := Wait{ID: WaiterID{1, 1}, Keys: keys, Kind: engine.KindList}
	one, two := make(chan error, 1), make(chan error, 1)
	w.working.Go(func() { w.waiters.add(&req, func(err error) { one <- err }) })
	for !w.waiters.comeBack(&req, func(err error) { two <- err }) {
		runtime.Gosched()
	}
	w.told("the second request", two, ErrAtOnce)
	<-one
}

// Its turn may come, too, before it is in all queues. It tries then, and does not listen
// to the first request any more: what comes while it tries would count as told to it.
func TestAWaiterThatTriesBeforeItIsInAllQueuesWaitsWithOneRequest(t *testing.T) {
	w := newWaiting(t)
	var keys [][]byte
	for i := range 200_000 {
		keys = append(keys, fmt.Appendf(nil, "key:%d", i))
	}
	req := Wait{ID: WaiterID{1, 1}, Keys: keys, Kind: engine.KindList}
	one, two, three := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	added := make(chan struct{})
	go func() {
		defer close(added)
		w.waiters.add(&req, func(err error) { one <- err })
	}()
	for !w.waiters.comeBack(&req, func(err error) { two <- err }) {
		runtime.Gosched()
	}
	w.waiters.filled(0, keys[0], engine.KindList)
	w.told("the second request", two, nil)
	<-added
	select {
	case err := <-one:
		if !errors.Is(err, ErrRenew) {
			t.Errorf("the first request: %v", err)
		}
	default:
		t.Error("the first request waits for somebody who tries")
	}
	w.waiters.filled(0, keys[0], engine.KindList)
	req.Tried = true
	w.waiters.comeBack(&req, func(err error) { three <- err })
	w.told("what came while it tried", three, nil)
}

// A wait for many keys takes its time from nobody, and the places of all waits
// together are bounded.
func TestWaitsForManyKeys(t *testing.T) {
	w := newWaiting(t)
	var keys [][]byte
	for i := range 200_000 {
		keys = append(keys, fmt.Appendf(nil, "key:%d", i%100_000))
	}
	many := w.ask(1, Wait{Keys: keys})
	if w.waiters.places != 100_000 {
		t.Errorf("%d places", w.waiters.places)
	}
	w.waiters.placesMax = 100_002
	w.told("one too many", w.ask(2, Wait{Keys: keysOf("a", "b", "c")}), cluster.ErrOverloaded)
	fits := w.ask(3, Wait{Keys: keysOf("a", "b"), Shared: true})
	w.waiters.filled(0, []byte("b"), engine.KindList)
	w.told("one that fits", fits, nil)
	w.working.Wait()
	w.waiters.filled(0, []byte("key:99999"), engine.KindList)
	w.told("of the last key", many, nil)
	w.LeaveWait(WaiterID{1, 1})
	w.LeaveWait(WaiterID{1, 3})
	if w.waiters.places != 0 || len(w.waiters.keys) != 0 || w.Waiting() != 0 {
		t.Errorf("%d places, %d keys, %d waiters are left", w.waiters.places, len(w.waiters.keys), w.Waiting())
	}
}

// A newcomer is told of what is there already; of a key that nobody waits for,
// it alone.
func TestNewcomersAreToldWhatIsThere(t *testing.T) {
	w := newWaiting(t)
	w.put("list", engine.KindList)
	w.told("of a list", w.ask(1, Wait{Keys: keysOf("none", "list")}), ErrAtOnce)
	waiter := w.ask(2, Wait{Keys: keysOf("h")})
	w.put("h", engine.KindHash)
	w.told("of a hash", w.ask(3, Wait{Keys: keysOf("h")}), ErrAtOnce)
	w.silent("who waited before", waiter)
}

// Waits are renewed, gateways that are gone are forgotten, and a turn that
// lasts long is no longer waited for.
func TestWaitersThatLastLong(t *testing.T) {
	w := newWaiting(t)
	first, second := w.ask(1, Wait{Keys: keysOf("a")}), w.ask(2, Wait{Keys: keysOf("a")})
	w.waiters.sweep(time.Now().Add(renewEvery + time.Second))
	w.told("to renew", first, ErrRenew)
	w.told("to renew", second, ErrRenew)
	first, second = w.ask(1, Wait{Keys: keysOf("a"), Renew: true}), w.ask(2, Wait{Keys: keysOf("a"), Renew: true})
	w.waiters.filled(0, []byte("a"), engine.KindList)
	w.told("its turn", first, nil)
	w.silent("the next one", second)
	w.waiters.sweep(time.Now().Add(turnMax + time.Second))
	w.told("the next one, after long", second, nil)
	w.waiters.sweep(time.Now().Add(renewEvery + time.Second))
	if w.Waiting() != 0 {
		t.Errorf("%d waiters of gateways that are gone", w.Waiting())
	}
}

// Who does not lead any more sends everybody away.
func TestLostLeadershipEndsWaits(t *testing.T) {
	w := newWaiting(t)
	waiter := w.ask(1, Wait{Keys: keysOf("a")})
	w.lost(1)
	w.told("the waiter", waiter, cluster.ErrNotLeader)
	w.told("one that comes late", w.ask(2, Wait{Keys: keysOf("a")}), cluster.ErrNotLeader)
}

// Who waits for one kind of value is not held up by who waits for another.
func TestWaitersOfAnotherKindAreLeftAlone(t *testing.T) {
	w := newWaiting(t)
	list, set := w.ask(1, Wait{Keys: keysOf("k"), Kind: engine.KindList}), w.ask(2, Wait{Keys: keysOf("k"), Kind: engine.KindSortedSet})
	any := w.ask(3, Wait{Keys: keysOf("k")}) // of an older gateway
	w.working.Wait()
	w.waiters.filled(0, []byte("k"), engine.KindSortedSet)
	w.told("who waits for a sorted set", set, nil)
	w.told("who does not say", any, nil)
	w.silent("who waits for a list", list)
	w.put("k", engine.KindSortedSet)
	w.told("a newcomer that waits for a list", w.ask(4, Wait{Keys: keysOf("k"), Kind: engine.KindList}), ErrAtOnce)
}

// Who reads as one of a group is told when the stream or the group has gone,
// wherever it stands, and even if it was away; nobody else is.
func TestWhoReadsAsAGroupIsToldWhatHasGone(t *testing.T) {
	w := newWaiting(t)
	w.put("s", engine.KindStream)
	group := func(n uint64, tried, renew bool) chan error {
		return w.ask(n, Wait{Keys: keysOf("s"), Kind: engine.KindStream, Tried: tried, Renew: renew})
	}
	for n := range uint64(2) {
		w.told("who comes", group(n, false, false), ErrAtOnce)
	}
	reader := w.ask(5, Wait{Keys: keysOf("s"), Kind: engine.KindStream, Shared: true})
	w.told("what is there", reader, ErrAtOnce)
	reader = w.ask(5, Wait{Keys: keysOf("s"), Kind: engine.KindStream, Shared: true, Tried: true})
	first, second := group(0, true, false), group(1, true, false)
	w.working.Wait()
	w.waiters.gone(0, []byte("s"))
	w.told("the oldest", first, nil)
	w.told("the next one", second, nil)
	first = group(0, true, false)
	w.silent("who found its group", first)
	w.waiters.gone(0, []byte("s"))
	w.told("the oldest, again", first, nil)
	w.told("who was away", group(1, true, false), nil)
	w.silent("who reads alone", reader)
	// A whole database has gone.
	w.LeaveWait(WaiterID{1, 0})
	w.working.Wait()
	second = group(1, true, false)
	w.silent("who found its group", second)
	w.machine.Keyspace().Flush(0, 2)
	w.waiters.swapped(0)
	w.working.Wait()
	w.told("after a flush", second, nil)
	w.LeaveWait(WaiterID{1, 1})
	w.told("who comes when there is no stream", group(7, false, false), ErrAtOnce)
	w.silent("who reads alone", reader)
}

// Groups have entries of their own: who comes tries at once, though another waits
// already; but it takes nothing from those who waited before.
func TestEachTriesForItsOwnGroup(t *testing.T) {
	w := newWaiting(t)
	w.put("s", engine.KindStream)
	group := func(n uint64, tried bool) chan error {
		return w.ask(n, Wait{Keys: keysOf("s"), Kind: engine.KindStream, Tried: tried})
	}
	w.told("who comes first", group(1, false), ErrAtOnce)
	first := group(1, true)
	w.told("who comes second", group(2, false), ErrAtOnce)
	second := group(2, true)
	w.silent("the first, of whose group nothing is known", first)
	w.waiters.filled(0, []byte("s"), engine.KindStream)
	w.told("the first", first, nil)
	third := group(3, false)
	w.silent("who comes while the first tries", third)
	first = group(1, true)
	w.told("who came while the first tried", third, ErrAtOnce)
	w.silent("the first", first)
	w.silent("the second", second)
	// Who could not try is told again.
	w.told("who could not try", group(3, false), ErrAtOnce)
}

// What is new to one group is new to each: who waits first in each has a turn, those
// behind him when he leaves, and who finds nothing holds up his own group alone.
func TestEachGroupHasATurn(t *testing.T) {
	w := newWaiting(t)
	w.put("s", engine.KindStream)
	group := func(n uint64, name string, tried bool) chan error {
		return w.ask(n, Wait{Keys: keysOf("s", "t"), Kind: engine.KindStream, Group: []byte(name), Tried: tried})
	}
	var waiting []chan error
	names := []string{"one", "one", "two", "two"}
	for n, name := range names {
		w.told("who comes", group(uint64(n), name, false), ErrAtOnce)
		waiting = append(waiting, group(uint64(n), name, true))
	}
	w.waiters.filled(0, []byte("s"), engine.KindStream)
	w.told("the first of one group", waiting[0], nil)
	w.told("the first of the other", waiting[2], nil)
	w.silent("the second of one group", waiting[1])
	w.LeaveWait(WaiterID{1, 0})
	w.told("the second, for something may be left", waiting[1], nil)
	w.working.Wait()
	waiting[1] = group(1, "one", true)
	waiting[2] = group(2, "two", true)
	w.silent("the second of the other", waiting[3])
	// A newcomer of a group that nobody serves waits for no other.
	w.waiters.filled(0, []byte("t"), engine.KindStream)
	w.told("of another stream, too", waiting[1], nil)
	w.told("a newcomer", group(4, "three", false), ErrAtOnce)
	w.waiters.gone(0, []byte("s"))
	w.told("when the stream goes", waiting[3], nil)
	for n := range uint64(5) {
		w.LeaveWait(WaiterID{1, n})
	}
	w.working.Wait()
	if w.waiters.places != 0 || len(w.waiters.keys) != 0 || len(w.waiters.groups) != 0 {
		t.Errorf("%d places, %d keys, %d streams with groups are left", w.waiters.places, len(w.waiters.keys), len(w.waiters.groups))
	}
}

// TestManySwapsAreOneLook: however often databases are swapped, their keys are
// looked at once, or once more. Each swap held up the log to list them, and left
// the list to a goroutine of its own.
func TestManySwapsAreOneLook(t *testing.T) {
	const n, swaps = 20_000, 2000
	w := newWaiting(t)
	var keys [][]byte
	for i := range n {
		keys = append(keys, fmt.Appendf(nil, "key%d", i))
	}
	other := w.ask(2, Wait{DB: 1, Keys: keysOf("key7")})
	waiting := w.ask(1, Wait{Keys: keys})
	w.working.Wait()
	w.put("key7", engine.KindList)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range swaps {
		w.waiters.swapped(0)
	}
	runtime.ReadMemStats(&after)
	// A list has some thirty bytes for each key. While the swaps are told, their keys may be
	// looked at several times.
	if got := after.TotalAlloc - before.TotalAlloc; got > 8*swaps*n {
		t.Errorf("%d swaps allocated %d MB", swaps, got>>20)
	}
	w.told("who waits in it", waiting, nil)
	w.silent("who waits in another database", other)
	// What it did not take, nor anybody else, is offered again by the next swap. Where
	// they were looked at once more it was while it tried.
	waiting = w.ask(1, Wait{Keys: keys, Tried: true})
	w.working.Wait()
	if len(waiting) > 0 {
		w.told("who tried meanwhile", waiting, nil)
		waiting = w.ask(1, Wait{Keys: keys, Tried: true})
	}
	w.silent("who found nothing", waiting)
	w.waiters.swapped(0)
	w.told("who found nothing, when all is another", waiting, nil)
}
