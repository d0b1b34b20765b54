package client

import (
	"bytes"
	"strconv"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/fsm"
	"lockstep/proto/acl"
	"lockstep/proto/resp"
)

// transaction is what MULTI and WATCH have gathered.
type transaction struct {
	// open is between MULTI and EXEC; dirty when a command could not be queued;
	// inPlace when one of the commands queued needs no data.
	// runs is while commands of it run in place, behind EXEC.
	open, dirty, inPlace, runs bool
	queue                      []queued
	bytes                      int
	watches                    []fsm.Watch
	// watching are the keys in watches, and watchBytes what they take.
	watching   map[watchedKey]struct{}
	watchBytes int
	// word is EXEC as the client spelled it, for MONITOR.
	word [len("exec")]byte
}

type watchedKey struct {
	db  int
	key string
}

// queued is a command in a transaction.
type queued struct {
	spec *command.Spec
	args [][]byte
	// user is whom the command is run as; EXEC finds out.
	user *acl.Account
	// denied is the answer in its place when the user may not run it any more.
	denied string
}

// here tells whether the command is answered here, without data.
func (q *queued) here() bool { return q.denied != "" || q.spec.Scope == command.ScopeNode }

// Bounds of a transaction.
const (
	txnCommandsMax = 1 << 16
	watchesMax     = 1 << 16
	watchBytesMax  = 64 << 20
	// argOverhead is what an argument takes beside its bytes.
	argOverhead = 24
)

const errTwoUsers = execAborted + "its scripts, and SORT, would run as two users"

// execSpec is EXEC's row: EXEC alone runs data without being data.
var execSpec = commands.Get("exec")

var watchSpec = commands.Get("watch")

// InTransaction tells whether the client is between MULTI and EXEC. It is for
// who has its batches answered.
func (c *Client) InTransaction() bool { return c.tx.open }

// runsInMulti tells whether a command runs at once even in a transaction.
func runsInMulti(s *command.Spec) bool {
	switch s.Name {
	case "exec", "discard", "multi", "watch", "quit", "reset":
		return true
	}
	return false
}

// enqueue copies a command into the transaction.
func (c *Client) enqueue(spec *command.Spec, args [][]byte) {
	size := 0
	for _, a := range args {
		size += len(a) + argOverhead
	}
	if len(c.tx.queue) >= txnCommandsMax || c.tx.bytes+size > fsm.TxnBytesMax {
		c.tx.dirty = true
		c.errorReply("ERR the transaction is too large")
		return
	}
	if text := c.notHere(spec, args); text != "" {
		c.reject(spec, text)
		return
	}
	c.tx.bytes += size
	c.tx.queue = append(c.tx.queue, queued{spec: spec, args: copyArgs(args)})
	if spec.Scope == command.ScopeNode {
		c.tx.inPlace = true
	}
	begin := c.out.Len()
	c.out.Status("QUEUED")
	c.mute(begin)
}

const errWholeInMulti = "CROSSSLOT a transaction lives in one shard, and this command runs on all of them"

// notHere says why a command cannot be part of a transaction on this node; "" if
// it can. Redis says so when the command is queued, too.
func (c *Client) notHere(spec *command.Spec, args [][]byte) string {
	if spec == migrateSpec {
		return errMigrateInMulti
	}
	if spec.Merge != command.MergeNone && c.backend.Shards() > 1 {
		return errWholeInMulti
	}
	if !c.settings.Redirect {
		return ""
	}
	var call cluster.Call
	addSlots(&call, spec, args)
	return c.moved(call.Slots)
}

func copyArgs(args [][]byte) [][]byte {
	total := 0
	for _, a := range args {
		total += len(a)
	}
	buf := make([]byte, 0, total)
	list := make([][]byte, len(args))
	for i, a := range args {
		begin := len(buf)
		buf = append(buf, a...)
		list[i] = buf[begin:len(buf):len(buf)]
	}
	return list
}

func multi(c *Client, _ [][]byte) {
	if c.tx.open {
		c.out.Error("ERR MULTI calls can not be nested")
		return
	}
	c.tx.open = true
	c.out.OK()
}

func discard(c *Client, _ [][]byte) {
	if !c.tx.open {
		c.out.Error("ERR DISCARD without MULTI")
		return
	}
	c.tx = transaction{}
	c.out.OK()
}

func unwatch(c *Client, _ [][]byte) {
	c.tx.watches, c.tx.watching, c.tx.watchBytes = nil, nil, 0
	c.out.OK()
}

