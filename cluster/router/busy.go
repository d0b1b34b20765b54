package router

import (
	"encoding/binary"
	"sync"
	"time"

	"lockstep/cluster"
	"lockstep/fsm"
)

// KindBusy asks a shard's leader what holds a command up: shard u32, then the hash slots
// of the command, u16 each; no slots mean a command that locks everything. The answer is
// empty, or see appendBusy.
const KindBusy uint8 = 10

const (
	// busyPatience is how long a leader may take to say what holds a command up. It is
	// short, because the time of the client that gets the answer is already over.
	busyPatience = 250 * time.Millisecond
	// busySlotsMax is the most hash slots in one such question.
	busySlotsMax = 64
)

// inTheWay asks the leader what holds calls up. It calls told once, soon. The argument is
// nil if nothing holds them up or the leader does not say.
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

// doubtful is the error of calls that may be in the log and have waited for so long. busy
// says what holds them up.
func doubtful(busy *cluster.BusyError, waited time.Duration) error {
	if busy == nil {
		return cluster.ErrUnknown
	}
	busy.Logged, busy.Waited = true, waited
	return busy
}

// unread is the error of reads that the leader has not answered in time. busy says what
// holds them up.
func unread(busy *cluster.BusyError, waited time.Duration) error {
	if busy == nil {
		return cluster.ErrNoAnswer
	}
	busy.Waited = waited
	return busy
}

// explain ends a write that may be in the log. The error of its calls says what holds
// them up, if the leader knows.
func (s *sending) explain() {
	s.router.inTheWay(s.index, s.calls, func(busy *cluster.BusyError) {
		defer s.guard()
		s.finish(nil, doubtful(busy, s.router.elapsed(s.deadline)), false)
	})
}

// explainRead ends reads that have no answer. The error of their calls says what holds
// them up, if the leader knows.
func (s *sending) explainRead() {
	s.router.inTheWay(s.index, s.calls, func(busy *cluster.BusyError) {
		defer s.guard()
		s.fail(unread(busy, s.router.elapsed(s.deadline)))
	})
}

// askBusy asks the leader at addr what holds a command up. It calls told once, soon.
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
func (v *Server) ServeBusy(payload []byte, reply func([]byte)) {
	replica, body := v.local(payload)
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

// slotsOf are the hash slots of calls. It returns none if one of the calls may lock
// everything.
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

// appendBusy encodes a BusyError: the shard uv; how long the command in front has run and
// how long the call has waited, both uv in milliseconds; the node and the command in
// front, each behind its length uv.
func appendBusy(dst []byte, e *cluster.BusyError) []byte {
	dst = binary.AppendUvarint(dst, uint64(e.Shard))
	dst = binary.AppendUvarint(dst, uint64(max(e.Ran.Milliseconds(), 0)))
	dst = binary.AppendUvarint(dst, uint64(max(e.Waited.Milliseconds(), 0)))
	for _, text := range [...]string{e.Node, e.What} {
		dst = append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	}
	return dst
}

// busyMsMax bounds the times in a peer's answer, and busyTextMax its texts.
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
