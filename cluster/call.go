// Package cluster holds what its subpackages and the floor above share: the
// Call that carries a txn to its shard and its answer back, and the errors
// that say what became of it.
package cluster

import (
	"time"

	"lockstep/fsm"
)

// BlockOvertime is how long a blocking command may take beyond its own timeout to learn
// what became of it: about as long as an election with all that belongs to it.
const BlockOvertime = 5 * time.Second

// Call is one txn on its way to a shard, and its answer (after net/rpc.Call).
// Reply or Err is set when the call is done; Reply is RESP in the txn's Proto
// and belongs to the caller.
type Call struct {
	Txn fsm.Txn
	// ReadOnly lets the call run on the leader behind the read gate instead of
	// entering the log.
	ReadOnly bool
	// Stale lets a read run on the gateway's own replica (READONLY), if that
	// replica is as fresh as Fresh says. If Fresh is nil the replica may be of any age.
	// A replica that is not fresh enough leaves the call to the leader.
	Stale bool
	Fresh *Freshness
	// Slots are the hash slots of all keys of the txn; they must belong to one
	// shard. Empty when Shard says where to go.
	Slots []uint16
	// Shard is where the call goes when Slots is empty.
	Shard int

	// From, when set, tells whether who made the call has gone meanwhile: what may take long is
	// not proposed for nobody.
	From Leaver

	// Client, when set, is the gateway's client that does not want to hear of what
	// the txn changes (CLIENT TRACKING with NOLOOP).
	Client uint64

	Reply []byte
	Err   error

	// slot holds the one element of Slots that most calls have.
	slot [1]uint16
}

// Leaver may go before its calls are answered.
type Leaver interface {
	// Gone reports whether it has gone. Any goroutine may ask.
	Gone() bool
}

// Freshness is how much a stale read must see. A Freshness is never changed: a
// caller that needs another one makes another one.
type Freshness struct {
	// MaxAge bounds how long ago the state that is read was the leader's. It is 0 if no
	// bound.
	MaxAge time.Duration
	// Floors are, by shard, the log index that must have been reached.
	Floors map[int]uint64
}

// Answered reports whether the call is done. Who runs many calls may leave the last ones
// of a shard for later, when the replies before them are large.
func (c *Call) Answered() bool { return c.Reply != nil || c.Err != nil }

// SetSlot makes s the only hash slot of the call, without allocating.
func (c *Call) SetSlot(s int) {
	c.slot[0] = uint16(s)
	c.Slots = c.slot[:]
}
