package users

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"lockstep/proto/acl"
)

// TestUsersThatNobodyConfirmsAreDoubted: the doubt begins on time, also while a request hangs, and
// ends with the next answer.
func TestUsersThatNobodyConfirmsAreDoubted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		type change struct {
			at    time.Duration
			doubt acl.Doubt
		}
		var changes []change
		var cut atomic.Bool
		d := &doubter{
			now:    func() time.Duration { return time.Since(begin) },
			bounds: func() doubtBounds { return doubtBounds{admin: time.Minute, all: time.Hour} },
			confirm: func(ctx context.Context) error {
				if !cut.Load() {
					return nil
				}
				<-ctx.Done() // while the node is cut off no answer comes
				return ctx.Err()
			},
			cast: func(d acl.Doubt) { changes = append(changes, change{time.Since(begin), d}) },
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go d.run(ctx)
		wait := func(d time.Duration) { <-time.After(d); synctest.Wait() }
		wait(3 * time.Hour)
		if len(changes) > 0 {
			t.Fatalf("doubted while the users were confirmed: %v", changes)
		}
		cut.Store(true)
		lost := time.Since(begin)
		wait(2 * time.Hour)
		cut.Store(false)
		healed := time.Since(begin)
		wait(10 * time.Second)
		got := []acl.Doubt{}
		for i, c := range changes {
			got = append(got, c.doubt)
			want := []time.Duration{lost + time.Minute, lost + time.Hour, healed + confirmAgain + confirmWait}[min(i, 2)]
			if c.at > want || c.at < want-confirmEvery {
				t.Errorf("%v at %v, not at %v", c.doubt, c.at, want)
			}
		}
		if want := []acl.Doubt{acl.DoubtAdmin, acl.DoubtAll, acl.NoDoubt}; !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
	})
}

// TestBoundsOfDoubt: a bound of 0 is no bound.
func TestBoundsOfDoubt(t *testing.T) {
	for _, c := range []struct {
		admin, all, age time.Duration
		doubt           acl.Doubt
		left            time.Duration
	}{
		{60, 600, 0, acl.NoDoubt, 60},
		{60, 600, 60, acl.DoubtAdmin, 540},
		{60, 600, 600, acl.DoubtAll, 0},
		{600, 60, 61, acl.DoubtAll, 539},
		{0, 600, 599, acl.NoDoubt, 1},
		{60, 0, 1 << 40, acl.DoubtAdmin, 0},
		{0, 0, 1 << 40, acl.NoDoubt, 0},
	} {
		if doubt, left := (doubtBounds{c.admin, c.all}).at(c.age); doubt != c.doubt || left != c.left {
			t.Errorf("%+v: %v for %d more", c, doubt, left)
		}
	}
}

// TestAnEarlierAnswerCountsFromItsQuestion: an answer does not contain changes that were made after
// its request.
func TestAnEarlierAnswerCountsFromItsQuestion(t *testing.T) {
	now := time.Hour
	d := &doubter{
		now: func() time.Duration { return now }, bounds: func() doubtBounds { return doubtBounds{} },
		confirm: func(context.Context) error { now += 4 * time.Second; return nil },
	}
	if d.ask(t.Context()); d.age() != 4*time.Second {
		t.Errorf("confirmed %v ago", d.age())
	}
	d.confirm = func(context.Context) error { now += time.Second; return errors.New("no leader") }
	if d.ask(t.Context()); d.age() != 5*time.Second {
		t.Errorf("confirmed %v ago", d.age())
	}
}
