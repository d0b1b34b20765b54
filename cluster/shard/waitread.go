package shard

// Clients that only read: they are told when it is worth trying, and their gateways try.

// readOnLocked goes on with a client that reads and has come again.
func (w *waiters) readOnLocked(x *waiter, req *Wait) {
	hadTurn := x.turn
	x.turn = false
	for _, k := range x.keys {
		// What was filled while it was away counts.
		if q := w.keys[k]; q != nil && q.filledAt > x.toldAt {
			w.turnLocked(x, ErrTurn)
			return
		}
	}
	if hadTurn && !req.Tried {
		// It could not try, and what it was told of may be there still.
		w.lookLaterLocked(x.keys, x)
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

// turnLocked tells a client that reads to try, if it listens.
func (w *waiters) turnLocked(x *waiter, why error) {
	if x.told != nil {
		x.turn = true
		w.answerLocked(x, Result{Err: why})
	}
}
