package clock

import (
	"math/rand/v2"
	"testing"
)

const (
	second  = int64(1_000_000)
	limit   = second / 2
	someDay = 1_700_000_000 * second
)

// leader is a leader in synthetic time: what its majority says, its own clocks, and its log time.
type leader struct {
	t   *testing.T
	log Log
	// trueUs is the true time, rate how many parts per million the monotonic clock runs faster.
	trueUs, monoUs, rate int64
	// majority and own are how far the majority's clocks and this node's are from the true time.
	majority, own int64
	offset        int64
	orders        int
	last          int64
}

func newLeader(t *testing.T, majority, own, stampUs int64) *leader {
	l := &leader{t: t, trueUs: someDay, monoUs: 77 * second, majority: majority, own: own}
	if !l.log.Begin(l.now(), 0, stampUs, false) {
		t.Fatal("the log time does not begin")
	}
	l.last = l.run()
	return l
}

func (l *leader) now() *Now {
	w := l.trueUs + l.majority
	return &Now{MonoUs: l.monoUs, OwnUs: l.trueUs + l.own, LeastUs: w - 1000, MostUs: w + 1000}
}

func (l *leader) run() int64 { return l.log.At(l.monoUs) }
func (l *leader) day() int64 { return l.run() + l.offset }

// pass lets time pass, in steps of a quarter of a second, and applies the offsets that Follow
// returns.
func (l *leader) pass(us int64) {
	l.t.Helper()
	const step = second / 4
	for ; us > 0; us -= step {
		l.trueUs += step
		l.monoUs += step + step*l.rate/1_000_000
		if now := l.run(); now < l.last {
			l.t.Fatalf("the log time runs backwards by %d us", l.last-now)
		}
		l.last = l.run()
		if offset, set := l.log.Follow(l.now(), l.offset, limit); set {
			l.offset = offset
			l.orders++
		}
		if l.run() != l.last {
			l.t.Fatalf("to follow moves the log time by %d us", l.run()-l.last)
		}
	}
}

func (l *leader) within(what string, got, want, tolerance int64) {
	l.t.Helper()
	if off := got - want; off < -tolerance || off > tolerance {
		l.t.Errorf("%s: %d us off", what, off)
	}
}

// A leader whose own clock is wrong by an hour, or by years, begins at the time that the majority
// reports, and follows it.
func TestAWrongClockOfTheLeaderMovesNothing(t *testing.T) {
	for _, own := range []int64{hour, -hour, 10 * 365 * 24 * hour, -50 * 365 * 24 * hour} {
		l := newLeader(t, 0, own, someDay-5*second)
		l.within("at first", l.day(), l.trueUs, 1000)
		l.pass(hour)
		l.within("after an hour", l.day(), l.trueUs, 1000)
		l.within("what passed", l.run(), someDay+hour, 2000)
		if l.orders != 0 {
			t.Errorf("%d orders", l.orders)
		}
	}
}

// The clocks of a majority are set while a leader runs: no time to live changes, and the time of
// day is right within seconds, in both directions.
func TestClocksThatAreSetChangeTheTimeOfDayAndNoTimeToLive(t *testing.T) {
	for _, jump := range []int64{hour, -hour, 10 * 365 * 24 * hour, 600_000, -600_000} {
		l := newLeader(t, 0, 0, 0)
		l.pass(10 * second)
		l.majority, l.own = jump, jump
		l.pass(5 * second)
		l.within("the time of day", l.day(), l.trueUs+jump, 2000)
		l.within("the log time", l.run(), l.trueUs, 2000)
		if l.orders != 1 {
			t.Errorf("%d orders", l.orders)
		}
		l.majority, l.own = 0, 0
		l.pass(hour)
		l.within("the time of day, when they are set back", l.day(), l.trueUs, 2000)
		l.within("the log time then", l.run(), l.trueUs, 4000)
		if l.orders != 2 {
			t.Errorf("%d orders", l.orders)
		}
	}
}

