package fsm

import (
	"lockstep/engine"
	"lockstep/engine/sched"
)

// Reply is the outcome of one txn.
type Reply struct {
	Bytes   []byte
	Outcome Outcome
}

const (
	// togetherMax is how many reads run under one ticket. No further read starts
	// once the replies take more than togetherBytesMax.
	togetherMax      = 64
	togetherBytesMax = 64 << 10
)

// ReadTogether runs as many of the read-only txns at the front as can run together,
// quickly, and without waiting for anything, and appends their replies. It takes
// one ticket for all their slots: a pipeline's reads then cost one pass through the
// lock table instead of one each, and their keys are looked up in parallel. The
// remaining txns, possibly all of them, are for Read.
func (m *Machine) ReadTogether(txns []Txn, opt ReadOptions, replies []Reply) []Reply {
	st := m.state.Load()
	r := readPool.Get().(*reading)
	defer readPool.Put(r)
	defer r.forget()
	n := r.gather(st.ks, txns)
	if n == 0 {
		return replies
	}
	x := m.executions.get()
	defer m.executions.put(x)
	x.out.Reset(int(txns[0].Proto))
	x.ctx = m.readContext(st, x, opt)
	// The first command's name labels all of them.
	r.ticket.Label, r.ticket.Detail, r.ticket.Long = txns[0].Ops[0].lookup().Name, "", false
	if !st.sched.TryLock(&r.ticket, &r.access) {
		return replies
	}
	x.ctx.NowMs, x.ctx.DayOffsetMs = r.ticket.Moment, m.DayOffsetMs()
	if len(r.lookups) > 1 {
		st.ks.Warm(r.lookups)
	}
	m.readHeld(x, r, txns[:n], opt.Seed)
	st.sched.Unlock(&r.ticket)
	return appendReplies(replies, x.out.Bytes(), r.ends)
}

// forget drops the references to the keys.
func (r *reading) forget() {
	clear(r.lookups)
	r.lookups, r.ends = r.lookups[:0], r.ends[:0]
}

// gather builds the access of the txns that run together, and returns how many
// there are. These are reads that are always quick and use the same protocol
// version.
func (r *reading) gather(ks *engine.Keyspace, txns []Txn) int {
	r.access.Reset()
	for i := range txns {
		t := &txns[i]
		if t.Kind != KindCommand {
			return i
		}
		op := &t.Ops[0]
		spec := op.lookup()
		if !spec.Brief(op.Args) || len(op.Args) > heavyArgs || t.Proto != txns[0].Proto || len(r.lookups) >= togetherMax {
			return i
		}
		for _, k := range spec.AppendKeys(r.keys[:0], op.Args) {
			key := op.Args[k.Pos]
			slot := ks.LockSlot(key)
			r.access.Add(slot, sched.Shared)
			r.lookups = append(r.lookups, engine.Lookup{Slot: slot, DB: op.DB, Key: key})
		}
	}
	return len(txns)
}

// readHeld runs reads whose slots are locked, and records where each reply ends. It
// stops at a read that must wait for a later entry, or whose reply is too long: run
// alone it may fit.
func (m *Machine) readHeld(x *execution, r *reading, txns []Txn, seed uint64) {
	for i := range txns {
		begin := x.out.Len()
		if begin > togetherBytesMax {
			return
		}
		op := &txns[i].Ops[0]
		x.ctx.DB, x.ctx.NoTouch, x.ctx.Seed = op.DB, txns[i].NoTouch, seed+uint64(i)
		tooLong := runOp(m, &x.ctx, op)
		if x.ctx.Due || tooLong && i > 0 {
			x.out.Truncate(begin)
			return
		}
		r.ends = append(r.ends, x.out.Len())
	}
}

// appendReplies splits concatenated replies. They share one copy.
func appendReplies(replies []Reply, all []byte, ends []int) []Reply {
	if len(ends) == 1 {
		return append(replies, Reply{Bytes: shared(all[:ends[0]])})
	}
	if len(ends) > 0 {
		all = append([]byte(nil), all[:ends[len(ends)-1]]...)
	}
	begin := 0
	for _, end := range ends {
		replies = append(replies, Reply{Bytes: all[begin:end:end]})
		begin = end
	}
	return replies
}
