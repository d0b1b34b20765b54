// Package users holds the cluster's users as the clients of this node see them.
//
// The meta group has the authoritative users. A change is computed from the newest records, and
// proposed again if another change came first. A node keeps a copy in its data folder, because
// otherwise it could take a default user without a password for the cluster's until it has received
// the meta group's log again. A copy that is not confirmed is doubted more and more (staleness.go).
package users

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lockstep/cluster/meta"
	"lockstep/node/config"
	"lockstep/node/member"
	"lockstep/proto/acl"
)

// Facts are what the users need from their node.
type Facts struct {
	Config *config.Config
	Log    *slog.Logger
	Member *member.Member
	// Clients are notified when the users have changed.
	Clients Clients
	// Go runs a function in a goroutine that ends with Ctx.
	Go  func(do func()) bool
	Ctx context.Context
}

// Clients are this node's clients.
type Clients interface {
	// Rejudge makes all clients use these users.
	Rejudge(users *acl.Users)
}

// Users are the cluster's users as this node's clients see them: the meta group's records, and the
// node's requirepass if the default user has no record.
type Users struct {
	Facts
	mu sync.Mutex // held while now is replaced, and while the file is written; guards kept, keptAt
	// now was made from the records after `changes` changes, and with the password pass.
	now atomic.Pointer[usersAt]
	// kept means that the file in the data folder has the users after keptAt changes.
	kept   bool
	keptAt uint64
	// doubt is the current acl.Doubt.
	doubt   atomic.Uint32
	doubter *doubter
}

type usersAt struct {
	*acl.Users
	records []acl.Record
	changes uint64
	pass    string
	doubt   acl.Doubt
}

// changeUsersMax bounds how often a change is computed again because other changes came first, and
// changeUsersWait for how long.
const (
	changeUsersMax  = 64
	changeUsersWait = 10 * time.Second
)

// Open starts with the users from the data folder, or asks the meta group if the folder has none.
// From then on it follows the current users.
func Open(ctx context.Context, f Facts) (*Users, error) {
	u := &Users{Facts: f}
	u.doubter = newDoubter(u)
	if err := u.remember(ctx); err != nil {
		return nil, err
	}
	u.Member.Machine.OnChange(func(v *meta.View) {
		if now := u.now.Load(); now == nil || now.changes != v.UserChanges {
			u.Go(u.rejudge)
		}
	})
	u.Config.OnChange("requirepass", func(*config.Settings) { u.Go(u.rejudge) })
	u.Go(func() { u.doubter.run(u.Ctx) })
	return u, nil
}

