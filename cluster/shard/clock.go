package shard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster/clock"
	"lockstep/cluster/raftio"
	"lockstep/cluster/stepper"
	"lockstep/engine/command"
	"lockstep/fsm"
)

const (
	// followEvery is how often a leader compares the time of day with what a majority of the voters say.
	followEvery = 250 * time.Millisecond
	// beginWithin is how long a leader that does not know the log time waits for a majority to say what the time is.
	// The voters that elected it can be asked, so this is for what should not be.
	beginWithin = 5 * time.Second
	// clockLimitUsual is Config.ClockLimit where nothing else is wanted.
	clockLimitUsual = 500 * time.Millisecond
	// jumpWorthTelling is by how much the log time may have gone on without a leader before it is told.
	jumpWorthTelling = time.Hour
)

// logClock is the log time of this replica (package clock), for several goroutines.
type logClock struct {
	mu  sync.Mutex // guards log, read, monoUs
	log clock.Log
	// read and monoUs are the same moment on Go's clock, which is cheap to read and stands still while the machine is
	// suspended, and on the monotonic clock that does not.
	read   time.Time
	monoUs int64

	// following is the loop that compares the time of day with what a majority says.
	following *stepper.Stepper
	// set counts how often this leader has set the time of day.
	set atomic.Uint64
}

func (c *logClock) init() {
	c.following = stepper.New()
	c.sync()
}

// sync reads the clock that runs in suspend.
func (c *logClock) sync() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.monoUs = time.Now(), raftio.Now().Microseconds()
}

func (c *logClock) monoAtLocked(now time.Time) int64 {
	return c.monoUs + now.Sub(c.read).Microseconds()
}

// at is the log time in milliseconds where the last entry that was applied bears stampMs. As long as this process does
// not know the log time that is the last stamp.
func (c *logClock) at(now time.Time, stampMs int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.log.Begun() {
		return stampMs
	}
	monoUs := c.monoAtLocked(now)
	c.log.Raise(monoUs, clock.FromMs(stampMs))
	return clock.ToMs(c.log.At(monoUs))
}

func (c *logClock) begun() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Begun()
}

// nowMs is the log time by which this replica stamps entries, where it leads.
func (s *Shard) nowMs() int64 { return s.clock.at(time.Now(), s.machine.StampMs()) }

// voterClocks asks what a majority of the group's voters say the time is.
func (s *Shard) voterClocks() clock.Now {
	if s.cfg.Clocks == nil {
		return clock.Alone(raftio.Now().Microseconds(), time.Now().UnixMicro())
	}
	voters := s.group.latest.Load().Voters()
	ids := make([]string, len(voters))
	for i, id := range voters {
		ids[i] = string(id)
	}
	return s.cfg.Clocks(ids)
}

// beginClock waits until the log time of a term is known that this node leads. The log must have been applied up to
// this term's beginning: the last stamp and the offset of the time of day are in it.
func (s *Shard) beginClock(term uint64) bool {
	for began := time.Now(); ; pause(s.ctx, 5*time.Millisecond) {
		if !s.group.IsLeader() || s.group.Term() != term || s.ctx.Err() != nil {
			return false
		}
		now, alone := s.voterClocks(), time.Since(began) >= beginWithin
		stampMs := s.machine.StampMs()
		c := &s.clock
		c.mu.Lock()
		knew := c.log.Begun()
		begun := c.log.Begin(&now, clock.FromMs(s.machine.DayOffsetMs()), clock.FromMs(stampMs), alone)
		passedMs := clock.ToMs(c.log.At(now.MonoUs)) - stampMs
		c.mu.Unlock()
		if !begun {
			continue
		}
		switch {
		case knew:
		case alone && !now.Known():
			s.cfg.Log.Warn("no majority of the voters says what the time is; the log time goes on from the last stamp", "shard", s.ID())
		case stampMs != 0 && passedMs >= jumpWorthTelling.Milliseconds():
			s.cfg.Log.Warn("the log time goes on after a while without a leader; what was due meanwhile is due now",
				"shard", s.ID(), "while", time.Duration(passedMs)*time.Millisecond)
		}
		return true
	}
}

// clockLoop keeps the time of day as a majority of the voters say it is, while this node leads.
func (s *Shard) clockLoop() {
	s.clock.following.Run(s.ctx, func(ctx context.Context) time.Duration {
		s.clock.sync()
		if !s.Leads() {
			return idleEvery
		}
		s.followClocks(ctx)
		return followEvery
	})
}