// A clock that jumps and jumps back within sureAfterUs changes nothing.
func TestAJumpThatDoesNotLastChangesNothing(t *testing.T) {
	l := newLeader(t, 0, 0, 0)
	for range 10 {
		l.majority, l.own = hour, hour
		l.pass(second)
		l.majority, l.own = 0, 0
		l.pass(second)
	}
	if l.orders != 0 || l.offset != 0 {
		t.Errorf("%d orders, to %d", l.orders, l.offset)
	}
	l.within("the log time", l.run(), l.trueUs, 2000)
}

// Clocks that are a little off are followed without a jump: a time to live ends early by less than
// half a percent, or late by an eighth.
func TestClocksThatAreALittleOffAreFollowedSlowly(t *testing.T) {
	l := newLeader(t, 0, 0, 0)
	l.majority, l.own = 400_000, 400_000
	l.pass(10 * second)
	l.within("after ten seconds", l.run(), l.trueUs+10*second/fasterBy, 3000)
	l.pass(120 * second)
	l.within("in the end", l.day(), l.trueUs+400_000, 1000)
	l.majority, l.own = 0, 0
	l.pass(second)
	l.within("back after a second", l.day(), l.trueUs+400_000-second/slowerBy, 35_000)
	l.pass(4 * second)
	l.within("back in the end", l.day(), l.trueUs, 1000)
	if l.orders != 0 {
		t.Errorf("%d orders", l.orders)
	}
}

// A log that was stamped ten years ahead continues from its stamp, because it never runs backwards.
// The time of day is set back, and the remaining times to live stay.
func TestALogFromTheFutureKeepsItsTimeAndGetsItsDay(t *testing.T) {
	const years = 10 * 365 * 24 * hour
	l := newLeader(t, 0, 0, someDay+years)
	l.within("at first", l.run(), someDay+years, 0)
	l.pass(5 * second)
	l.within("the time of day", l.day(), l.trueUs, 2000)
	l.within("the log time", l.run(), l.trueUs+years, 2000)
}

// Days without a leader count: the next leader begins at the time that a majority reports, not at
// the last stamp.
func TestTimeWithoutALeaderCounts(t *testing.T) {
	l := newLeader(t, 0, -hour, someDay-72*hour)
	l.within("at first", l.run(), someDay, 1000)
	if l.orders != 0 {
		t.Errorf("%d orders", l.orders)
	}
}

// If two clocks disagree and no third one decides, the log time begins at the earlier one, because
// a time that is too late deletes keys. It continues without a correction.
func TestADisagreementDeletesNothing(t *testing.T) {
	for _, own := range []int64{0, hour} {
		now := &Now{MonoUs: second, OwnUs: someDay + own, LeastUs: someDay, MostUs: someDay + hour}
		var l Log
		l.Begin(now, 0, someDay-second, false)
		if got := l.At(second); got != someDay {
			t.Errorf("it begins %d us from the earlier one", got-someDay)
		}
		for s := range int64(100) {
			now := &Now{MonoUs: (1 + s) * second, OwnUs: someDay + own + s*second, LeastUs: someDay + s*second, MostUs: someDay + hour + s*second}
			if _, set := l.Follow(now, 0, limit); set {
				t.Fatal("an order")
			}
		}
		if got := l.At(100 * second); got != someDay+99*second {
			t.Errorf("it is %d us off", got-someDay-99*second)
		}
	}
}

// Without a majority a leader waits, and in the end continues from the last stamp.
func TestWithoutAMajorityTheLastStampCounts(t *testing.T) {
	now := &Now{MonoUs: second, OwnUs: someDay + hour, LeastUs: Never, MostUs: Always}
	var l Log
	if l.Begin(now, 0, someDay, false) || l.Begun() {
		t.Error("it begins without a word of anybody")
	}
	if !l.Begin(now, 0, someDay, true) || l.At(second) != someDay {
		t.Errorf("it begins at %d", l.At(second))
	}
	l = Log{}
	if !l.Begin(now, 0, 0, true) || l.At(second) != someDay+hour {
		t.Errorf("without a stamp it begins at %d", l.At(second))
	}
	if _, set := l.Follow(now, 0, limit); set {
		t.Error("an order without a majority")
	}
}

