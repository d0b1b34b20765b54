package shard

import "sync/atomic"

// admission bounds the work that was admitted and has not been answered. It is the one
// place where a shard refuses work for lack of room, and it does so before the work
// enters the log. Work that is queued, on its way, or waiting for its lock slots all
// counts.
type admission struct {
	bytesMax, txnsMax int64
	bytes, txns       atomic.Int64
	// growth is the memory that admitted bundles may need beyond their bytes.
	growth atomic.Int64
}

func (a *admission) init(bytesMax, txnsMax int64) { a.bytesMax, a.txnsMax = bytesMax, txnsMax }

// enter reserves room. It returns false if there is none. Work that is larger than all
// the room may enter when nothing else is admitted.
func (a *admission) enter(txns, bytes int) bool {
	b, t := a.bytes.Add(int64(bytes)), a.txns.Add(int64(txns))
	if (b > a.bytesMax && b != int64(bytes)) || (t > a.txnsMax && t != int64(txns)) {
		a.leave(txns, bytes)
		return false
	}
	return true
}

// force reserves room even if there is none.
func (a *admission) force(txns, bytes int) {
	a.bytes.Add(int64(bytes))
	a.txns.Add(int64(txns))
}

func (a *admission) leave(txns, bytes int) {
	a.bytes.Add(-int64(bytes))
	a.txns.Add(-int64(txns))
}

func (a *admission) outstanding() (txns, bytes int64) { return a.txns.Load(), a.bytes.Load() }
