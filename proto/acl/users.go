// Package acl holds the users of the clients: which users there are, how they log
// in, what a node has refused them lately, and the file they can be kept in. The
// meaning of one user's rules is in engine/acl.
//
// The users belong to the cluster, in the state of the meta group. A node has them
// as Users, which never change, and makes new Users when the state has changed.
package acl

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"lockstep/engine/acl"
)

// Default is the name of the user that connections start as.
const Default = "default"

// Record is a user as the cluster keeps it.
type Record struct {
	Name, Rules string
	// Made distinguishes users that had the same name at different times.
	Made uint64
}

// Account is a user with its name. It never changes.
type Account struct {
	Record
	*acl.User
	// Carried are the user's permissions in the form that goes with txns, or nil if
	// the user may do everything.
	Carried []byte
}

func newAccount(r Record) *Account {
	a := &Account{Record: r, User: acl.Read(r.Rules)}
	if !a.MayAll() {
		a.Carried = acl.Carry(r.Name, a.User)
	}
	return a
}

// Users are all users at one moment, including the default user.
type Users struct {
	list   []*Account
	byName map[string]*Account
	doubt  Doubt
}

// NewUsers makes the users from the cluster's records. If the default user is not
// among them, it may do everything with the password requirePass, or without a
// password if that is empty. Accounts of before, which may be nil, are reused.
func NewUsers(records []Record, requirePass string, before *Users) *Users {
	u := &Users{byName: map[string]*Account{}}
	for _, r := range records {
		u.add(r, before)
	}
	if u.byName[Default] == nil {
		u.add(Record{Name: Default, Rules: DefaultRules(requirePass)}, before)
	}
	slices.SortFunc(u.list, func(a, b *Account) int { return cmp.Compare(a.Name, b.Name) })
	return u
}

// DefaultRules are the default user's rules until it has been given others.
func DefaultRules(requirePass string) string {
	if requirePass == "" {
		return acl.DefaultRules
	}
	sum := sha256.Sum256([]byte(requirePass))
	return strings.Replace(acl.DefaultRules, "nopass", "#"+hex.EncodeToString(sum[:]), 1)
}

func (u *Users) add(r Record, before *Users) {
	var a *Account
	if before != nil {
		a = before.byName[r.Name]
	}
	if a == nil || a.Record != r {
		a = newAccount(r)
	}
	u.list = append(u.list, a)
	u.byName[r.Name] = a
}

// All are the users by name.
func (u *Users) All() []*Account { return u.list }

// Get returns a user, or nil if there is none.
func (u *Users) Get(name string) *Account { return u.byName[name] }

// Default is the user that connections start as.
func (u *Users) Default() *Account { return u.byName[Default] }

// Open reports whether connections need not log in.
func (u *Users) Open() bool { d := u.Default(); return d.On() && d.NoPass() }

// LogIn returns the user with this name and password, or nil.
func (u *Users) LogIn(name, password string) *Account {
	if a := u.byName[name]; a != nil && a.Opens(password) {
		return a
	}
	return nil
}

// Successor is the current version of a user, or nil if the user was deleted. The
// default user is never deleted.
func (u *Users) Successor(of *Account) *Account {
	a := u.byName[of.Name]
	if a == nil || a.Made != of.Made && of.Name != Default {
		return nil
	}
	return a
}

// Change is a change of users, computed from the users at one moment.
type Change struct {
	Set    []Record
	Delete []string
}

// RuleError says which rule is invalid.
type RuleError struct {
	Rule string
	Err  error
}

// Error is Redis's error text.
func (e *RuleError) Error() string {
	return fmt.Sprintf("ERR Error in ACL SETUSER modifier '%s': %s", e.Rule, e.Err)
}

// Options decide what a new user starts with.
type Options struct {
	// AllChannels is acl-pubsub-default.
	AllChannels bool
}

// WithRules is a user's record after more rules, or a new user's if there is no
// such user.
func (u *Users) WithRules(name string, rules []string, opt Options) (Record, error) {
	r := Record{Name: name}
	user := acl.NewUser(opt.AllChannels)
	if a := u.byName[name]; a != nil {
		r, user = a.Record, a.User
	}
	merged, bad := acl.Merge(rules)
	if bad != "" {
		return r, fmt.Errorf("ERR Unmatched parenthesis in acl selector starting at '%s'.", bad)
	}
	for _, rule := range merged {
		next, err := user.Apply(rule, opt.AllChannels)
		if err != nil {
			return r, &RuleError{rule, err}
		}
		user = next
	}
	r.Rules = user.Rules()
	return r, nil
}

// ValidName reports whether a user can have the name.
func ValidName(name string) bool { return name != "" && !strings.ContainsAny(name, " \t\n\v\f\r\x00") }
