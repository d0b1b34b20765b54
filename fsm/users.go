package fsm

import (
	"sync"

	"lockstep/engine/acl"
	"lockstep/engine/command"
)

// userCache keeps the parsed rules of users that came with txns. It is not part of
// the state: the same text always makes the same user.
type userCache struct {
	mu    sync.Mutex // guards users
	users map[string]*acl.Carried
}

// usersMax bounds the cache. A full cache is emptied.
const usersMax = 256

// of parses the rules of a txn's user. It returns nil for a user that may do
// everything.
func (c *userCache) of(rules []byte) command.User {
	if rules == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.users[string(rules)]
	if u == nil {
		if u = acl.ReadCarried(string(rules)); c.users == nil || len(c.users) >= usersMax {
			c.users = map[string]*acl.Carried{}
		}
		c.users[string(rules)] = u
	}
	return u
}
