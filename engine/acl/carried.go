package acl

import "strings"

// Carried is a user in the form that goes with a txn: its permissions and its name.
type Carried struct {
	*User
	name string
}

// nameWord stands before the name, among the rules. Programs that do not know it skip it, because
// it is not a rule.
const nameWord = "as="

// Carry encodes a user for a txn.
func Carry(name string, u *User) []byte { return []byte(nameWord + name + " " + u.Permissions()) }

// ReadCarried reads the text of Carry, or rules without a name.
func ReadCarried(text string) *Carried {
	name := ""
	if first, rest, _ := strings.Cut(text, " "); strings.HasPrefix(first, nameWord) {
		name, text = first[len(nameWord):], rest
	}
	return &Carried{Read(text), name}
}

// UserName is the user's name, "" if it is not known.
func (c *Carried) UserName() string { return c.name }
