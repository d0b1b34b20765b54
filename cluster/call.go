// Package cluster holds what its subpackages and the packages above share: the Call that carries a
// txn to its shard and its answer back, and the errors that a call can end with.
package cluster

import (
	"time"

	"lockstep/fsm"
)

// BlockOvertime is how long a blocking command may wait beyond its own timeout for its result:
// about as long as an election and its consequences take.
const BlockOvertime = 5 * time.Second

// Call is one txn on its way to a shard, and its answer (after net/rpc.Call).
// Reply or Err is set when the call is done; Reply is RESP in the txn's Proto
// and belongs to the caller.
type Call struct {
	Txn fsm.Txn
	// ReadOnly makes the call run on the leader after the read gate instead of entering the log.
	ReadOnly bool
	// Stale lets a read run on the gateway's own replica (READONLY) if that replica is as fresh as
	// Fresh demands; otherwise the leader runs it. If Fresh is nil, the replica may be of any age.
	Stale bool
	Fresh *Freshness
	// Slots are the hash slots of all keys of the txn; they must belong to one shard. If Slots is
	// empty, Shard is the target.
	Slots []uint16
	// Shard is where the call goes when Slots is empty.
	Shard int

	// From, if set, reports whether the caller has gone: a txn that may take long is not proposed
	// then.
	From Leaver

	// Client, if set, is the gateway's client that does not want invalidations for what the txn
	// changes (CLIENT TRACKING with NOLOOP).
	Client uint64

	Reply []byte
	Err   error

	// slot holds the one element of Slots that most calls have.
	slot [1]uint16
}

// Leaver is a caller that may go away before its calls are answered.
type Leaver interface {
	// Gone reports whether the caller has gone. Any goroutine may call it.
	Gone() bool
}

// Freshness is how recent the state for a stale read must be. A Freshness is never changed: a
// caller that needs another one makes a new one.
type Freshness struct {
	// MaxAge bounds how long ago the state was the leader's. 0 means no bound.
	MaxAge time.Duration
	// Floors are, by shard, log indexes that the replica must have reached.
	Floors map[int]uint64
}

// Answered reports whether the call is done. A caller with many calls may leave the last ones of a
// shard for later if the replies before them are large.
func (c *Call) Answered() bool { return c.Reply != nil || c.Err != nil }

// SetSlot makes s the only hash slot of the call, without allocating.
func (c *Call) SetSlot(s int) {
	c.slot[0] = uint16(s)
	c.Slots = c.slot[:]
}
