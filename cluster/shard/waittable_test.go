package shard

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A waiter's next request, and an element, may come while its keys are put into the queues.
func TestAWaiterForManyKeysMissesNothing(t *testing.T) {
	w := newWaiting(t)
	var keys []string
	for i := range 100_000 {
		keys = append(keys, fmt.Sprint("key:", i))
	}
	c := w.client("blpop " + strings.Join(keys, " ") + " 0")
	one, entered := make(chan Result, 1), make(chan struct{})
	go func() {
		defer close(entered)
		w.Wait(c.req, nil, func(r Result) { one <- r })
	}()
	for w.Waiting() == 0 {
		runtime.Gosched()
	}
	pushed := w.shardWorld.propose(w.n, "rpush", keys[0], "x")
	two := c.ask()
	<-pushed
	<-entered
	answers := []string{said(<-one), said(<-two)}
	for answers[1] == "to renew" {
		answers[1] = said(<-c.ask())
	}
	w.same("what the requests are told", answers, []string{"to renew", popped(keys[0], "x")})
	w.same("LLEN", w.do("llen "+keys[0]), ":0")
}

// A wait for many keys does not delay other clients, and the places of all waits together are
// bounded.
func TestWaitsForManyKeys(t *testing.T) {
	w := newWaiting(t)
	var keys []string
	for i := range 200_000 {
		keys = append(keys, fmt.Sprint("key:", i%100_000))
	}
	many := w.client("blpop " + strings.Join(keys, " ") + " 0")
	told := many.waits()
	if w.waiters.table.places != 100_000 {
		t.Errorf("%d places", w.waiters.table.places)
	}
	w.waiters.table.placesMax = 100_002
	w.want("one too many", w.client("blpop a b c 0").ask(), "overloaded")
	fits := w.waits("xread block 0 streams a b 0 0")
	w.do("xadd b * f v")
	w.want("one that fits", fits, "to try")
	w.do("rpush key:99999 x")
	w.want("of the last key", told, popped("key:99999", "x"))
	w.settled()
	if w.waiters.table.places != 2 || len(w.waiters.table.keys) != 2 || w.Waiting() != 1 {
		t.Errorf("%d places, %d keys, %d waiters are left", w.waiters.table.places, len(w.waiters.table.keys), w.Waiting())
	}
}
