package client

import (
	"bytes"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/fsm"
	"lockstep/proto/acl"
	"lockstep/proto/resp"
)

// execution is one EXEC of a client.
type execution struct {
	c  *Client
	tx *transaction
}

// exec is EXEC. A transaction of only data commands runs with the calls of the batch. Other commands may change the
// client's state, so a transaction with such commands runs at once.
func (c *Client) exec(word []byte) {
	c.tx.db = c.db
	copy(c.tx.word[:], word)
	tx := c.tx
	e := execution{c, &tx}
	switch {
	case !tx.open:
		e.refuse(word, "ERR EXEC without MULTI")
		return
	case tx.dirty:
		c.tx = transaction{}
		e.refuse(word, "EXECABORT Transaction discarded because of previous errors.")
		return
	}
	one := e.judge()
	c.tx = transaction{}
	if !one {
		e.refuse(word, errTwoUsers)
		return
	}
	// Monitoring clients see the commands before, and then whether the transaction ran.
	watched := c.registry.monitors.watched()
	if tx.inPlace || watched {
		c.calls.run()
	}
	s := c.calls.add(execSpec)
	c.calls.data = true
	s.exec = &tx
	e.txn(&s.call)
	c.calls.letGiveUp(&s.call)
	switch {
	case len(s.call.Txn.Ops) == 0 && len(tx.watches) == 0:
		c.calls.dropLast()
		e.writeReplies(nil)
		c.records.showTransaction(&tx, true)
		c.stats.Ran(execSpec, 0, false)
	case c.calls.redirect(&s.call):
	case !tx.inPlace:
		c.used(&s.call)
		c.rememberQueue(&tx)
		if watched {
			c.calls.run()
		}
	default:
		c.used(&s.call)
		c.rememberQueue(&tx)
		e.among()
	}
}

// judge checks once more what the user may do: the rules may have changed since the commands were queued, and an AUTH
// among the commands makes the client another user. judge returns false if the commands that must know their user
// would have two users, because a txn carries only one.
func (e *execution) judge() (one bool) {
	user, known := e.c.user, (*acl.Account)(nil)
	for i := range e.tx.queue {
		q := &e.tx.queue[i]
		q.user = user
		if q.denied = e.c.denialAtExec(user, q); q.denied != "" {
			e.tx.inPlace = true
			continue
		}
		if q.spec.NeedsUser() {
			if known != nil && !bytes.Equal(known.Carried, user.Carried) {
				return false
			}
			known = user
		}
		user = e.c.userBehind(user, q)
	}
	return true
}

// refuse answers a transaction that does not run.
func (e *execution) refuse(word []byte, text string) {
	e.c.records.show(execSpec, [][]byte{word}, e.c.db)
	e.c.out.countedError(text)
	e.c.stats.Ran(execSpec, 0, true)
}

// among runs the transaction collected last, and then those of its commands that
// need no data, each at its position.
func (e *execution) among() {
	s := &e.c.calls.all[0]
	started := time.Now()
	e.c.backend.Do(e.c.ctx, []*cluster.Call{&s.call})
	answer := e.c.calls.answer(s, time.Since(started))
	e.c.stats.Count(&e.c.calls.ran)
	e.c.calls.dropLast()
	e.c.calls.data = false
	if len(answer) == 0 || answer[0] != '*' || bytes.HasPrefix(answer, []byte("*-1")) {
		begin := e.c.out.Len()
		e.c.out.Raw(answer)
		e.c.out.mute(begin)
		return
	}
	e.writeReplies(answer[bytes.IndexByte(answer, '\n')+1:])
}

// txn makes the txn of a transaction: its commands on data, each with the database that a SELECT before it chose. If
// all of them only read, the txn need not enter the log.
func (e *execution) txn(call *cluster.Call) {
	call.ReadOnly = true
	call.Txn = fsm.Txn{Kind: fsm.KindExec, Proto: uint8(e.c.out.Proto), NoTouch: e.c.noTouch, Watches: e.tx.watches}
	call.Client = e.c.author()
	db := e.c.db
	for _, q := range e.tx.queue {
		db = selected(&q, db)
		if q.here() {
			continue
		}
		e.c.carry(&call.Txn, q.user, q.spec)
		call.Txn.Ops = append(call.Txn.Ops, opOf(db, q.args, q.spec))
		call.ReadOnly = call.ReadOnly && (q.spec.Plan == nil || q.spec.RunsProgram()) && !e.c.backend.mustLog(q.spec, q.args)
		addSlots(call, q.spec, q.args)
	}
	for i := range e.tx.watches {
		call.Slots = append(call.Slots, uint16(slotOf(e.tx.watches[i].Key)))
	}
}

// inPlace runs a command on the node at its position in a transaction.
func (e *execution) inPlace(q *queued) {
	e.c.tx.runs = true
	defer func() { e.c.tx.runs = false }()
	e.c.inPlace(e.c.backend.Handlers[q.spec.Number()], q.args)
}

// selected is the selected database after a command of a transaction.
func selected(q *queued, db int) int {
	if q.spec.Has(command.SelectsDB) && q.denied == "" {
		if n, ok := parseInt(q.args[1]); ok && n >= 0 && n < databases {
			return int(n)
		}
	}
	return db
}

const errExecTooLong = "ERR the replies of the transaction are longer than they may be together (256 MB); this command was not executed"

// writeReplies writes EXEC's array: the txn's replies, and between them the replies of commands on the node, which
// run now. A CLIENT REPLY among them mutes the replies after it and none before. So the array may lack elements, or
// its header, as with Redis.
func (e *execution) writeReplies(replies []byte) {
	begin := e.c.out.Len()
	e.c.out.Array(len(e.tx.queue))
	e.c.out.mute(begin)
	chosen := false
	for _, q := range e.tx.queue {
		at := e.c.out.Len()
		switch {
		case q.denied != "":
			e.c.out.Error(q.denied)
			e.c.stats.Rejected(q.spec)
			e.c.stats.CountError(e.c.out.Bytes()[at:])
		case q.here() && at-begin > mergedBytesMax:
			// Nothing is sent before all commands have run, so their output would
			// be held in memory, too.
			e.c.out.Error(errExecTooLong)
		case q.here():
			started := time.Now()
			e.inPlace(&q)
			took := time.Since(started)
			chosen = chosen || q.spec.Has(command.Tracks)
			written := e.c.out.Bytes()[at:]
			failed := e.c.records.count(q.spec, took, written)
			e.c.records.slow(q.spec, q.args, took)
			if q.spec.Has(command.Confirms) && len(written) > 0 && !failed {
				continue
			}
		default:
			n := resp.Skip(replies)
			e.c.out.Raw(replies[:n])
			replies = replies[n:]
			if chosen {
				e.c.doubt(q.spec, q.args)
			}
		}
		e.c.out.mute(at)
	}
}
