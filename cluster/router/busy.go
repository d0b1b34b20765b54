package router

import (
	"encoding/binary"
	"sync"
	"time"

	"lockstep/cluster"
	"lockstep/fsm"
)

// KindBusy asks a shard's leader what is in the way of a command: shard u32, then its hash slots,
// u16 each, none for one that locks everything. Answer: nothing, or see appendBusy.
const KindBusy uint8 = 10

const (
	// busyPatience is how long a leader may take to say what is in the way: the time of who is
	// to be told of it is over already.
	busyPatience = 250 * time.Millisecond
	// busySlotsMax is how many hash slots it is asked about.
	busySlotsMax = 64
)

// inTheWay asks the leader what is in the way of calls. told is called once, soon; with nil if nothing is, or if the
// leader does not say.
func (r *Router) inTheWay(index int, calls []*cluster.Call, told func(*cluster.BusyError)) {
	leader, slots := r.Leader(index), slotsOf(calls)
	switch replica := r.cfg.Replica(index); {
	case leader.Self && replica != nil:
		told(replica.InTheWay(slots))
	case !leader.Self && leader.Addr != "":
		r.askBusy(leader.Addr, index, slots, told)
	default:
		told(nil)
	}
}

// doubtful is the error of calls that may be in the log and have waited for so long; busy is what is in their way.
func doubtful(busy *cluster.BusyError, waited time.Duration) error {
	if busy == nil {
		return cluster.ErrUnknown
	}
	busy.Logged, busy.Waited = true, waited
	return busy
}

// unread is the error of reads that the leader has not answered in time; busy is what is in their way.
func unread(busy *cluster.BusyError, waited time.Duration) error {
	if busy == nil {
		return cluster.ErrNoAnswer
	}
	busy.Waited = waited
	return busy
}

// explain ends a write that may be in the log. Its calls are told what is in the way, if the leader can tell.
func (s *sending) explain() {
	s.router.inTheWay(s.index, s.calls, func(busy *cluster.BusyError) {
		defer s.guard()
		s.finish(nil, doubtful(busy, s.router.elapsed(s.deadline)), false)
	})
}

// explainRead ends reads that have no answer. Their calls are told what is in the way, if the leader can tell.
func (s *sending) explainRead() {
	s.router.inTheWay(s.index, s.calls, func(busy *cluster.BusyError) {
		defer s.guard()
		s.fail(unread(busy, s.router.elapsed(s.deadline)))
	})
}

// askBusy asks the leader at addr what is in the way. told is called once, soon.
func (r *Router) askBusy(addr string, index int, slots []uint16, told func(*cluster.BusyError)) {
	payload := binary.LittleEndian.AppendUint32(nil, uint32(index))
	for _, slot := range slots {
		payload = binary.LittleEndian.AppendUint16(payload, slot)
	}
	var once sync.Once
	r.cfg.Peers.Go(addr, KindBusy, payload, func(reply []byte, _ error) {
		busy, _ := decodeBusy(reply)
		once.Do(func() { told(busy) })
	})
	time.AfterFunc(busyPatience, func() { once.Do(func() { told(nil) }) })
}

// ServeBusy handles a KindBusy request. It does not block.
func (r *Router) ServeBusy(payload []byte, reply func([]byte)) {
	replica, body := r.local(payload)
	if replica == nil || len(body) > 2*busySlotsMax {
		reply(nil)
		return
	}
	var slots []uint16
	for ; len(body) >= 2; body = body[2:] {
		slots = append(slots, binary.LittleEndian.Uint16(body))
	}
	busy := replica.InTheWay(slots)
	if busy == nil {
		reply(nil)
		return
	}
	reply(appendBusy(nil, busy))
}

// slotsOf are the hash slots of calls, none where one of them may lock everything.
func slotsOf(calls []*cluster.Call) (slots []uint16) {
	for _, c := range calls {
		if locksMore(&c.Txn) {
			return nil
		}
		if len(slots)+len(c.Slots) <= busySlotsMax {
			slots = append(slots, c.Slots...)
		}
	}
	return slots
}

func locksMore(t *fsm.Txn) bool {
	for i := range t.Ops {
		if spec := t.Ops[i].Spec(); spec != nil && spec.Plan != nil {
			return true
		}
	}
	return false
}

// appendBusy encodes what is in the way: shard uv, for how long it runs uv, for how long the call
// waited uv, both in milliseconds, node and what runs, each behind its length uv.
func appendBusy(dst []byte, e *cluster.BusyError) []byte {
	dst = binary.AppendUvarint(dst, uint64(e.Shard))
	dst = binary.AppendUvarint(dst, uint64(max(e.Ran.Milliseconds(), 0)))
	dst = binary.AppendUvarint(dst, uint64(max(e.Waited.Milliseconds(), 0)))
	for _, text := range [...]string{e.Node, e.What} {
		dst = append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	}
	return dst
}

// busyMsMax bounds the times that a peer tells, and busyTextMax its words.
const (
	busyMsMax   = 1 << 40
	busyTextMax = 1 << 10
)

// decodeBusy reads what appendBusy wrote.
func decodeBusy(data []byte) (*cluster.BusyError, bool) {
	var numbers [3]uint64
	for i := range numbers {
		n, width := binary.Uvarint(data)
		if width <= 0 || n > busyMsMax {
			return nil, false
		}
		numbers[i], data = n, data[width:]
	}
	var texts [2]string
	for i := range texts {
		n, width := binary.Uvarint(data)
		if width <= 0 || n > uint64(len(data)-width) || n > busyTextMax {
			return nil, false
		}
		texts[i], data = string(data[width:width+int(n)]), data[width+int(n):]
	}
	return &cluster.BusyError{
		Shard: uint32(numbers[0]), Ran: time.Duration(numbers[1]) * time.Millisecond, Waited: time.Duration(numbers[2]) * time.Millisecond,
		Node: texts[0], What: texts[1],
	}, true
}
