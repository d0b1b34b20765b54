package shard

import "sync/atomic"

// admission bounds what was taken on and has not been answered: it is the one
// place where a shard refuses work for want of room, and it does so before the
// work enters the log. What is queued, on its way, or waiting for its lock
// slots all counts.
type admission struct {
	bytesMax, txnsMax int64
	bytes, txns       atomic.Int64
	// growth is what admitted bundles may need in memory beyond their bytes.
	growth atomic.Int64
}

func (a *admission) init(bytesMax, txnsMax int64) { a.bytesMax, a.txnsMax = bytesMax, txnsMax }

// enter takes room. It returns false if there is none. What is larger than all the room
// enters alone.
func (a *admission) enter(txns, bytes int) bool {
	b, t := a.bytes.Add(int64(bytes)), a.txns.Add(int64(txns))
	if (b > a.bytesMax && b != int64(bytes)) || (t > a.txnsMax && t != int64(txns)) {
		a.leave(txns, bytes)
		return false
	}
	return true
}

// force takes room whether there is any or not.
func (a *admission) force(txns, bytes int) {
	a.bytes.Add(int64(bytes))
	a.txns.Add(int64(txns))
}

func (a *admission) leave(txns, bytes int) {
	a.bytes.Add(-int64(bytes))
	a.txns.Add(-int64(txns))
}

func (a *admission) outstanding() (txns, bytes int64) { return a.txns.Load(), a.bytes.Load() }
