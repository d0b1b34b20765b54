package meta

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// These are the bounds of the users.
const (
	MaxUsers      = 4096
	MaxUserBytes  = 64 << 10
	MaxUsersBytes = 8 << 20
)

// Text holds arbitrary bytes. In JSON it is a quoted Go string: JSON alone would change bytes that
// are not UTF-8.
type Text string

// MarshalText writes the text so that every byte of it comes back.
func (t Text) MarshalText() ([]byte, error) {
	return []byte(strconv.QuoteToASCII(string(t))), nil
}

// UnmarshalText reads a text that MarshalText wrote.
func (t *Text) UnmarshalText(quoted []byte) error {
	s, err := strconv.Unquote(string(quoted))
	*t = Text(s)
	return err
}

// User is a user that clients log in as, made by ACL SETUSER. This package does not interpret the
// rules.
type User struct {
	Name  Text `json:"name"`
	Rules Text `json:"rules"`
	// Made is the log index at which the user was made. A user that was deleted and made again is
	// another user: clients that are logged in as the old one are disconnected.
	Made uint64 `json:"made"`
}

// UserRules are the rules that a user shall have.
type UserRules struct {
	Name  Text `json:"name"`
	Rules Text `json:"rules"`
}

// ChangeUsers makes, changes and deletes users, all or none. Its proposer has computed the rules
// from the users after change number After.
type ChangeUsers struct {
	After  uint64      `json:"after"`
	Set    []UserRules `json:"set,omitempty"`
	Delete []Text      `json:"delete,omitempty"`
	// First allows the command only while the cluster has no users; if it has some, the command
	// changes nothing.
	First bool `json:"first,omitempty"`
}

func (c *ChangeUsers) apply(v *View) (bool, error) {
	switch {
	case !v.Created():
		return false, ErrNotCreated
	case c.First && v.UserChanges > 0, c.done(v):
		return false, nil
	case c.After != v.UserChanges:
		return false, ErrStale.With("the users have changed meanwhile; try again")
	}
	// A new array: the old one belongs to earlier views.
	users := slices.DeleteFunc(slices.Clone(v.Users), func(u User) bool { return slices.Contains(c.Delete, u.Name) })
	for _, set := range c.Set {
		if set.Name == "" || len(set.Name)+len(set.Rules) > MaxUserBytes {
			return false, ErrInvalid.With("a user needs a name, and its rules are too long or its name is")
		}
		i, there := findUser(users, set.Name)
		if !there {
			users = slices.Insert(users, i, User{Name: set.Name, Made: v.Index})
		}
		users[i].Rules = set.Rules
	}
	size := 0
	for _, u := range users {
		size += len(u.Name) + len(u.Rules)
	}
	if len(users) > MaxUsers || size > MaxUsersBytes {
		return false, ErrTooMany.With(fmt.Sprintf("the cluster may have %d users, with %d bytes of rules", MaxUsers, MaxUsersBytes))
	}
	v.Users = users
	v.UserChanges++
	return true, nil
}

// done reports whether there is nothing to change.
func (c *ChangeUsers) done(v *View) bool {
	for _, set := range c.Set {
		if i, there := findUser(v.Users, set.Name); !there || v.Users[i].Rules != set.Rules {
			return false
		}
	}
	return !slices.ContainsFunc(c.Delete, func(name Text) bool {
		_, there := findUser(v.Users, name)
		return there
	})
}

// findUser returns where in users, ordered by name, a name is or would be.
func findUser(users []User, name Text) (int, bool) {
	return slices.BinarySearchFunc(users, name, func(u User, name Text) int { return cmp.Compare(u.Name, name) })
}
