package meta

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Bounds of the users.
const (
	MaxUsers      = 4096
	MaxUserBytes  = 64 << 10
	MaxUsersBytes = 8 << 20
)

// Text is any bytes, written as a quoted Go string: JSON alone would change
// what is no UTF-8.
type Text string

// MarshalText writes the text so that every byte of it comes back.
func (t Text) MarshalText() ([]byte, error) {
	return []byte(strconv.QuoteToASCII(string(t))), nil
}

// UnmarshalText reads what MarshalText wrote.
func (t *Text) UnmarshalText(quoted []byte) error {
	s, err := strconv.Unquote(string(quoted))
	*t = Text(s)
	return err
}

// User is a user of the clients, as ACL SETUSER made it. What the rules mean is
// the matter of those who judge by them.
type User struct {
	Name  Text `json:"name"`
	Rules Text `json:"rules"`
	// Made is the log index at which the user came to be: one that was deleted and
	// made again is another, and who is logged in as the old one is cut off.
	Made uint64 `json:"made"`
}

// UserRules are a user's rules as they are to be.
type UserRules struct {
	Name  Text `json:"name"`
	Rules Text `json:"rules"`
}

// ChangeUsers makes, changes and deletes users, all or none. Whoever proposes it
// has worked the rules out from users whose number of changes was After.
type ChangeUsers struct {
	After  uint64      `json:"after"`
	Set    []UserRules `json:"set,omitempty"`
	Delete []Text      `json:"delete,omitempty"`
	// First: the cluster must have no users yet; with some, nothing is to do.
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
