package client

import (
	"errors"

	"lockstep/cluster"
	"lockstep/engine/reply"
	"lockstep/proto/resp"
)

// replyMode is the choice of CLIENT REPLY.
type replyMode uint8

const (
	replyOn replyMode = iota
	replyOff
	// replySkipNext mutes the next command, replySkip the current one.
	replySkipNext
	replySkip
)

// flushBytes is how many bytes of replies are buffered before they are written in
// the middle of a batch.
const flushBytes = 64 << 10

// output holds a client's replies until they are written.
type output struct {
	// Writer takes the replies of commands that ran in place. Replies of collected
	// calls are inserted later.
	reply.Writer
	env  *environment
	mode replyMode
	// closing is true if the connection is closed after the replies are written, silent if the
	// replies are not written.
	closing, silent bool
	// lost is true if replies can no longer be written. Commands received before that still run, as
	// with Redis, except reads with large replies.
	lost bool
	// noWait is true if the current batch must not wait (Begin, Resume).
	noWait bool
}

func (o *output) muted() bool { return o.mode == replyOff || o.mode == replySkip }

// mute discards the output since begin if the client wants no reply. The batch's
// calls must not have run in between.
func (o *output) mute(begin int) {
	if o.muted() {
		o.Truncate(begin)
	}
}

// countedError writes an error and counts it.
func (o *output) countedError(text string) {
	begin := o.Len()
	o.Error(text)
	o.env.stats.CountError(o.Bytes()[begin:])
	o.mute(begin)
}

// write sends the buffered replies.
func (o *output) write() bool {
	if o.Len() == 0 || o.silent {
		return !o.lost
	}
	_, err := o.env.conn.Write(o.Bytes())
	o.Release(4 * flushBytes)
	o.Reset(o.Proto)
	if err != nil {
		// A client that did not read its replies is cut off at once.
		o.lost, o.closing = true, o.closing || errors.Is(err, resp.ErrOutputBuffer)
	}
	return !o.lost
}

// awaitRoom slows down a client that has much output waiting to be read. It does nothing in a batch
// that must not wait.
func (o *output) awaitRoom() {
	if !o.noWait && !o.lost {
		o.env.conn.AwaitRoom(o.env.ctx)
	}
}

const execAborted = "EXECABORT Transaction discarded because of: "

// callError renders the error of a call that has no reply. For a transaction that
// certainly did not run Redis answers EXECABORT with the reason. CROSSSLOT, which
// cluster clients look for, is not wrapped.
func (o *output) callError(err error, exec bool) []byte {
	text := resp.ErrorText(err)
	if exec && resp.NotExecuted(err) && !errors.Is(err, cluster.ErrCrossSlot) {
		text = execAborted + text
	}
	w := reply.NewWriter(o.Proto)
	w.Error(text)
	return w.Bytes()
}

// replyOf is a call's reply, or its error as one.
func (o *output) replyOf(call *cluster.Call) []byte {
	if call.Err != nil {
		return o.callError(call.Err, false)
	}
	return call.Reply
}
