package shard

import "testing"

// All clients that only read are told at the same time, wherever they are in the queue.
func TestReadersAreToldTogether(t *testing.T) {
	w := newWaiting(t)
	w.do("xgroup create s g $ mkstream")
	a := w.client("xread block 0 streams s 0")
	w.want("a client that comes upon a stream", a.ask(), "to try at once")
	a.req.Tried = true
	w.want("who found nothing", a.ask(), "to renew")
	told := a.ask()
	b := w.waits("xread block 0 streams none none2 0 0")
	taker := w.waits("xreadgroup group g ann block 0 streams s >")
	w.silent("one", told)
	w.do("xadd s 1-1 f v")
	w.want("one", told, "to try")
	w.want("who takes", taker, "*1 *2 $1 s *1 *2 $3 1-1 *2 $1 f $1 v")
	w.silent("a client that waits for another stream", b)
	w.do("xadd none 1-1 f v")
	w.want("a client that waits for another stream", b, "to try")
}

// An entry that comes while a reader tries, or between two requests, is not lost.
func TestWhatComesBetweenTwoRequestsCounts(t *testing.T) {
	w := newWaiting(t)
	c := w.client("xread block 0 streams s 0")
	told := c.waits()
	w.do("xadd s 1-1 f v")
	w.want("the reader", told, "to try")
	w.do("xadd s 2-1 f v")
	c.req.Tried = true
	w.want("filled while it tried", c.ask(), "to try")
	told = c.ask()
	w.silent("who found nothing", told)
	w.waiters.looker.swapped(0)
	w.want("when all is another", told, "to try")
	// A client that could not try is told again.
	c.req.Tried = false
	w.want("who could not try", c.ask(), "to try at once")
	w.LeaveWait(c.req.ID)
	if w.Waiting() != 0 || len(w.waiters.table.keys) != 0 {
		t.Errorf("%d waiters, %d keys are left", w.Waiting(), len(w.waiters.table.keys))
	}
}