func watch(c *Client, args [][]byte) {
	if c.tx.open {
		c.out.Error("ERR WATCH inside MULTI is not allowed")
		return
	}
	size := 0
	for _, key := range args[1:] {
		size += watchSize(key)
	}
	if len(c.tx.watches)+len(args)-1 > watchesMax || c.tx.watchBytes+size > watchBytesMax {
		c.out.Error("ERR too many watched keys")
		return
	}
	var all cluster.Call
	addSlots(&all, watchSpec, args)
	if text := c.moved(all.Slots); text != "" {
		c.out.Error(text)
		return
	}
	calls := make([]*cluster.Call, len(args)-1)
	for i, key := range args[1:] {
		calls[i] = c.internal([]byte("lockstep.versions"), key)
	}
	c.runAll(calls)
	watches := make([]fsm.Watch, len(calls))
	for i, call := range calls {
		version, seenAt, ok := parsePair(call.Reply)
		if call.Err != nil || !ok {
			c.out.Raw(c.replyOf(call))
			return
		}
		watches[i] = fsm.Watch{DB: c.db, Key: bytes.Clone(args[i+1]), Version: version, SeenAt: seenAt}
	}
	for _, w := range watches {
		c.watchKey(w)
	}
	c.out.OK()
}

// watchKey keeps a watch unless the key is watched already: the first look
// counts.
func (c *Client) watchKey(w fsm.Watch) {
	key := watchedKey{w.DB, string(w.Key)}
	if _, known := c.tx.watching[key]; known {
		return
	}
	if c.tx.watching == nil {
		c.tx.watching = map[watchedKey]struct{}{}
	}
	c.tx.watching[key] = struct{}{}
	c.tx.watchBytes += watchSize(w.Key)
	c.tx.watches = append(c.tx.watches, w)
}

// watchSize is what a watched key takes: it is kept twice.
func watchSize(key []byte) int { return 2*len(key) + argOverhead }

// parsePair reads "*2\r\n:a\r\n:b\r\n".
func parsePair(r []byte) (a, b uint64, ok bool) {
	parts := bytes.Split(r, []byte("\r\n"))
	if len(parts) != 4 || string(parts[0]) != "*2" || len(parts[1]) < 2 || len(parts[2]) < 2 {
		return 0, 0, false
	}
	a, err := strconv.ParseUint(string(parts[1][1:]), 10, 64)
	if err != nil {
		return 0, 0, false
	}
	b, err = strconv.ParseUint(string(parts[2][1:]), 10, 64)
	return a, b, err == nil
}

// exec ends a transaction. Commands on data alone go with the calls of the
// batch; where others are among them the client may not be the same afterwards,
// so they run at once.
func (c *Client) exec(word []byte) {
	copy(c.tx.word[:], word)
	tx := c.tx
	switch {
	case !tx.open:
		c.refuseExec(word, "ERR EXEC without MULTI")
		return
	case tx.dirty:
		c.tx = transaction{}
		c.refuseExec(word, "EXECABORT Transaction discarded because of previous errors.")
		return
	}
	one := c.judgeQueue(&tx)
	c.tx = transaction{}
	if !one {
		c.refuseExec(word, errTwoUsers)
		return
	}
	// Those who monitor see what ran before, and then whether the transaction did.
	watched := c.registry.monitors.watched()
	if tx.inPlace || watched {
		c.settle()
	}
	s := c.nextCall(execSpec)
	c.calls.data = true
	s.exec = &tx
	c.txnOf(&tx, &s.call)
	c.answerFor(&s.call)
	switch {
	case len(s.call.Txn.Ops) == 0 && len(tx.watches) == 0:
		c.calls.takeBack()
		c.writeReplies(&tx, nil)
		c.seenTransaction(&tx, true)
		c.stats.ran(execSpec, 0, false)
	case c.redirect(&s.call):
	case !tx.inPlace:
		c.used(&s.call)
		c.rememberQueue(&tx)
		if watched {
			c.settle()
		}
	default:
		c.used(&s.call)
		c.rememberQueue(&tx)
		c.execAmong(&tx)
	}
}

// judgeQueue looks once more at what the user may do: the rules may have changed
// since the commands were queued, and with AUTH among them the client becomes another
// user on the way. false: commands that must know their user would have two, and a txn
// has room for one.
func (c *Client) judgeQueue(tx *transaction) (one bool) {
	user, known := c.user, (*acl.Account)(nil)
	for i := range tx.queue {
		q := &tx.queue[i]
		q.user = user
		if q.denied = c.denialAtExec(user, q); q.denied != "" {
			tx.inPlace = true
			continue
		}
		if q.spec.NeedsUser() {
			if known != nil && !bytes.Equal(known.Carried, user.Carried) {
				return false
			}
			known = user
		}
		user = c.userBehind(user, q)
	}
	return true
}

func (c *Client) refuseExec(word []byte, text string) {
	c.seen(execSpec, [][]byte{word}, c.db)
	c.errorReply(text)
	c.stats.ran(execSpec, 0, true)
}

