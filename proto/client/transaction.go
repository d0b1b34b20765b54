package client

import (
	"bytes"
	"strconv"
	"strings"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/fsm"
	"lockstep/proto/acl"
)

// transaction is the state of MULTI and WATCH.
type transaction struct {
	// open is set between MULTI and EXEC, dirty when a command could not be queued,
	// and inPlace when one of the queued commands needs no data. runs is set after
	// EXEC while commands of the transaction run in place.
	open, dirty, inPlace, runs bool
	queue                      []queued
	bytes                      int
	watches                    []fsm.Watch
	// watching are the keys in watches, and watchBytes their memory.
	watching   map[watchedKey]struct{}
	watchBytes int
	// db is the client's database at EXEC, and word is EXEC as the client spelled it. Both are for MONITOR.
	db   int
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
	// user is the user who runs the command. EXEC determines it.
	user *acl.Account
	// denied is the error in its place if the user may no longer run it.
	denied string
}

// here reports whether the command is answered on this node, without data.
func (q *queued) here() bool { return q.denied != "" || q.spec.Scope == command.ScopeNode }

// Bounds of a transaction.
const (
	txnCommandsMax = 1 << 16
	watchesMax     = 1 << 16
	watchBytesMax  = 64 << 20
	// argOverhead is the memory of an argument beside its bytes.
	argOverhead = 24
)

const errTwoUsers = execAborted + "its scripts, and SORT, would run as two users"

// execSpec is EXEC's row. EXEC is the only command that runs data commands without
// being one.
var execSpec = commands.Get("exec")

var watchSpec = commands.Get("watch")

// InTransaction reports whether the client is between MULTI and EXEC. The server
// calls it, while it runs the client's batches.
func (c *Client) InTransaction() bool { return c.tx.open }

// runsInMulti reports whether a command runs at once even in a transaction.
func runsInMulti(s *command.Spec) bool { return s.Has(command.AtOnce) }

// enqueue copies a command into the transaction.
func (c *Client) enqueue(spec *command.Spec, args [][]byte) {
	size := 0
	for _, a := range args {
		size += len(a) + argOverhead
	}
	if len(c.tx.queue) >= txnCommandsMax || c.tx.bytes+size > fsm.TxnBytesMax {
		c.tx.dirty = true
		c.out.countedError("ERR the transaction is too large")
		return
	}
	if text := c.notInMulti(spec, args); text != "" {
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
	c.out.mute(begin)
}

const errWholeInMulti = "CROSSSLOT a transaction lives in one shard, and this command runs on all of them"

// notInMulti says why a command cannot be part of a transaction on this node, or "" if
// it can. Redis also reports this when the command is queued.
func (e *environment) notInMulti(spec *command.Spec, args [][]byte) string {
	if spec.Has(command.CallsOut) {
		return "ERR " + strings.ToUpper(spec.Name) + " cannot be part of a transaction: it waits for another server"
	}
	if spec.Merge != command.MergeNone && e.backend.Shards() > 1 {
		return errWholeInMulti
	}
	if !e.settings.Redirect {
		return ""
	}
	var call cluster.Call
	addSlots(&call, spec, args)
	return e.moved(call.Slots, false)
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

// transactionHandlers are the handlers of transaction commands, except EXEC.
var transactionHandlers = group{"multi": multi, "discard": discard, "watch": watch, "unwatch": unwatch}

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
	if text := c.moved(all.Slots, false); text != "" {
		c.out.Error(text)
		return
	}
	calls := make([]*cluster.Call, len(args)-1)
	for i, key := range args[1:] {
		calls[i] = internalCall(c.db, []byte("lockstep.versions"), key)
	}
	c.runAll(calls)
	watches := make([]fsm.Watch, len(calls))
	for i, call := range calls {
		version, seenAt, ok := parsePair(call.Reply)
		if call.Err != nil || !ok {
			c.out.Raw(c.out.replyOf(call))
			return
		}
		watches[i] = fsm.Watch{DB: c.db, Key: bytes.Clone(args[i+1]), Version: version, SeenAt: seenAt}
	}
	for _, w := range watches {
		c.tx.addWatch(w)
	}
	c.out.OK()
}

// addWatch keeps a watch unless the key is already watched: the first version
// counts.
func (t *transaction) addWatch(w fsm.Watch) {
	key := watchedKey{w.DB, string(w.Key)}
	if _, known := t.watching[key]; known {
		return
	}
	if t.watching == nil {
		t.watching = map[watchedKey]struct{}{}
	}
	t.watching[key] = struct{}{}
	t.watchBytes += watchSize(w.Key)
	t.watches = append(t.watches, w)
}

// watchSize is the memory of a watched key, which is kept twice.
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
