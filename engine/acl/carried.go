package acl

import "strings"

// Carried is a user as it goes with a txn: what it may do, and what it is called.
type Carried struct {
	*User
	name string
}

// nameWord stands before the name, among the rules: who reads rules leaves out
// what is none.
const nameWord = "as="

// Carry writes a user as it goes with txns.
func Carry(name string, u *User) []byte { return []byte(nameWord + name + " " + u.Permissions()) }

// ReadCarried reads what Carry wrote, or rules without a name.
func ReadCarried(text string) *Carried {
	name := ""
	if first, rest, _ := strings.Cut(text, " "); strings.HasPrefix(first, nameWord) {
		name, text = first[len(nameWord):], rest
	}
	return &Carried{Read(text), name}
}

// UserName is the user's name, "" if it is not known.
func (c *Carried) UserName() string { return c.name }
