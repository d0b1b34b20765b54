package shard

import (
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/fsm"
)

const (
	// servedBehindMax bounds the waiters that one entry serves, servedBytesMax the bytes
	// of their commands, and servedKeysMax the keys of one waiter: all of these are
	// locked together with the keys of the write. servedRoomBytes is left free in the
	// entry.
	servedBehindMax = 1024
	servedBytesMax  = 1 << 20
	servedKeysMax   = 64
	servedRoomBytes = 64 << 10
	// unknownMost is how many waiters are served behind a write that may add any number
	// of elements. More are served as soon as the write has run.
	unknownMost = 8
)

// following is a KindServe that goes into an entry, behind its bundles' txns.
type following struct {
	// of is the index of the bundle. call receives the outcome for the leader.
	of     int
	behind fsm.Behind
	call   *bundleCall
}

// follow chooses the waiters that are served behind the txns of an entry's bundles, which
// have so many bytes. A waiting client then has its element when the write is answered.
func (w *waiters) follow(calls []*bundleCall, bytes int) []following {
	w.inherit()
	if w.table.takers.Load() == 0 || !w.ofTerm(w.shard.group.Term()) {
		return nil
	}
	f := follower{waiters: w, room: min(servedBytesMax, fsm.EntryBytesMax-bytes-servedRoomBytes)}
	for i, c := range calls {
		f.bundle(i, c.bundle)
	}
	return f.all
}

// ofTerm reports whether the waiters belong to this term.
func (w *waiters) ofTerm(term uint64) bool {
	w.table.mu.Lock()
	defer w.table.mu.Unlock()
	return w.term == term
}

// follower collects the KindServes of an entry.
type follower struct {
	waiters *waiters
	all     []following
	// room is how many bytes still fit.
	room int
	// fills are the keys that a txn may fill, and after them the keys that the waiters
	// served behind it may fill.
	fills []filling
	// buf is space for the fills of one command.
	buf []command.Fill
}

type filling struct {
	db int
	command.Fill
	// sure is true if the command certainly adds an element, unless the key holds another
	// kind of value.
	sure bool
}

// bundle handles the txns of a bundle.
func (f *follower) bundle(of int, bundle []byte) {
	place := 0
	fsm.EachTxn(bundle, func(t *fsm.Txn) {
		f.fill(t)
		if len(f.fills) > 0 {
			f.waiters.table.mu.Lock()
			f.serveLocked(of, place)
			f.waiters.table.mu.Unlock()
		}
		place++
	})
}

// fill records the keys that a txn may fill.
func (f *follower) fill(t *fsm.Txn) {
	f.fills = f.fills[:0]
	if t.Kind == fsm.KindCommand || t.Kind == fsm.KindExec {
		for i := range t.Ops {
			f.add(&t.Ops[i], t.Kind == fsm.KindCommand)
		}
	}
}

func (f *follower) add(op *fsm.Op, sure bool) {
	spec, _ := commands.Lookup(op.Args)
	if spec == nil {
		return
	}
	f.buf = spec.AppendFills(f.buf[:0], op.Args)
	for _, fill := range f.buf {
		sure := sure && fill.Most > 0
		if fill.Most == 0 {
			fill.Most = unknownMost
		}
		f.fills = append(f.fills, filling{op.DB, fill, sure})
	}
}

// serveLocked serves the clients that wait for the keys that a txn may fill, and for the
// keys that serving them may fill in turn: key after key, as Redis does.
func (f *follower) serveLocked(of, place int) {
	for i := 0; i < len(f.fills); i++ {
		fill := f.fills[i]
		k := waitKey{db: fill.db, key: string(fill.Key), kind: fill.Kind}
		f.waiters.table.eachQueueLocked(k, fill.Any, func(_ waitKey, q *waitQueue) {
			f.serveQueueLocked(q, fill, fsm.Behind{Txn: place}, of)
		})
	}
}

// serveQueueLocked serves the oldest waiters of a queue, as many as the txn adds elements.
// Waiters that are being served already do not count. Those whose serving may find
// nothing are served once more.
func (f *follower) serveQueueLocked(q *waitQueue, fill filling, behind fsm.Behind, of int) {
	again := unknownMost
	for _, x := range q.list {
		switch {
		case fill.Most == 0 || len(f.all) >= servedBehindMax || x.bytes > f.room:
			return
		case len(x.keys) > servedKeysMax || !x.reachable():
			continue
		case x.flying == 0:
			fill.Most--
		case x.unsure == 0 || again == 0:
			continue
		default:
			again--
		}
		behind.Serve = x.serve(0)
		f.room -= x.bytes
		f.all = append(f.all, following{of, behind, f.waiters.serveBehindLocked(x, fill.sure)})
		f.add(&x.txn.Ops[0], fill.sure)
	}
}

// serveBehindLocked records that a waiter is being served behind a write.
func (w *waiters) serveBehindLocked(x *waiter, sure bool) *bundleCall {
	x.flying++
	if !sure {
		x.unsure++
	}
	c := newBundleCall(nil, 1, func(r Result) { w.serveEnded(x, r, sure) }, &w.shard.admit)
	c.left.Store(1)
	w.shard.admit.force(1, 0)
	return c
}
