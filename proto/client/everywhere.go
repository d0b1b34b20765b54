package client

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/cluster"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/commands/keycmd"
	"lockstep/engine/reply"
	"lockstep/fsm"
	"lockstep/proto/resp"
)

// Commands that run on every shard (command.Merge), where there are several. Each
// shard answers for itself, at its own moment: a command that is atomic on one
// shard is not atomic across all of them.
//
// A write is sent only when every shard has answered that it has a leader, so that
// a command which cannot run everywhere does not run at all. If a shard is lost
// between that check and the command, the reply is INDETERMINATE and says on how
// many shards it ran.

// runEverywhere runs a command on all shards and merges the replies.
func (c *Client) runEverywhere(spec *command.Spec, args [][]byte) {
	c.calls.run()
	c.records.show(spec, args, c.db)
	started := time.Now()
	answer := fanOut{c}.run(spec, args)
	begin := c.out.Len()
	c.out.Raw(answer)
	took := time.Since(started)
	c.records.count(spec, took, answer)
	c.records.slow(spec, args, took)
	c.out.mute(begin)
}

// fanOut runs one command of a client on all shards.
type fanOut struct{ c *Client }

// run returns the merged reply of all shards.
func (f fanOut) run(spec *command.Spec, args [][]byte) []byte {
	switch {
	case spec.Merge == command.MergeCursor:
		return f.scanShards(args)
	case spec.Merge == command.MergeChance:
		return f.drawShard(args)
	case !f.c.backend.mustLog(spec, args):
		return f.merged(spec.Merge, f.onAllShards(true, args))
	}
	if answer := f.merged(command.MergeSame, f.allPresent()); answer[0] == '-' {
		return answer
	}
	calls := f.onAllShards(false, args)
	if text := f.half(spec, calls); text != "" {
		w := reply.NewWriter(f.c.out.Proto)
		w.Error(text)
		return w.Bytes()
	}
	return f.merged(spec.Merge, calls)
}

// allPresent checks that the leader of every shard answers.
func (f fanOut) allPresent() []*cluster.Call {
	calls := make([]*cluster.Call, f.c.backend.Shards())
	for i := range calls {
		calls[i] = f.toShard(i, true, presentArgs)
		calls[i].Stale = false
	}
	f.c.runAll(calls)
	return calls
}

var presentArgs = [][]byte{[]byte("lockstep.present")}

func (f fanOut) onAllShards(readOnly bool, args [][]byte) []*cluster.Call {
	calls := make([]*cluster.Call, f.c.backend.Shards())
	for i := range calls {
		calls[i] = f.toShard(i, readOnly, args)
	}
	f.c.runAll(calls)
	return calls
}

func (f fanOut) toShard(shard int, readOnly bool, args [][]byte) *cluster.Call {
	call := &cluster.Call{
		Client: f.c.author(),
		Txn:    fsm.Txn{Proto: uint8(f.c.out.Proto), Ops: []fsm.Op{{DB: f.c.db, Args: args}}},
		Shard:  shard, ReadOnly: readOnly,
	}
	if spec, _ := commands.Lookup(args); spec != nil {
		f.c.carry(&call.Txn, f.c.user, spec)
	}
	f.c.mayBeStale(call)
	f.c.used(call)
	return call
}

// half is the error of a write that some shards ran and others did not, or may not
// have. It is "" if all succeeded, or if none ran it.
func (f fanOut) half(spec *command.Spec, calls []*cluster.Call) string {
	ran, changed, failed := 0, false, -1
	for i, call := range calls {
		well := call.Err == nil && len(call.Reply) > 0 && call.Reply[0] != '-'
		switch {
		case well:
			ran++
		case failed < 0:
			failed = i
		}
		changed = changed || well || call.Err != nil && !resp.NotExecuted(call.Err)
	}
	if failed < 0 || !changed {
		return ""
	}
	why := strings.TrimPrefix(strings.TrimSpace(string(f.c.out.replyOf(calls[failed]))), "-")
	return fmt.Sprintf("INDETERMINATE %s ran on %d of %d shards; shard %d says: %s", strings.ToUpper(spec.Name), ran, len(calls), failed, why)
}

// mergedBytesMax bounds the merged reply of all shards, like the reply of one shard
// and those of a transaction.
const mergedBytesMax = 256 << 20

const errMergedTooLong = "ERR the reply of all shards together is longer than a reply may be (256 MB)"

// merged makes one reply of all. An error of any shard becomes the reply.
func (f fanOut) merged(how command.Merge, calls []*cluster.Call) []byte {
	replies := make([][]byte, len(calls))
	for i, call := range calls {
		if replies[i] = f.c.out.replyOf(call); replies[i][0] == '-' && how != command.MergeAny {
			return replies[i]
		}
	}
	w := reply.NewWriter(f.c.out.Proto)
	switch how {
	case command.MergeSum:
		sum := int64(0)
		for _, r := range replies {
			sum += integerOf(r)
		}
		w.Int(sum)
	case command.MergeConcat:
		n, size := int64(0), 0
		for _, r := range replies {
			n, size = n+integerOf(r), size+len(r)
		}
		if size > mergedBytesMax {
			w.Error(errMergedTooLong)
			break
		}
		w.Array(int(n))
		for _, r := range replies {
			w.Raw(behindLine(r))
		}
	case command.MergeLeast:
		mergeLeast(w, replies)
	case command.MergeAny:
		return anyOf(replies)
	case command.MergeBusy:
		return busyOf(replies)
	case command.MergeDigest:
		parts := make([][][]byte, len(replies))
		for i, r := range replies {
			parts[i] = elementsOf(r)
		}
		w.Status(keycmd.FoldDigests(parts))
	default:
		return replies[0]
	}
	return w.Bytes()
}

