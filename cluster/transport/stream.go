package transport

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// StreamLayer is the part of the peer port that belongs to one Raft group. Close closes the group's
// connections; the port and the other groups stay open.
type StreamLayer struct {
	t      *Transport
	group  uint32
	queue  chan net.Conn
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex // guards conns, closed
	conns  map[*stream]struct{}
	closed bool
}

var _ raft.StreamLayer = (*StreamLayer)(nil)

// acceptBacklog bounds the connections that wait until the group accepts them.
const acceptBacklog = 64

// StreamLayer opens the part of a group. There can be one at a time.
func (t *Transport) StreamLayer(group uint32) *StreamLayer {
	l := &StreamLayer{t: t, group: group, queue: make(chan net.Conn, acceptBacklog), conns: map[*stream]struct{}{}}
	l.ctx, l.cancel = context.WithCancel(t.ctx)
	t.mu.Lock()
	t.layers[group] = l
	t.mu.Unlock()
	return l
}

// deliver passes an accepted connection to the group. It returns false if the layer is closed or
// full.
func (l *StreamLayer) deliver(conn net.Conn) bool {
	s, ok := l.adopt(conn, true)
	if !ok {
		return false
	}
	select {
	case l.queue <- s:
		return true
	default:
		l.forget(s)
		return false
	}
}

// Accept implements net.Listener.
func (l *StreamLayer) Accept() (net.Conn, error) {
	select {
	case conn := <-l.queue:
		return conn, nil
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It closes the connections as well: hashicorp/raft leaves accepted
// connections open, and would wait for their answers during its shutdown.
func (l *StreamLayer) Close() error {
	l.cancel()
	l.mu.Lock()
	l.closed = true
	var conns []*stream
	for s := range l.conns {
		conns = append(conns, s)
	}
	l.mu.Unlock()
	for _, s := range conns {
		s.Close()
	}
	l.t.mu.Lock()
	if l.t.layers[l.group] == l {
		delete(l.t.layers, l.group)
	}
	l.t.mu.Unlock()
	return nil
}

// Addr implements net.Listener: the advertised address, a name.
func (l *StreamLayer) Addr() net.Addr { return nameAddr(l.t.cfg.Advertise) }

// Dial implements raft.StreamLayer. It resolves the name at each call. With an address made by
// Target it reaches that node or fails.
func (l *StreamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	conn, err := l.t.dial(l.ctx, string(address), preface{kind: streamRaft, group: l.group}, timeout)
	if err != nil {
		return nil, err
	}
	s, ok := l.adopt(conn, false)
	if !ok {
		conn.Close()
		return nil, net.ErrClosed
	}
	return s, nil
}

func (l *StreamLayer) adopt(conn net.Conn, accepted bool) (*stream, bool) {
	s := &stream{Conn: conn, layer: l, accepted: accepted}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, false
	}
	l.conns[s] = struct{}{}
	return s, true
}

func (l *StreamLayer) forget(s *stream) {
	l.mu.Lock()
	delete(l.conns, s)
	l.mu.Unlock()
}

// stream is a connection of one group. On the accepting side it bounds the pauses within a message,
// but not between messages: there a connection may be idle for hours, and if it were closed the
// next vote would have to dial first. A message ends when this side writes its answer.
type stream struct {
	net.Conn
	layer     *StreamLayer
	accepted  bool
	inMessage atomic.Bool
	// bounded is true while a read deadline is set.
	bounded atomic.Bool
}

// Read implements net.Conn.
func (s *stream) Read(b []byte) (int, error) {
	if s.accepted && s.inMessage.Load() {
		s.bounded.Store(true)
		_ = s.Conn.SetReadDeadline(time.Now().Add(s.layer.t.pace.messageGap))
	}
	n, err := s.Conn.Read(b)
	if n > 0 {
		s.inMessage.Store(true)
	}
	return n, err
}

// Write implements net.Conn.
func (s *stream) Write(b []byte) (int, error) {
	if s.accepted {
		s.inMessage.Store(false)
		if s.bounded.CompareAndSwap(true, false) {
			_ = s.Conn.SetReadDeadline(time.Time{})
		}
	}
	return s.Conn.Write(b)
}

// Close implements net.Conn.
func (s *stream) Close() error {
	s.layer.forget(s)
	if s.accepted {
		s.layer.t.drop(s.Conn)
		return nil
	}
	return s.Conn.Close()
}

// nameAddr is an address that was never resolved.
type nameAddr string

// Network implements net.Addr.
func (nameAddr) Network() string { return "tcp" }

// String implements net.Addr.
func (a nameAddr) String() string { return string(a) }
