package users

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
	"lockstep/cluster/raftio"
	"lockstep/node/config"
	"lockstep/node/member"
	"lockstep/proto/acl"
)

// A node judges its clients by its own copy of the cluster's users. While it is cut off from the
// meta group's leader, it does not learn that a user was deleted. So it asks the leader every few
// seconds whether its copy is the newest, and refuses more and more while no answer comes:
// docs/decisions/0012-users-that-nobody-confirms.md.

// Verb asks the meta group's leader how often the users have changed.
const Verb = "users.changes"

// Serve answers Verb on the meta group's leader.
func Serve(m *member.Member) leaderrpc.Handler {
	return func(ctx context.Context, _ uint32, _ []byte) ([]byte, error) {
		if err := membership.NewReplica(m.MetaGroup).Confirm(ctx); err != nil {
			return nil, err
		}
		return json.Marshal(m.Machine.View().UserChanges)
	}
}

// confirm returns nil once this node has all changes of users that were made before the call.
func (u *Users) confirm(ctx context.Context) error {
	body, err := u.Member.LeaderRPC.Do(ctx, meta.GroupID, Verb, nil)
	if err != nil {
		return err
	}
	var changes uint64
	if err := json.Unmarshal(body, &changes); err != nil {
		return err
	}
	_, err = u.Member.Machine.Wait(ctx, func(v *meta.View) bool { return v.UserChanges >= changes })
	return err
}

// cast sets the doubt, and judges the clients again with it.
func (u *Users) cast(d acl.Doubt) {
	before := u.Users().Doubt()
	u.doubt.Store(uint32(d))
	u.rejudge()
	now := u.Users().Doubt()
	if now == before {
		return // doubt does not apply: clients need no password here
	}
	switch now {
	case acl.NoDoubt:
		u.Log.Info("the cluster has confirmed the users")
	case acl.DoubtAdmin:
		u.Log.Warn("nobody has confirmed the users for acl-stale-admin-ms; commands of @admin are refused")
	case acl.DoubtAll:
		u.Log.Warn("nobody has confirmed the users for acl-stale-ms; clients are refused")
	}
}

// doubtBounds are how old users may become without a confirmation. A bound of 0 means for ever.
type doubtBounds struct{ admin, all time.Duration }

func doubtBoundsOf(s *config.Settings) doubtBounds {
	return doubtBounds{time.Duration(s.ACLStaleAdminMs) * time.Millisecond, time.Duration(s.ACLStaleMs) * time.Millisecond}
}

// at returns the doubt for users of an age, and for how long it will last, or 0 if it lasts until
// the next confirmation.
func (b doubtBounds) at(age time.Duration) (d acl.Doubt, left time.Duration) {
	for _, step := range [...]struct {
		d     acl.Doubt
		bound time.Duration
	}{{acl.DoubtAdmin, b.admin}, {acl.DoubtAll, b.all}} {
		switch {
		case step.bound == 0:
		case age >= step.bound:
			d = step.d
		case left == 0 || step.bound-age < left:
			left = step.bound - age
		}
	}
	return d, left
}

const (
	// confirmEvery is how often the users are confirmed. If a bound is short, they are confirmed
	// more often, but with at least confirmPause in between.
	confirmEvery = 10 * time.Second
	confirmPause = 100 * time.Millisecond
	// confirmAgain is the pause after a request without an answer, confirmWait how long the node
	// waits for an answer.
	confirmAgain = time.Second
	confirmWait  = 5 * time.Second
)

// doubter confirms the users regularly, and decides which doubt applies to them.
type doubter struct {
	now     func() time.Duration
	bounds  func() doubtBounds
	confirm func(context.Context) error
	cast    func(acl.Doubt)
	// confirmed is when the newest request was sent that got an answer, in nanoseconds.
	confirmed atomic.Int64
	doubt     acl.Doubt
}

// newDoubter returns a doubter that counts the users as confirmed now.
func newDoubter(u *Users) *doubter {
	d := &doubter{
		now: raftio.Now, bounds: func() doubtBounds { return doubtBoundsOf(u.Config.Current()) },
		confirm: u.confirm, cast: u.cast,
	}
	d.confirmed.Store(int64(d.now()))
	return d
}

// Unconfirmed is the time since the users were last confirmed.
func (u *Users) Unconfirmed() time.Duration { return u.doubter.age() }

// age is the time since the users were last confirmed.
func (d *doubter) age() time.Duration { return d.now() - time.Duration(d.confirmed.Load()) }

// run confirms the users until ctx ends.
func (d *doubter) run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := d.ask(ctx)
		left := d.applyDoubt()
		if left > 0 {
			pause = min(pause, left)
		}
		sleepFor(ctx, pause)
		d.applyDoubt()
	}
}

// ask sends one request, and waits at most until the doubt changes. It returns how long to wait
// before the next one.
func (d *doubter) ask(ctx context.Context) (pause time.Duration) {
	began, wait := d.now(), confirmWait
	if _, left := d.bounds().at(d.age()); left > 0 {
		wait = min(wait, left)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if d.confirm(ctx) != nil {
		return confirmAgain
	}
	d.confirmed.Store(int64(began))
	pause = confirmEvery
	if _, left := d.bounds().at(0); left > 0 {
		pause = min(pause, max(left/6, confirmPause))
	}
	return pause
}

// applyDoubt applies the current doubt, and returns for how long it will last.
func (d *doubter) applyDoubt() (left time.Duration) {
	doubt, left := d.bounds().at(d.age())
	if doubt != d.doubt {
		d.doubt = doubt
		d.cast(doubt)
	}
	return left
}

func sleepFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
