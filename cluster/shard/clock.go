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
	// followEvery is how often a leader compares the time of day with the time that a
	// majority of the voters report.
	followEvery = 250 * time.Millisecond
	// knownWithin is how long a leader that does not know the log time waits until a
	// majority reports the time. The voters that elected the leader can be asked, so the
	// wait should never be that long.
	knownWithin = 5 * time.Second
	// clockLimitUsual is used if Config.ClockLimit is nil.
	clockLimitUsual = 500 * time.Millisecond
	// jumpWorthTelling is the jump of the log time, after a while without a leader, from
	// which on it is logged.
	jumpWorthTelling = time.Hour
)

// Clock is the log time of a replica (package clock), and at the leader the time of day that
// follows from it. Several goroutines may use it.
type Clock struct {
	shard *Shard
	mu    sync.Mutex // guards log, read, monoUs
	log   clock.Log
	// read and monoUs are the same moment on two clocks: Go's, which is cheap to read and
	// stands still while the machine is suspended, and the monotonic clock that does not
	// stand still.
	read   time.Time
	monoUs int64

	// following is the loop that compares the time of day with the time that a majority
	// reports.
	following *stepper.Stepper
	// set counts how often this leader has set the time of day.
	set atomic.Uint64
}

func (c *Clock) init(s *Shard) {
	c.shard = s
	c.following = stepper.New()
	c.sync()
}

// sync reads the clock that runs while the machine is suspended.
func (c *Clock) sync() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read, c.monoUs = time.Now(), raftio.Now().Microseconds()
}

func (c *Clock) monoAtLocked(now time.Time) int64 {
	return c.monoUs + now.Sub(c.read).Microseconds()
}

// at is the log time in milliseconds. stampMs is the stamp of the last entry that was
// applied. It is the result as long as this process does not know the log time.
func (c *Clock) at(now time.Time, stampMs int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.log.Begun() {
		return stampMs
	}
	monoUs := c.monoAtLocked(now)
	c.log.Raise(monoUs, clock.FromMs(stampMs))
	return clock.ToMs(c.log.At(monoUs))
}

func (c *Clock) begun() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.Begun()
}

// Clock is the log time of this replica.
func (s *Shard) Clock() *Clock { return &s.clock }

// nowMs is the log time with which this replica stamps entries if it leads.
func (c *Clock) nowMs() int64 { return c.at(time.Now(), c.shard.machine.StampMs()) }

