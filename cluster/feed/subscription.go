package feed

import (
	"sync"
	"time"

	"lockstep/engine/command"
	"lockstep/fsm"
)

// subscription is the subscription of one gateway, at its source.
type subscription struct {
	source  *Source
	outlet  *Outlet
	replica Replica
	id      uint64
	want    Want
	// node is the incarnation of the gateway.
	node uint64

	mu sync.Mutex // guards what follows
	// from is the index up to which the gateway has the keyspace events.
	from uint64
	// batches are the waiting items, oldest first, of bytes in all. The last batch may still
	// grow.
	batches [][]byte
	bytes   int
	// number is the number of the newest batch that was sent; sent is its answer until it
	// is confirmed.
	number uint64
	sent   []byte
	// reply answers the open poll. It is nil if none is open. polled is when the last poll came.
	reply  func([]byte)
	polled time.Time
	// led is when the replica was last seen fit.
	led   time.Time
	ended bool
}

// changed notes keys that changed. It is called while the txn runs.
func (x *subscription) changed(by fsm.TxnID, keys [][]byte) {
	var own *fsm.TxnID
	if by.Node == x.node {
		own = &by
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(keys) > 0 && !x.ended {
		b := x.batchLocked()
		before := len(*b)
		*b, keys = appendChanged(*b, own, keys)
		x.grewLocked(len(*b) - before)
	}
	x.answerLocked()
}

// event notes a keyspace event. It is called while the txn runs.
func (x *subscription) event(class command.EventClass, event string, db int, key []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended || x.from > 0 && x.replica.Executed() < x.from {
		return
	}
	x.from = 0
	b := x.batchLocked()
	before := len(*b)
	*b = appendEvent(*b, class, event, db, key)
	x.grewLocked(len(*b) - before)
	x.answerLocked()
}

// batchLocked is the batch that takes the next item.
func (x *subscription) batchLocked() *[]byte {
	if n := len(x.batches); n == 0 || len(x.batches[n-1]) >= batchBytesMax {
		x.batches = append(x.batches, nil)
	}
	return &x.batches[len(x.batches)-1]
}

// grewLocked counts added bytes. It cuts off a gateway that does not take them.
func (x *subscription) grewLocked(n int) {
	x.bytes += n
	if total := x.source.waiting.Add(int64(n)); x.bytes > x.source.bytesMax || total > sourceBytesMax {
		x.endLocked()
	}
}

// answerLocked answers the open poll, if there is something to report.
func (x *subscription) answerLocked() {
	if x.reply == nil || len(x.batches) == 0 {
		return
	}
	batch := x.batches[0]
	x.batches = x.batches[1:]
	x.bytes -= len(batch)
	x.source.waiting.Add(int64(-len(batch)))
	x.number++
	x.sent = append(x.headLocked(len(batch)), batch...)
	x.replyLocked(x.sent)
}

// headLocked begins an answer. The txns that it reports have begun to run, so their
// entries are queued. Txns that have ended have been reported, unless more waits.
func (x *subscription) headLocked(room int) []byte {
	told, leads := uint64(0), uint64(0)
	if len(x.batches) == 0 {
		told = x.replica.Executed()
	}
	if x.replica.Leader().Self {
		leads = 1
	}
	return appendAll(append(make([]byte, 0, room+32), statusDone), x.number, x.replica.Queued(), told, leads)
}

func (x *subscription) replyLocked(answer []byte) {
	if x.reply != nil {
		x.reply(answer)
		x.reply = nil
	}
}

// poll is the gateway's request for what follows a batch. If an earlier poll is still
// open, its connection has broken.
func (x *subscription) poll(received uint64, reply func([]byte)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.polled = time.Now()
	x.replyLocked(x.headLocked(0))
	switch {
	case x.ended:
		reply([]byte{statusGone})
		return
	case received == x.number:
		x.sent = nil
	case received+1 == x.number && x.sent != nil:
		reply(x.sent)
		return
	default:
		x.endLocked()
		reply([]byte{statusGone})
		return
	}
	x.reply = reply
	x.answerLocked()
}

// watch checks the subscription as long as it lives.
func (x *subscription) watch() {
	time.AfterFunc(x.source.beat, func() {
		if x.checkTimeouts(time.Now()) {
			x.watch()
		} else {
			x.source.forget(x)
		}
	})
}

// checkTimeouts answers a poll that has waited for long, and ends a subscription whose gateway or
// source has gone. It returns false if the subscription has ended.
func (x *subscription) checkTimeouts(now time.Time) bool {
	isFit := fit(x.replica)
	x.mu.Lock()
	defer x.mu.Unlock()
	if isFit {
		x.led = now
	}
	switch {
	case x.ended:
	case now.Sub(x.led) > leaderless, x.reply == nil && now.Sub(x.polled) > x.source.patience:
		x.endLocked()
	case x.reply != nil && now.Sub(x.polled) >= x.source.beat:
		x.replyLocked(x.headLocked(0))
	}
	return !x.ended
}

func (x *subscription) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.endLocked()
}

// endLocked ends the subscription; its watch removes it.
func (x *subscription) endLocked() {
	if x.ended {
		return
	}
	x.ended = true
	x.source.waiting.Add(int64(-x.bytes))
	x.batches, x.bytes, x.sent = nil, 0, nil
	x.replyLocked([]byte{statusGone})
}
