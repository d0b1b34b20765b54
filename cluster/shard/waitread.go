package shard

// Clients that only read are told when a read is worthwhile, and their gateways then
// read.

// readOnLocked handles the next request of a client that reads.
func (w *waiters) readOnLocked(x *waiter, req *Wait) {
	hadTurn := x.turn
	x.turn = false
	for _, k := range x.keys {
		// Fills while the client had no request open count.
		if q := w.table.keys[k]; q != nil && q.filledAt > x.toldAt {
			w.turnLocked(x, ErrTurn)
			return
		}
	}
	if hadTurn && !req.Tried {
		// The client could not try. The value that it was told about may still be there.
		w.looker.laterLocked(x.keys, x)
		return
	}
	w.restLocked(x)
}

// tellReadersLocked tells the readers that have not been told of a key's last fill.
func (w *waiters) tellReadersLocked(q *waitQueue) {
	for _, x := range q.shared {
		if q.filledAt > x.toldAt {
			w.turnLocked(x, ErrTurn)
		}
	}
}

// turnLocked tells a client that reads to try, if its gateway has a request open.
func (w *waiters) turnLocked(x *waiter, why error) {
	if x.told != nil {
		x.turn = true
		w.answerLocked(x, Result{Err: why})
	}
}