// Users implements client.Access.
func (u *Users) Users() *acl.Users {
	v, pass, doubt := u.Member.Machine.View(), u.Config.Current().RequirePass, acl.Doubt(u.doubt.Load())
	if now := u.now.Load(); now != nil && now.changes >= v.UserChanges && now.pass == pass && now.doubt == doubt {
		return now.Users
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	doubt = acl.Doubt(u.doubt.Load()) // another goroutine may have changed it while this one waited
	next := &usersAt{records: Records(v), changes: v.UserChanges, pass: pass, doubt: doubt}
	var before *acl.Users
	if now := u.now.Load(); now != nil {
		before = now.Users
		if now.changes >= v.UserChanges {
			next.records, next.changes = now.records, now.changes
		}
	}
	next.Users = acl.NewUsers(next.records, pass, before)
	if next.changes > 0 || pass != "" {
		// With neither users nor a password every client may do everything, as far as this node knows, and
		// doubt does not apply.
		next.Users = next.Users.InDoubt(doubt)
	}
	u.now.Store(next)
	return next.Users
}

// Records are the users of a view, in the form of package acl.
func Records(v *meta.View) []acl.Record {
	records := make([]acl.Record, len(v.Users))
	for i, r := range v.Users {
		records[i] = acl.Record{Name: string(r.Name), Rules: string(r.Rules), Made: r.Made}
	}
	return records
}

// rejudge makes the clients of this node use the current users.
func (u *Users) rejudge() {
	now := u.Users()
	if err := u.keep(); err != nil {
		u.Log.Error("the users could not be written into the data folder; after a restart this node begins with older ones", "err", err)
	}
	u.Clients.Rejudge(now)
}

// ChangeUsers implements client.Access.
func (u *Users) ChangeUsers(work func(*acl.Users) (acl.Change, error)) error {
	ctx, cancel := context.WithTimeout(u.Ctx, changeUsersWait)
	defer cancel()
	for range changeUsersMax {
		v := u.Member.Machine.View()
		change, err := work(acl.NewUsers(Records(v), u.Config.Current().RequirePass, u.Users()))
		if err != nil {
			return err
		}
		result, err := u.Member.Meta.Do(ctx, commandOf(change, v.UserChanges))
		if errors.Is(err, meta.ErrStale) {
			// This node may be behind; then its view advances without further action.
			_, _ = u.Member.Machine.Wait(ctx, func(now *meta.View) bool { return now.UserChanges > v.UserChanges })
			continue
		}
		if err != nil {
			return textOfUsers(err)
		}
		if !result.Changed && len(change.Delete) == 0 && u.Member.Machine.View().UserChanges != v.UserChanges {
			continue // the change may only have been empty for outdated users
		}
		u.rejudge()
		return nil
	}
	return textOfUsers(meta.ErrStale)
}

func commandOf(change acl.Change, after uint64) *meta.ChangeUsers {
	c := &meta.ChangeUsers{After: after}
	for _, r := range change.Set {
		c.Set = append(c.Set, meta.UserRules{Name: meta.Text(r.Name), Rules: meta.Text(r.Rules)})
	}
	for _, name := range change.Delete {
		c.Delete = append(c.Delete, meta.Text(name))
	}
	return c
}

// textOfUsers is the error reply for a change that was refused, or that may or may not have been
// made.
func textOfUsers(err error) error {
	var refusal *meta.Refusal
	if errors.As(err, &refusal) {
		return fmt.Errorf("ERR the users were not changed: %w", err)
	}
	return fmt.Errorf("INDETERMINATE the users may have been changed: %w", err)
}

// SetPassword gives the default user the password of CONFIG SET requirepass. The password is stored
// only among the cluster's users.
func (u *Users) SetPassword(pairs []config.Pair) error {
	i := slices.IndexFunc(pairs, func(p config.Pair) bool { return strings.EqualFold(p.Name, "requirepass") })
	if i < 0 {
		return nil
	}
	rules := []string{"resetpass", ">" + pairs[i].Value}
	if pairs[i].Value == "" {
		rules = []string{"nopass"}
	}
	return u.ChangeUsers(func(all *acl.Users) (acl.Change, error) {
		r, err := all.WithRules(acl.Default, rules, acl.Options{})
		return acl.Change{Set: []acl.Record{r}}, err
	})
}

// Found writes the users of the ACL file or of the configuration into a cluster that has none yet.
// Clients are not served before that.
func (u *Users) Found(ctx context.Context) error {
	s := u.Config.Current()
	if s.ACLFile == "" && len(s.Users) == 0 {
		return nil
	}
	// A node with users in its folder knows without a quorum that the cluster has users.
	if u.now.Load().changes == 0 {
		if _, err := u.Member.Machine.Wait(ctx, (*meta.View).Created); err != nil {
			return fmt.Errorf("the cluster's users could not be looked at: %w", err)
		}
	}
	if u.Users(); u.now.Load().changes > 0 {
		u.Log.Info("the cluster has users already; those of the file or the configuration are not read")
		return nil
	}
	opt := acl.Options{AllChannels: s.ACLPubSubDefault == config.HearAll}
	records, err := acl.Parse(s.Users, opt)
	if s.ACLFile != "" {
		records, err = acl.ReadFile(s.ACLFile, opt)
	}
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return nil
	}
	c := commandOf(acl.Change{Set: records}, 0)
	c.First = true
	if _, err := u.Member.Meta.Do(ctx, c); err != nil {
		return fmt.Errorf("the users of the file or the configuration could not be brought into the cluster: %w", err)
	}
	u.Log.Info("the cluster has users", "number", len(records))
	return nil
}