func (s *Shard) followClocks(ctx context.Context) {
	now, limit := s.voterClocks(), clockLimitUsual
	if s.cfg.ClockLimit != nil {
		limit = s.cfg.ClockLimit()
	}
	offset := clock.FromMs(s.machine.DayOffsetMs())
	s.clock.mu.Lock()
	s.clock.log.Raise(now.MonoUs, clock.FromMs(s.machine.StampMs()))
	wanted, due := s.clock.log.Follow(&now, offset, limit.Microseconds())
	s.clock.mu.Unlock()
	if due {
		// Where it fails leadership was lost, or the shard is busy: it is tried again.
		_ = s.setDay(ctx, wanted)
	}
}

// setDay puts the offset of the time of day into the log, in microseconds.
func (s *Shard) setDay(ctx context.Context, offsetUs int64) error {
	wasMs := s.machine.DayOffsetMs()
	ms := min(max(clock.ToMs(offsetUs), -command.DayOffsetMsMax), command.DayOffsetMsMax)
	if ms == wasMs {
		return nil
	}
	if err := s.proposeOwn(ctx, fsm.SetDay(ms)); err != nil {
		return err
	}
	s.clock.set.Add(1)
	s.cfg.Log.Warn("the time of day of a shard was set, as a majority of the voters' clocks show it; times to live are as before",
		"shard", s.ID(), "by", time.Duration(ms-wasMs)*time.Millisecond)
	return nil
}

// ErrNoMajority: too few voters have said what their clocks show.
var ErrNoMajority = errors.New("no majority of the shard's voters says what the time is")

// AdoptDay sets the time of day to what a majority of the voters say, at once and however little that is. It returns
// by how much. The node must lead.
func (s *Shard) AdoptDay(ctx context.Context) (by time.Duration, err error) {
	now := s.voterClocks()
	if !now.Known() {
		return 0, ErrNoMajority
	}
	offset := clock.FromMs(s.machine.DayOffsetMs())
	s.clock.mu.Lock()
	away := s.clock.log.Away(&now, offset)
	s.clock.mu.Unlock()
	err = s.setDay(ctx, offset-away)
	return -time.Duration(away) * time.Microsecond, err
}

// HearTime takes over the log time that a node told between two moments of the monotonic clock, if that is the shard's
// leader.
func (s *Shard) HearTime(node string, t clock.LogTime, sentUs, gotUs int64) {
	term, leads := s.group.Leadership()
	if leader, _ := s.group.Leader(); leads || term != t.Term || string(leader) != node {
		return
	}
	s.clock.mu.Lock()
	s.clock.log.Hear(gotUs, t.RunUs, gotUs-sentUs)
	s.clock.mu.Unlock()
}

// LogTime is the log time of a shard that this node leads. It returns false if it does not, or does not
// know it yet.
func (s *Shard) LogTime() (clock.LogTime, bool) {
	term := s.readyTerm.Load()
	if term == 0 || !s.Leads() {
		return clock.LogTime{}, false
	}
	stampUs := clock.FromMs(s.machine.StampMs())
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	monoUs := s.clock.monoAtLocked(time.Now())
	s.clock.log.Raise(monoUs, stampUs)
	return clock.LogTime{Shard: s.ID(), Term: term, RunUs: s.clock.log.At(monoUs)}, true
}

// TimesDaySet is how often this replica has set the time of day.
func (s *Shard) TimesDaySet() uint64 { return s.clock.set.Load() }

// DayStatus is how the time of day of a shard stands, at its leader.
type DayStatus struct {
	// OffsetMs leads from the log time to the time of day.
	OffsetMs int64
	// Known reports whether a majority of the voters says what the time is, AwayMs by how much the time of day is
	// ahead of that; negative: behind.
	Known  bool
	AwayMs float64
}

// Day tells how the time of day stands.
func (s *Shard) Day() DayStatus {
	now := s.voterClocks()
	d := DayStatus{OffsetMs: s.machine.DayOffsetMs(), Known: now.Known()}
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	if d.Known && s.clock.log.Begun() {
		d.AwayMs = float64(s.clock.log.Away(&now, clock.FromMs(d.OffsetMs))) / 1000
	}
	return d
}