// execAmong runs the transaction gathered last, and then the commands in it
// that need no data, each at its place.
func (c *Client) execAmong(tx *transaction) {
	s := &c.calls.all[0]
	started := time.Now()
	c.backend.Do(c.ctx, []*cluster.Call{&s.call})
	answer := c.answer(s, time.Since(started))
	c.stats.count(&c.calls.ran)
	c.calls.takeBack()
	c.calls.data = false
	if len(answer) == 0 || answer[0] != '*' || bytes.HasPrefix(answer, []byte("*-1")) {
		begin := c.out.Len()
		c.out.Raw(answer)
		c.mute(begin)
		return
	}
	c.writeReplies(tx, answer[bytes.IndexByte(answer, '\n')+1:])
}

// countQueued counts the commands on data of a transaction whose EXEC was answered, and their errors. Each took its
// share of the time. Of a transaction that did not run nothing is counted.
func (c *Client) countQueued(tx *transaction, took time.Duration, answer []byte) {
	if len(answer) == 0 || answer[0] != '*' || bytes.HasPrefix(answer, []byte("*-1")) {
		return
	}
	replies := answer[bytes.IndexByte(answer, '\n')+1:]
	for _, q := range tx.queue {
		if q.here() || q.denied != "" {
			continue
		}
		n := resp.Skip(replies)
		failed := replies[0] == '-'
		if failed && !q.spec.RunsProgram() {
			c.stats.countError(replies)
		}
		c.stats.ran(q.spec, took/time.Duration(len(tx.queue)), failed)
		replies = replies[n:]
	}
}

// txnOf makes the txn of a transaction: its commands on data, each with the
// database that a SELECT before it chose. Where all of them only read, the log need
// not have it.
func (c *Client) txnOf(tx *transaction, call *cluster.Call) {
	call.ReadOnly = true
	call.Txn = fsm.Txn{Kind: fsm.KindExec, Proto: uint8(c.proto), NoTouch: c.noTouch, Watches: tx.watches}
	call.Client = c.caching.author(c)
	db := c.db
	for _, q := range tx.queue {
		db = selected(&q, db)
		if q.here() {
			continue
		}
		c.carry(&call.Txn, q.user, q.spec)
		call.Txn.Ops = append(call.Txn.Ops, opOf(db, q.args, q.spec))
		// What programs do is known in the log alone.
		call.ReadOnly = call.ReadOnly && q.spec.Plan == nil && !q.spec.Writes(q.args)
		addSlots(call, q.spec, q.args)
	}
	for i := range tx.watches {
		call.Slots = append(call.Slots, uint16(slotOf(tx.watches[i].Key)))
	}
}

// inTransaction runs a command on the node at its place in a transaction.
func (c *Client) inTransaction(q *queued) {
	c.tx.runs = true
	defer func() { c.tx.runs = false }()
	switch q.spec.Name {
	case "monitor":
		c.out.Error(errMonitorInMulti)
		return
	case "ssubscribe":
		c.out.Error(errShardSubscribeInMulti)
		return
	}
	c.inPlace(handlers[q.spec.Name], q.args)
}

// selected is the database in use after a command of a transaction.
func selected(q *queued, db int) int {
	if q.spec.Name == "select" && q.denied == "" {
		if n, ok := parseInt(q.args[1]); ok && n >= 0 && n < databases {
			return int(n)
		}
	}
	return db
}

const errExecTooLong = "ERR the replies of the transaction are longer than they may be together (256 MB); this command was not executed"

// writeReplies writes EXEC's array: the txn's replies, and between them what
// commands on the node answer now. CLIENT REPLY among them mutes what stands behind
// it, and nothing before: as with Redis the array may want elements, or its head.
func (c *Client) writeReplies(tx *transaction, replies []byte) {
	begin := c.out.Len()
	c.out.Array(len(tx.queue))
	c.mute(begin)
	chosen := false
	for _, q := range tx.queue {
		at := c.out.Len()
		switch {
		case q.denied != "":
			c.out.Error(q.denied)
			c.stats.of(q.spec).rejected.Add(1)
			c.stats.countError(c.out.Bytes()[at:])
		case q.here() && at-begin > mergedBytesMax:
			// Nothing is sent before all has run: what follows would be held, too.
			c.out.Error(errExecTooLong)
		case q.here():
			c.inTransaction(&q)
			chosen = chosen || q.spec == trackingSpec
			written := c.out.Bytes()[at:]
			failed := len(written) > 0 && written[0] == '-'
			if failed {
				c.stats.countError(written)
			}
			c.stats.ran(q.spec, 0, failed)
			if confirms(q.spec) && len(written) > 0 && !failed {
				continue
			}
		default:
			n := resp.Skip(replies)
			c.out.Raw(replies[:n])
			replies = replies[n:]
			if chosen {
				c.doubt(q.spec, q.args)
			}
		}
		c.mute(at)
	}
}