// anyOf is the first reply that is not an error, or else the most informative
// error.
func anyOf(replies [][]byte) []byte {
	best := replies[0]
	for _, r := range replies {
		if r[0] != '-' {
			return r
		}
		if bytes.HasPrefix(best, []byte("-NOTBUSY")) {
			best = r
		}
	}
	return best
}

// busyOf is the first reply to FUNCTION STATS that shows a running function.
// All shards have the same libraries.
func busyOf(replies [][]byte) []byte {
	const running = "$14\r\nrunning_script\r\n"
	for _, r := range replies {
		if _, state, found := bytes.Cut(r, []byte(running)); found && (state[0] == '*' || state[0] == '%') && state[1] != '-' {
			return r
		}
	}
	return replies[0]
}

// integerOf is the number in the first line of a reply: an integer, or the length
// of an array.
func integerOf(r []byte) int64 {
	line, _, _ := bytes.Cut(r, []byte("\r\n"))
	n, _ := strconv.ParseInt(string(line[1:]), 10, 64)
	return n
}

// behindLine is the part of a reply after its first line.
func behindLine(r []byte) []byte { return r[bytes.IndexByte(r, '\n')+1:] }

func mergeLeast(w *reply.Writer, replies [][]byte) {
	n := int(integerOf(replies[0]))
	rest := make([][]byte, len(replies))
	for i, r := range replies {
		n, rest[i] = min(n, int(integerOf(r))), behindLine(r)
	}
	w.Array(n)
	for range n {
		least := integerOf(rest[0])
		for i, r := range rest {
			least, rest[i] = min(least, integerOf(r)), behindLine(r)
		}
		w.Int(least)
	}
}

// elementsOf are the elements of an array of bulk strings.
func elementsOf(r []byte) [][]byte {
	var list [][]byte
	for rest := behindLine(r); len(rest) > 0; {
		n := resp.Skip(rest)
		list = append(list, behindLine(rest[:n-2]))
		rest = rest[n:]
	}
	return list
}

// scanStretch is how many shards one SCAN visits at most.
const scanStretch = 16

// scanShards walks one shard after the other. SCAN's guarantees for a shard hold
// for all, because keys stay in their shard. If a shard ends before it gave the
// requested number of keys, the next one is scanned, too. An error there is left to
// the SCAN that starts there.
func (f fanOut) scanShards(args [][]byte) []byte {
	w := reply.NewWriter(f.c.out.Proto)
	cursor, ok := command.CursorNumber(args[1])
	if !ok {
		w.Error(command.ErrInvalidCursor)
		return w.Bytes()
	}
	shards, count := f.c.backend.Shards(), command.ScanCount(args)
	var keys []byte
	found := int64(0)
	for visited := range scanStretch {
		shard, place := command.SplitCursor(cursor, shards)
		own := slices.Clone(args)
		own[1] = strconv.AppendUint(nil, place, 10)
		r := f.c.one(f.toShard(shard, true, own))
		switch {
		case r[0] != '*' && visited > 0:
			return scanReply(w, cursor, found, keys)
		case r[0] != '*':
			return r
		}
		rest := behindLine(r)
		size := resp.Skip(rest)
		text := behindLine(rest[:size])
		next, _ := command.CursorNumber(text[:len(text)-2])
		found += integerOf(rest[size:])
		keys = append(keys, behindLine(rest[size:])...)
		cursor = command.JoinCursor(shard, next, shards)
		if cursor == 0 || next != 0 || found >= count {
			break
		}
	}
	return scanReply(w, cursor, found, keys)
}

func scanReply(w *reply.Writer, cursor uint64, found int64, keys []byte) []byte {
	w.Array(2)
	w.Bulk(strconv.AppendUint(nil, cursor, 10))
	w.Array(int(found))
	w.Raw(keys)
	return w.Bytes()
}

// drawShard asks one shard, drawn so that each key has the same chance. If that
// shard has lost its keys meanwhile, it asks the others in turn.
func (f fanOut) drawShard(args [][]byte) []byte {
	sizes := f.onAllShards(true, [][]byte{[]byte("dbsize")})
	total := f.merged(command.MergeSum, sizes)
	if total[0] == '-' {
		return total
	}
	first := 0
	if n := integerOf(total); n > 0 {
		for n = rand.Int64N(n); n >= integerOf(sizes[first].Reply); first++ {
			n -= integerOf(sizes[first].Reply)
		}
	}
	var r []byte
	for i := range sizes {
		r = f.c.one(f.toShard((first+i)%len(sizes), true, args))
		if len(r) == 0 || r[0] == '-' || r[0] == '$' && r[1] != '-' {
			break
		}
	}
	return r
}
