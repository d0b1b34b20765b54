package node

import (
	"sync"
	"time"

	"lockstep/proto/client"
)

// saves tells of the snapshots that are written: those that clients asked for
// (SAVE, BGSAVE), and those that a group's log is due for.
type saves struct {
	mu sync.Mutex
	// busy is the number of saves and of snapshots under way, since the time the
	// first of them began; background tells that a BGSAVE is among them.
	busy       int
	since      time.Time
	background bool
	// done is the number of saves that ended well; lastTook and lastErr tell of
	// the last.
	done     int
	lastTook time.Duration
	lastErr  error
	// txns is the number of logged txns when the last one began that ended well.
	txns uint64
}

// begin notes that a client's save begins; what it returns notes its end. It is
// refused while another goes on in the background.
func (s *saves) begin(txns uint64, background bool) (end func(error), err error) {
	began := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.background {
		return nil, client.ErrSaving
	}
	s.background = background
	s.busyLocked(1)
	return func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busyLocked(-1)
		s.background = s.background && !background
		s.lastTook, s.lastErr = time.Since(began), err
		if err == nil {
			s.done++
			s.txns = txns
		}
	}, nil
}

// writing notes that a group begins (1) or ends (-1) to write a snapshot.
func (s *saves) writing(n int) {
	s.mu.Lock()
	s.busyLocked(n)
	s.mu.Unlock()
}

func (s *saves) busyLocked(n int) {
	if s.busy == 0 {
		s.since = time.Now()
	}
	s.busy += n
}

// saved is what INFO tells of saves.
type saved struct {
	busy                    bool
	done                    int
	status                  string
	lastTookSec, runningSec int
	txns                    uint64
}

func (s *saves) look() saved {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := saved{busy: s.busy > 0, done: s.done, status: "ok", lastTookSec: -1, runningSec: -1, txns: s.txns}
	if s.lastErr != nil {
		v.status = "err"
	}
	if s.done > 0 || s.lastErr != nil {
		v.lastTookSec = int(s.lastTook.Seconds())
	}
	if v.busy {
		v.runningSec = int(time.Since(s.since).Seconds())
	}
	return v
}

// loggedTxns is the number of txns that this node's replicas took from their
// logs since the node began.
func (n *Node) loggedTxns() uint64 {
	var sum uint64
	for _, s := range n.Shards() {
		sum += uint64(s.Machine().Counters().Txns.Load())
	}
	return sum
}
