package node

import (
	"encoding/binary"
	"sync"

	"lockstep/proto/client"
	"lockstep/proto/pubsub"
)

// kindNotices carries what scripts did here to the node whose client they ran for:
// notices of package client, each behind its length uv. The answer is empty.
const kindNotices uint8 = 37

// noticesBytesMax bounds the notices that wait for one node. What finds no room is
// left out: a script does not wait for who watches it.
const noticesBytesMax = 1 << 20

// notices brings notices to other nodes, to each in order. While some are on their
// way to a node, further ones gather and become the next message.
type notices struct {
	n  *Node
	mu sync.Mutex
	// waiting holds, by incarnation, what is to go to the nodes to which something is
	// on its way.
	waiting map[uint64][]byte
}

func newNotices(n *Node) *notices { return &notices{n: n, waiting: map[uint64][]byte{}} }

// tell sends a notice to a node. It does not block.
func (s *notices) tell(incarnation uint64, notice []byte) {
	s.mu.Lock()
	waiting, busy := s.waiting[incarnation]
	if len(waiting)+binary.MaxVarintLen64+len(notice) > noticesBytesMax {
		s.mu.Unlock()
		return
	}
	waiting = append(binary.AppendUvarint(waiting, uint64(len(notice))), notice...)
	if busy {
		s.waiting[incarnation] = waiting
	} else {
		s.waiting[incarnation] = nil
	}
	s.mu.Unlock()
	if !busy {
		s.send(incarnation, waiting)
	}
}

func (s *notices) send(incarnation uint64, batch []byte) {
	to, ok := s.n.Machine.View().ByIncarnation(incarnation)
	if !ok {
		s.forget(incarnation)
		return
	}
	s.n.Transport.Go(to.PeerAddr, kindNotices, batch, func(_ []byte, err error) {
		if err != nil {
			s.forget(incarnation)
			return
		}
		s.mu.Lock()
		next := s.waiting[incarnation]
		if next == nil {
			delete(s.waiting, incarnation)
		} else {
			s.waiting[incarnation] = nil
		}
		s.mu.Unlock()
		if next != nil {
			s.send(incarnation, next)
		}
	})
}

// forget drops what waits for a node that cannot be reached.
func (s *notices) forget(incarnation uint64) {
	s.mu.Lock()
	delete(s.waiting, incarnation)
	s.mu.Unlock()
}

// serve takes another node's notices. It does not block.
func (s *notices) serve(payload []byte) {
	for len(payload) > 0 {
		n, width := binary.Uvarint(payload)
		if width <= 0 || n > uint64(len(payload)-width) {
			return
		}
		end := width + int(n)
		s.n.witness.Hear(payload[width:end:end])
		payload = payload[end:]
	}
}

// newWitness is told what scripts do that run here for a client.
func (n *Node) newWitness() *client.ScriptWitness {
	return &client.ScriptWitness{
		Stats: n.stats, Registry: n.registry, Logger: n.log,
		Deliver: func(kind pubsub.Kind, channel, payload []byte) {
			var later pubsub.Later
			n.messages.Publish(kind, channel, payload, &later)
			later.Kick()
		},
		Logs: func() (slowerThanUs int64, slowlogLen, aclLogLen int) {
			s := n.cfg.Current()
			return s.SlowlogLogSlowerThan, int(s.SlowlogMaxLen), int(s.ACLLogMaxLen)
		},
		Self: func() uint64 { return n.Self.Incarnation },
		Tell: func(node uint64, notice []byte) { n.notices.tell(node, notice) },
	}
}
