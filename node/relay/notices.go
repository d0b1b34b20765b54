package relay

import (
	"encoding/binary"
	"sync"

	"lockstep/node/member"
)

// KindNotices brings reports on scripts of this node to the node for whose client they ran: notices
// of package client, each after its length uv. The answer is empty.
const KindNotices uint8 = 37

// noticesBytesMax bounds the notices that wait for one node. Further notices are dropped: a script
// does not wait for a client that watches it.
const noticesBytesMax = 1 << 20

// Notices sends notices to other nodes, to each in order. While a message is on its way to a node,
// further notices gather and become the next message.
type Notices struct {
	Member *member.Member
	// Hear receives a notice of another node.
	Hear func(notice []byte)
	mu   sync.Mutex // guards waiting
	// waiting holds, by incarnation, the notices for the nodes to which a message is on its way.
	waiting map[uint64][]byte
}

// NewNotices returns Notices that pass those of other nodes to hear.
func NewNotices(m *member.Member, hear func(notice []byte)) *Notices {
	return &Notices{Member: m, Hear: hear, waiting: map[uint64][]byte{}}
}

// Tell sends a notice to a node. It does not block.
func (s *Notices) Tell(incarnation uint64, notice []byte) {
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

func (s *Notices) send(incarnation uint64, batch []byte) {
	to, ok := s.Member.Machine.View().ByIncarnation(incarnation)
	if !ok {
		s.forget(incarnation)
		return
	}
	s.Member.Transport.Go(to.PeerAddr, KindNotices, batch, func(_ []byte, err error) {
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

// forget drops the notices for a node that cannot be reached.
func (s *Notices) forget(incarnation uint64) {
	s.mu.Lock()
	delete(s.waiting, incarnation)
	s.mu.Unlock()
}

// Serve receives another node's notices. It does not block.
func (s *Notices) Serve(payload []byte) {
	for len(payload) > 0 {
		n, width := binary.Uvarint(payload)
		if width <= 0 || n > uint64(len(payload)-width) {
			return
		}
		end := width + int(n)
		s.Hear(payload[width:end:end])
		payload = payload[end:]
	}
}