// voterClocks asks for the time that a majority of the group's voters report.
func (c *Clock) voterClocks() clock.Now {
	s := c.shard
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

// awaitKnown waits until the log time is known for a term that this node leads. The log
// must have been applied up to the start of this term, because it holds the last stamp
// and the offset of the time of day.
func (c *Clock) awaitKnown(term uint64) bool {
	s := c.shard
	for began := time.Now(); ; pause(s.ctx, 5*time.Millisecond) {
		if !s.group.IsLeader() || s.group.Term() != term || s.ctx.Err() != nil {
			return false
		}
		now, alone := c.voterClocks(), time.Since(began) >= knownWithin
		stampMs := s.machine.StampMs()
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

// loop keeps the time of day at the time that a majority of the voters report, while
// this node leads.
func (c *Clock) loop() {
	c.following.Run(c.shard.ctx, func(ctx context.Context) time.Duration {
		c.sync()
		if !c.shard.Leads() {
			return idleEvery
		}
		c.follow(ctx)
		return followEvery
	})
}

// follow sets the time of day if it is too far from the time that a majority reports.
func (c *Clock) follow(ctx context.Context) {
	s := c.shard
	now, limit := c.voterClocks(), clockLimitUsual
	if s.cfg.ClockLimit != nil {
		limit = s.cfg.ClockLimit()
	}
	offset := clock.FromMs(s.machine.DayOffsetMs())
	c.mu.Lock()
	c.log.Raise(now.MonoUs, clock.FromMs(s.machine.StampMs()))
	wanted, due := c.log.Follow(&now, offset, limit.Microseconds())
	c.mu.Unlock()
	if due {
		// If this fails, this node has lost the lead or the shard is busy. The loop tries
		// again.
		_ = c.setDay(ctx, wanted)
	}
}

// setDay puts the offset of the time of day into the log, in microseconds.
func (c *Clock) setDay(ctx context.Context, offsetUs int64) error {
	s := c.shard
	wasMs := s.machine.DayOffsetMs()
	ms := min(max(clock.ToMs(offsetUs), -command.DayOffsetMsMax), command.DayOffsetMsMax)
	if ms == wasMs {
		return nil
	}
	if err := s.proposer.own(ctx, fsm.SetDay(ms)); err != nil {
		return err
	}
	c.set.Add(1)
	s.cfg.Log.Warn("the time of day of a shard was set, as a majority of the voters' clocks show it; times to live are as before",
		"shard", s.ID(), "by", time.Duration(ms-wasMs)*time.Millisecond)
	return nil
}

// ErrNoMajority says that too few voters have reported the time on their clocks.
var ErrNoMajority = errors.New("no majority of the shard's voters says what the time is")

// AdoptDay sets the time of day to the time that a majority of the voters report, at once
// and however small the difference is. by is the change. The node must lead.
func (c *Clock) AdoptDay(ctx context.Context) (by time.Duration, err error) {
	now := c.voterClocks()
	if !now.Known() {
		return 0, ErrNoMajority
	}
	offset := clock.FromMs(c.shard.machine.DayOffsetMs())
	c.mu.Lock()
	away := c.log.Away(&now, offset)
	c.mu.Unlock()
	err = c.setDay(ctx, offset-away)
	return -time.Duration(away) * time.Microsecond, err
}

// HearTime adopts the log time from a node's answer, if that node is the shard's leader.
// sentUs and gotUs are the times of the question and of the answer, on the monotonic
// clock.
func (c *Clock) HearTime(node string, t clock.LogTime, sentUs, gotUs int64) {
	group := c.shard.group
	term, leads := group.Leadership()
	if leader, _ := group.Leader(); leads || term != t.Term || string(leader) != node {
		return
	}
	c.mu.Lock()
	c.log.Hear(gotUs, t.RunUs, gotUs-sentUs)
	c.mu.Unlock()
}

// LogTime is the log time of a shard that this node leads. It returns false if this node
// does not lead, or does not know the log time yet.
func (c *Clock) LogTime() (clock.LogTime, bool) {
	s := c.shard
	term := s.readyTerm.Load()
	if term == 0 || !s.Leads() {
		return clock.LogTime{}, false
	}
	stampUs := clock.FromMs(s.machine.StampMs())
	c.mu.Lock()
	defer c.mu.Unlock()
	monoUs := c.monoAtLocked(time.Now())
	c.log.Raise(monoUs, stampUs)
	return clock.LogTime{Shard: s.ID(), Term: term, RunUs: c.log.At(monoUs)}, true
}

// TimesDaySet is how often this replica has set the time of day.
func (c *Clock) TimesDaySet() uint64 { return c.set.Load() }

// DayStatus is the state of a shard's time of day, at its leader.
type DayStatus struct {
	// OffsetMs is the time of day minus the log time.
	OffsetMs int64
	// Known reports whether a majority of the voters report a time. AwayMs is how far the
	// time of day is ahead of that time. It is negative if the time of day is behind.
	Known  bool
	AwayMs float64
}

// Day returns the state of the time of day.
func (c *Clock) Day() DayStatus {
	now := c.voterClocks()
	d := DayStatus{OffsetMs: c.shard.machine.DayOffsetMs(), Known: now.Known()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.Known && c.log.Begun() {
		d.AwayMs = float64(c.log.Away(&now, clock.FromMs(d.OffsetMs))) / 1000
	}
	return d
}