// A leader's monotonic clock may be fast or slow. The drift of real clocks has no visible effect. A
// clock that is ten percent fast is slowed down enough, and one that is ten percent slow makes
// times to live longer, not shorter.
func TestAMonotonicClockThatDrifts(t *testing.T) {
	for _, ppm := range []int64{-500, 500, -3000, 3000, 100_000, -100_000} {
		l := newLeader(t, 0, 0, 0)
		l.rate = ppm
		l.pass(hour)
		l.within("the time of day", l.day(), l.trueUs, limit+hour/1000)
		early := l.run() - l.trueUs
		late := int64(2000)
		if ppm == -100_000 {
			late = hour / 8
		}
		if early > 35_000 || early < -late {
			t.Errorf("%d ppm: the log time is %d us ahead", ppm, early)
		}
	}
}

// A replica that knows the leader's log time continues from there, whatever the clocks show, and
// however old the last stamp is.
func TestAReplicaGoesOnFromWhatItsLeaderTold(t *testing.T) {
	var l Log
	l.Hear(10*second, someDay, 300)
	if got := l.At(70 * second); got != someDay+60*second {
		t.Errorf("after a minute it is %d us off", got-someDay-60*second)
	}
	if !l.Begin(&Now{MonoUs: 70 * second, OwnUs: someDay + hour, LeastUs: someDay + hour, MostUs: someDay + hour}, 0, someDay-hour, false) || l.At(70*second) != someDay+60*second {
		t.Error("then it begins anew")
	}
	// A later report is more exact, or less.
	l.Hear(71*second, someDay+61*second-400, 800)
	if got := l.At(71 * second); got != someDay+61*second {
		t.Errorf("told without a contradiction it is %d us off", got-someDay-61*second)
	}
	l.Hear(72*second, someDay+50*second, 100)
	if got := l.At(72 * second); got != someDay+50*second+100 {
		t.Errorf("told that it is earlier it is %d us off", got-someDay-50*second)
	}
	l.Hear(73*second, someDay+90*second, 100)
	if got := l.At(73 * second); got != someDay+90*second {
		t.Errorf("told that it is later it is %d us off", got-someDay-90*second)
	}
}

// Follow may compare old readings, if its goroutine was held up. Time must not pass twice.
func TestOldReadingsMoveNothing(t *testing.T) {
	l := newLeader(t, 0, 0, 0)
	old := l.now()
	l.pass(5 * second)
	l.log.Raise(l.monoUs, l.run()+1000)
	run := l.run()
	l.log.Follow(old, 0, limit)
	if got := l.run(); got != run {
		t.Errorf("the log time goes on by %d us", got-run)
	}
}

func TestTheLogTimeIsNeverBeforeAStamp(t *testing.T) {
	l := newLeader(t, 0, 0, 0)
	l.majority, l.own = -100_000, -100_000
	l.pass(second)
	l.log.Raise(l.monoUs, l.run()+10*second)
	l.last = l.run()
	l.within("raised", l.run(), l.trueUs+10*second-second/slowerBy, 35_000)
	l.log.Raise(l.monoUs, l.run()-second)
	if l.run() != l.last {
		t.Error("a stamp of before moves it")
	}
	l.pass(10 * second)
	l.within("the time of day", l.day(), l.trueUs-100_000, 3000)
}

// Whatever the clocks do, the log time runs neither backwards nor faster than allowed.
func TestTheLogTimeRunsOnWhateverTheClocksDo(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		l := newLeader(t, 0, 0, 0)
		for range 200 {
			switch r.IntN(4) {
			case 0:
				l.majority = r.Int64N(4*hour) - 2*hour
			case 1:
				l.majority = r.Int64N(4*second) - 2*second
			case 2:
				l.own = l.majority
			case 3:
				l.own = r.Int64N(4*hour) - 2*hour
			}
			run, mono := l.run(), l.monoUs
			l.pass(r.Int64N(10 * second))
			if ran, passed := l.run()-run, l.monoUs-mono; ran > passed+passed/fasterBy+1 || ran < passed-passed/slowerBy-1 {
				t.Fatalf("in %d us the log time went on by %d", passed, ran)
			}
		}
		l.pass(10 * second)
		if away := l.day() - l.trueUs - l.majority; away < -limit-5000 || away > limit+5000 {
			t.Fatalf("in the end the time of day is %d us off", away)
		}
	}
}
