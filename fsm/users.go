package fsm

import (
	"sync"

	"lockstep/engine/acl"
	"lockstep/engine/command"
)

// userCache keeps what was read of the rules that came with txns. It is no
// state: the same text makes the same user.
type userCache struct {
	mu    sync.Mutex // guards users
	users map[string]*acl.Carried
}

// usersMax bounds the cache; then it begins anew.
const usersMax = 256

// of reads the rules of a txn's user, nil: one who may do everything.
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
