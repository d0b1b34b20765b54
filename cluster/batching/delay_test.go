package batching

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const (
	// slow is a batch that takes longer than clients need to come back.
	slow = time.Hour
	ms   = time.Millisecond
)

// patient waits for all but one of eight, as entries of a shard do.
var patient = Limits{Share: 2, Least: ms, Most: 4 * ms, Missing: 0.125, RestMax: 1024, Trust: 16}

// modest waits for a part of the time and is content with any, as writes of a journal do.
var modest = Limits{Share: 0.25, Most: time.Second, AnyIsEnough: true, RestMax: 64, Trust: 1}

// starts begins a wait, for n requests that have landed and some that wait.
func starts(d *Delay, n, waiting int, took time.Duration) bool {
	d.Landed(time.Now().Add(-took), n, waiting, true)
	return d.Start(waiting)
}

// passes lets synthetic time pass.
func passes(took time.Duration) {
	<-time.After(took)
	synctest.Wait()
}

func TestABatchWaitsForThoseJustAnswered(t *testing.T) {
	d := New(patient, func() {})
	if d.Full(5) || d.Late(5) {
		t.Error("nobody waits, and a wait ends")
	}
	if starts(d, 1, 0, slow) || starts(d, 0, 4, slow) {
		t.Error("waits though nobody else is to come")
	}
	if !starts(d, 3, 1, slow) {
		t.Fatal("does not wait for three who were just answered")
	}
	if d.Full(3) || !d.Full(4) || d.Full(4) {
		t.Error("the wait does not end with the last, and once")
	}
	// One of eight may be late.
	for _, c := range []struct{ n, full int }{{8, 7}, {50, 44}} {
		if !starts(d, c.n, 0, slow) || d.Full(c.full-1) || !d.Full(c.full) {
			t.Errorf("of %d, the wait does not end with %d", c.n, c.full)
		}
	}
	d = New(modest, func() {})
	if !starts(d, 50, 0, slow) || d.Full(49) || !d.Full(50) {
		t.Error("nobody may be missing, and the wait does not end with the last")
	}
}

// Half is enough where a batch is quicker than clients.
func TestHalfIsEnoughIfClientsAreSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := func(pace time.Duration, half bool, waiting int) *Delay {
			d := New(patient, func() {})
			d.pace = pace
			d.Landed(time.Now().Add(-300*time.Microsecond), 25, waiting, half)
			if d.Start(waiting) {
				return d
			}
			return nil
		}
		if d := start(10*time.Microsecond, true, 15); d == nil || d.Full(19) || !d.Full(20) {
			t.Error("does not wait for half of forty")
		}
		if start(10*time.Microsecond, true, 25) != nil {
			t.Error("half is there, and it waits")
		}
		if d := start(time.Microsecond, true, 15); d == nil || d.Full(34) || !d.Full(35) {
			t.Error("clients are quicker, and it does not wait for all")
		}
		if d := start(10*time.Microsecond, false, 15); d == nil || d.Full(34) || !d.Full(35) {
			t.Error("half is not to be enough, and it does not wait for all")
		}
	})
}

// A wait lasts for its share of the last batch's time, within bounds, since that landed.
func TestAWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			limits            Limits
			took, since, wait time.Duration
		}{
			{patient, 100 * time.Microsecond, 0, ms},
			{patient, 1500 * time.Microsecond, 0, 3 * ms},
			{patient, slow, 0, 4 * ms},
			{modest, 8 * ms, 0, 2 * ms},
			{modest, 8 * ms, 1500 * time.Microsecond, 500 * time.Microsecond},
			{modest, 8 * ms, 2 * ms, 0},
			{modest, 0, 0, 0},
			{modest, slow, 0, time.Second},
		} {
			var late atomic.Int64
			d := New(c.limits, func() { late.Add(1) })
			d.Landed(time.Now().Add(-c.took), 2, 0, false)
			passes(c.since)
			if d.Start(0) != (c.wait > 0) {
				t.Errorf("%+v: waits, or does not", c)
			}
			if c.wait == 0 {
				continue
			}
			if passes(c.wait - 1); late.Load() != 0 {
				t.Errorf("%+v: over too early", c)
			}
			if passes(1); late.Load() != 1 || !d.Late(0) || d.Late(0) {
				t.Errorf("%+v: over %d times", c, late.Load())
			}
			// Nothing calls late once all have come, nor without a wait.
			d.rest = 0
			if !starts(d, 2, 0, slow) || !d.Full(2) {
				t.Errorf("%+v: does not wait again", c)
			}
			if passes(2 * slow); late.Load() != 1 {
				t.Errorf("%+v: late after the end", c)
			}
		}
	})
}

// The pace follows how fast clients come.
func TestThePaceIsLearnt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New(patient, func() {})
		for range 100 {
			starts(d, 12, 2, slow)
			passes(10 * ms)
			d.Late(7)
			d.rest = 0
		}
		if d.pace < 1900*time.Microsecond || d.pace > 2*ms {
			t.Errorf("five have come in 10 ms, again and again, and the pace is %v", d.pace)
		}
	})
}

// waits counts the batches that waited, and those that did so in vain. A wait ends with
// as many requests as came tells; 10 are wanted and 1 is there.
func waits(d *Delay, batches int, came func(wait int) int) (waited, lost int) {
	for range batches {
		d.Landed(time.Now().Add(-slow), 9, 1, false)
		if !d.Start(1) {
			continue
		}
		waited++
		n := came(waited)
		if d.Full(n) {
			continue
		}
		d.Late(n)
		if n == 1 {
			lost++
		}
	}
	return waited, lost
}

func none(int) int { return 1 }
func some(int) int { return 2 }
func all(int) int  { return 10 }

// Waits in vain are rare where clients do not come back, and so they stay where
// one pauses now and then.
func TestWaitsInVainBecomeRare(t *testing.T) {
	d := New(patient, func() {})
	for _, came := range []func(int) int{none, some} {
		if waited, _ := waits(d, 10_000, came); waited > 25 {
			t.Errorf("%d of 10000 batches waited in vain", waited)
		}
	}
	if waited, _ := waits(d, 100_000, all); waited < 90_000 {
		t.Errorf("clients come back, and %d of 100000 batches waited for them", waited)
	}
	pausing := func(wait int) int {
		if wait%4 == 0 {
			return none(wait)
		}
		return all(wait)
	}
	if _, lost := waits(d, 100_000, pausing); lost > 2_000 {
		t.Errorf("%d of 100000 batches waited in vain for clients that pause", lost)
	}
}

// Where any is enough, only a wait for which nobody came was in vain, and the next that
// comes makes up for all.
func TestAWaitIsOfUseIfAnyIsEnough(t *testing.T) {
	d := New(modest, func() {})
	if waited, _ := waits(d, 100, none); waited == 0 || waited > 10 {
		t.Errorf("%d of 100 batches waited in vain", waited)
	}
	waits(d, 64, some)
	if waited, _ := waits(d, 100, some); waited != 100 {
		t.Errorf("some come back, and %d of 100 batches waited for them", waited)
	}
	if waited, _ := waits(d, 3, none); waited != 2 {
		t.Errorf("%d of 3 batches waited, when nobody came any more", waited)
	}
}
