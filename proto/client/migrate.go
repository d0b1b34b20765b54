package client

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/reply"
	"lockstep/fsm"
	"lockstep/proto/resp"
)

// MIGRATE hands keys over to another server. Redis stops all other commands
// meanwhile; here they go on. So each key's dump comes with its version, the target
// is sent the dump, and the key is deleted by a transaction that watches that
// version. A key that was written after the dump stays, and the reply says so. A
// key is not deleted if it is not known whether the target has it.
//
// The keys are sent in runs, one after the other, and at most one run is in memory.
// The client's own goroutine waits for all of it and serves no other client.

const (
	// migrationsMax is how many MIGRATEs may be under way on a node.
	migrationsMax = 8
	// migrateRunKeys is how many keys a run has. It has fewer if they are large:
	// beyond some size of replies a shard leaves reads for later
	// (cluster.Call.Answered).
	migrateRunKeys = 64
	// migrateTimeout is the timeout used for 0, migrateTimeoutMax the longest one.
	migrateTimeout    = time.Second
	migrateTimeoutMax = time.Hour
)

const errMigrateKey = "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string"

var migrateSpec = commands.Get("migrate")

// migrations are the slots for MIGRATEs under way on a node.
type migrations chan struct{}

// acquire waits for a slot. It returns false if none became free in time.
func (m migrations) acquire(ctx context.Context, patience time.Duration) bool {
	select {
	case m <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case m <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (m migrations) release() { <-m }

// migration is one MIGRATE.
type migration struct {
	c *Client
	// ctx ends when the client disconnects or the node stops.
	ctx           context.Context
	host, port    string
	db            int64
	timeout       time.Duration
	copy, replace bool
	// auth is the AUTH command for the target, or nil if there is none.
	auth [][]byte
	keys [][]byte

	// target is nil until there is something to send.
	target *target
	// found is how many keys there were. moved is how many the target has taken and, without COPY,
	// are deleted here. changed is how many have changed here since.
	found, moved, changed int
	// refusal is the target's first error reply to RESTORE.
	refusal string
}

// parcel is a key that is being handed over.
type parcel struct {
	key, dump []byte
	watch     fsm.Watch
	leftMs    int64
}

func migrate(c *Client, args [][]byte) {
	m := &migration{c: c}
	if text := m.parse(args); text != "" {
		c.out.Error(text)
		return
	}
	var all cluster.Call
	addSlots(&all, migrateSpec, args)
	if text := c.moved(all.Slots, false); text != "" {
		c.out.Error(text)
		return
	}
	if text := m.whileConnected(); text != "" {
		c.out.Error(text)
		return
	}
	if m.found == 0 {
		c.out.Status("NOKEY")
		return
	}
	c.out.OK()
}

// parse reads the arguments. refusal is the error's text, or "".
func (m *migration) parse(args [][]byte) (refusal string) {
	m.host, m.port, m.keys = string(args[1]), string(args[2]), args[3:4]
	for i := 6; i < len(args); i++ {
		switch left := len(args) - 1 - i; {
		case fold(args[i]) == "copy":
			m.copy = true
		case fold(args[i]) == "replace":
			m.replace = true
		case fold(args[i]) == "auth" && left >= 1:
			m.auth = [][]byte{[]byte("AUTH"), args[i+1]}
			i++
		case fold(args[i]) == "auth2" && left >= 2:
			m.auth = [][]byte{[]byte("AUTH"), args[i+1], args[i+2]}
			i += 2
		case fold(args[i]) == "keys" && len(args[3]) > 0:
			return errMigrateKey
		case fold(args[i]) == "keys":
			m.keys = args[i+1:]
			i = len(args)
		default:
			return command.ErrSyntax
		}
	}
	ms, ok := parseInt(args[5])
	if !ok {
		return command.ErrNotInteger
	}
	if m.db, ok = parseInt(args[4]); !ok {
		return command.ErrNotInteger
	}
	if m.timeout = migrateTimeout; ms > 0 {
		m.timeout = time.Duration(min(ms, migrateTimeoutMax.Milliseconds())) * time.Millisecond
	}
	return ""
}

// whileConnected runs the migration as long as the client is connected and the node runs. It
// returns the text of the error for the client, or "" if all went well.
func (m *migration) whileConnected() (problem string) {
	c := m.c
	ctx, _, stop := c.whileConnected()
	defer stop()
	m.ctx = ctx
	c.listener.release()
	defer c.listener.hold()
	if !c.registry.migrations.acquire(ctx, m.timeout) {
		return resp.ErrorText(cluster.ErrOverloaded)
	}
	defer c.registry.migrations.release()
	defer func() {
		if m.target != nil {
			m.target.close()
		}
	}()
	for len(m.keys) > 0 {
		if problem = m.run(); problem != "" {
			return problem
		}
	}
	switch {
	case m.refusal != "":
		return targetSays(m.refusal)
	case m.changed > 0:
		return fmt.Sprintf("ERR %d of %d keys have changed since they were sent: what they are now was left alone, and the target has what they were; MIGRATE them again with REPLACE", m.changed, m.found)
	}
	return ""
}

// run hands over the next run of keys.
func (m *migration) run() (problem string) {
	parcels, problem := m.pack()
	if problem != "" || len(parcels) == 0 {
		return problem
	}
	if m.target == nil {
		if problem = m.open(); problem != "" {
			return problem
		}
	}
	taken, problem := m.deliver(parcels)
	if m.copy {
		m.moved += len(taken)
		return problem
	}
	// This is done even if the connection broke: the target has the keys that it
	// confirmed.
	if left := m.remove(taken); left != "" {
		return left
	}
	return problem
}

// pack reads keys, and removes those that it has read from the list.
func (m *migration) pack() (parcels []parcel, problem string) {
	n := min(len(m.keys), migrateRunKeys)
	calls := make([]*cluster.Call, n)
	for i, key := range m.keys[:n] {
		calls[i] = internalCall(m.c.db, []byte("lockstep.dump"), key)
		m.c.used(calls[i])
	}
	m.c.backend.Do(m.ctx, calls)
	var later [][]byte
	for i, call := range calls {
		key := m.keys[i]
		switch p, there := opened(call.Reply); {
		case call.Err == nil && call.Reply == nil:
			// The replies before it are large.
			later = append(later, key)
		case call.Err != nil || call.Reply[0] == '-':
			return nil, m.soFar(m.c.out.replyOf(call))
		case there:
			p.key, p.watch.Key, p.watch.DB = key, key, m.c.db
			parcels = append(parcels, p)
		}
	}
	m.keys = append(later, m.keys[n:]...)
	m.found += len(parcels)
	return parcels, ""
}

// opened reads the reply to lockstep.dump. It returns false if there is no such key, or if the
// reply is invalid.
func opened(r []byte) (p parcel, there bool) {
	rest, ok := bytes.CutPrefix(r, []byte("*4\r\n"))
	if !ok {
		return p, false
	}
	numbers := [3]int64{}
	for i := range numbers {
		numbers[i], rest = integerOf(rest), behindLine(rest)
	}
	dump := behindLine(rest)
	p.watch.Version, p.watch.SeenAt, p.leftMs = uint64(numbers[0]), uint64(numbers[1]), numbers[2]
	p.dump = dump[:len(dump)-2]
	return p, true
}

// soFar is an error that ends a migration. If keys are deleted already, it must not
// say that nothing has run.
func (m *migration) soFar(failure []byte) string {
	text := string(bytes.TrimSpace(failure[1:]))
	if m.moved == 0 && m.refusal == "" && m.changed == 0 {
		return text
	}
	return fmt.Sprintf("INDETERMINATE the target has taken %d keys, others are still here: %s", m.moved, text)
}

// open connects to the target, logs in and selects the database. The replies are
// read before any key is sent, so that no key is written to the wrong database.
func (m *migration) open() (problem string) {
	t, problem := dialTarget(m.ctx, m.host, m.port, m.timeout, m.c.backend.targetTLS)
	if problem != "" {
		return problem
	}
	t.tie(m.ctx)
	m.target = t
	if m.auth != nil {
		if problem = t.ask(m.auth...); problem != "" {
			return problem
		}
	}
	return t.ask([]byte("SELECT"), strconv.AppendInt(nil, m.db, 10))
}

// deliver sends parcels, and returns those that the target has taken.
func (m *migration) deliver(parcels []parcel) (taken []parcel, problem string) {
	t := m.target
	for i := range parcels {
		p := &parcels[i]
		restore := [][]byte{[]byte("RESTORE"), p.key, strconv.AppendInt(nil, p.leftMs, 10), p.dump, []byte("REPLACE")}
		if !m.replace {
			restore = restore[:4]
		}
		t.send(restore...)
		p.dump = nil
	}
	if t.flush() != nil {
		return nil, errTargetWrite
	}
	for _, p := range parcels {
		refusal, err := t.reply()
		switch {
		case err != nil:
			return taken, errTargetRead
		case refusal == "":
			taken = append(taken, p)
		case m.refusal == "":
			m.refusal = refusal
		}
	}
	return taken, ""
}

// remove deletes keys that the target has taken, if they have not changed since. It
// goes on if the client disconnects. problem names the keys of which the outcome is
// not known.
func (m *migration) remove(taken []parcel) (problem string) {
	calls := make([]*cluster.Call, 0, len(taken))
	named := make(map[string]bool, len(taken))
	for _, p := range taken {
		if !named[string(p.key)] {
			named[string(p.key)] = true
			calls = append(calls, m.removal(p))
		}
	}
	m.c.runAll(calls)
	failed, ran := 0, false
	var why []byte
	for _, call := range calls {
		switch r := m.c.out.replyOf(call); {
		case bytes.HasPrefix(r, []byte("*-1")):
			m.changed++
		case r[0] == '*':
			m.moved++
		default:
			failed, why = failed+1, r
			ran = ran || call.Err != nil && !resp.NotExecuted(call.Err)
		}
	}
	text := string(bytes.TrimSpace(bytes.TrimPrefix(why, []byte("-"))))
	switch {
	case failed == 0:
		return ""
	case ran:
		return fmt.Sprintf("INDETERMINATE the target has taken %d keys that may still be here: %s", failed, text)
	}
	return fmt.Sprintf("ERR the target has taken %d keys that are still here: %s", failed, text)
}

// removal deletes a key unless it has changed.
func (m *migration) removal(p parcel) *cluster.Call {
	del := [][]byte{[]byte("DEL"), p.key}
	call := &cluster.Call{
		Client: m.c.author(),
		Txn: fsm.Txn{
			Kind: fsm.KindExec, Proto: reply.RESP2, Watches: []fsm.Watch{p.watch},
			Ops: []fsm.Op{fsm.NewOp(m.c.db, del, delSpec)},
		},
	}
	call.SetSlot(slotOf(p.key))
	m.c.used(call)
	return call
}

var delSpec = commands.Get("del")
