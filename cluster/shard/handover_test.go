package shard

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"lockstep/fsm"
)

// newWaitingOfThree is a shard of three nodes.
func newWaitingOfThree(t *testing.T) *waiting {
	w := &waiting{shardWorld: newShardWorld(t, 3, steady)}
	w.shardWorld.set("k", "v")
	w.on(w.leader())
	return w
}

// transfer makes another node the leader.
func (w *waiting) transfer() {
	w.shardWorld.t.Helper()
	to := w.others(w.n)[0]
	w.until("a transfer", func() bool {
		if w.n.group.IsLeader() {
			_ = w.n.group.TransferTo(w.world.ctx(), to.id)
		}
		return to.group.IsLeader()
	})
	w.on(to)
}

// A waiting client keeps its place at the next leader. It has its element when a push there is
// answered, although its gateway has not asked again.
func TestAPlannedTransferKeepsTheOrder(t *testing.T) {
	t.Parallel()
	w := newWaitingOfThree(t)
	for round := range 3 {
		var clients []*client
		for range 9 {
			c := w.client("blpop other q 0")
			c.want("a client that comes", c.ask(), "to renew")
			clients = append(clients, c)
		}
		w.transfer()
		for i := range clients {
			w.same("RPUSH", w.do(fmt.Sprint("rpush q ", i)), ":1")
			w.same("LLEN", w.do("llen q"), ":0")
		}
		for i, c := range clients {
			c.req.Again = true
			c.want(fmt.Sprint("round ", round, ", client ", i), c.ask(), popped("q", fmt.Sprint(i)))
		}
	}
	w.until("nobody waits", func() bool { return w.Waiting() == 0 })
}

// hand makes the leader hand its list to the others, as before a transfer that fails.
func (w *waiting) hand() Handover {
	h := w.waiters.handOver()
	for _, n := range w.others(w.n) {
		h.Hand(raft.ServerAddress(n.door.addr), w.n.group.Term(), w.n.group.raft.Load().LastIndex())
	}
	return h
}

// A leader that continues to lead serves its clients as before, and no node can use the list that
// it has handed over.
func TestAListLapsesWhenTheLeaderGoesOn(t *testing.T) {
	t.Parallel()
	w := newWaitingOfThree(t)
	c, other := w.client("blpop q 0"), w.client("blpop q 0")
	for _, one := range []*client{c, other} {
		one.want("a client that comes", one.ask(), "to renew")
	}
	h := w.hand()
	w.want("a client that comes meanwhile", w.client("blpop q 0").ask(), "no leader")
	c.req.Last = true
	w.want("who ends meanwhile", c.ask(), "no leader")
	w.do("rpush p x")
	h.End()
	w.until("it goes on", func() bool {
		w.waiters.table.mu.Lock()
		defer w.waiters.table.mu.Unlock()
		return !w.waiters.holding
	})
	w.want("who ends then", c.ask(), "nothing")
	w.do("rpush q a")
	w.want("who still waits", other.ask(), popped("q", "a"))
	// The next leader has the list.
	w.n.stop()
	rest := w.others(w.n)
	w.on(w.leader(rest...))
	w.do("rpush q b")
	w.same("LLEN", w.do("llen q"), ":1")
	if w.Waiting() != 0 {
		t.Errorf("%d wait", w.Waiting())
	}
}

// Clients that come while the list is handed over are served by whichever node leads then.
func TestWhatComesDuringAHandoverIsServed(t *testing.T) {
	t.Parallel()
	w := newWaitingOfThree(t)
	c := w.client("blpop q 0")
	told := c.waits()
	h := w.waiters.handOver()
	w.exec(fsm.KindCommand, "rpush other a", "copy other q db 1", "swapdb 0 1")
	w.silent("while the leadership is given away", told)
	h.End()
	w.want("when it is not", told, popped("q", "a"))
}

// A list is bounded, and malformed bytes are refused.
func TestWhatIsNoListIsRefused(t *testing.T) {
	w := newWaiting(t)
	head := make([]byte, 16)
	set := commandTxn("set", "k", "v")
	noWait := fsm.AppendBundle(nil, &fsm.Bundle{Origin: fsm.Origin{Lane: fsm.WaitLane}, Txns: []fsm.Txn{set}})
	for what, list := range map[string][]byte{
		"nothing": nil, "half a head": head[:9], "a wait that is cut off": append(head, 9, 1),
		"a command that does not wait": append(binary.AppendUvarint(head[:16:16], uint64(len(noWait))), noWait...),
	} {
		if w.TakeList(list) == nil {
			t.Errorf("%s is taken", what)
		}
	}
	c := w.client("blpop " + strings.Repeat("k", listBytesMax/4) + " 0")
	bundle := fsm.AppendBundle(nil, &fsm.Bundle{Origin: c.req.ID.Origin, FirstSeq: 1, Txns: []fsm.Txn{c.req.Txn}})
	list := head
	for len(list) < listBytesMax {
		list = append(binary.AppendUvarint(list, uint64(len(bundle))), bundle...)
	}
	taken := 0
	for w.TakeList(list) == nil && taken < 100 {
		taken++
	}
	if taken < listsBytesMax/listBytesMax || taken > listsBytesMax/listBytesMax+1 || w.waiters.heir != nil {
		t.Errorf("%d lists were taken", taken)
	}
}
