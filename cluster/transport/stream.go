package transport

import (
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// StreamLayer is one Raft group's share of the peer port. Closing it leaves the
// port and the other groups alone.
type StreamLayer struct {
	t      *Transport
	group  uint32
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

var _ raft.StreamLayer = (*StreamLayer)(nil)

// acceptBacklog bounds the connections that wait to be accepted by a group.
const acceptBacklog = 64

// StreamLayer opens a group's share of the port. There can be one at a time.
func (t *Transport) StreamLayer(group uint32) *StreamLayer {
	l := &StreamLayer{t: t, group: group, conns: make(chan net.Conn, acceptBacklog), closed: make(chan struct{})}
	t.mu.Lock()
	t.layers[group] = l
	t.mu.Unlock()
	return l
}

func (l *StreamLayer) deliver(conn net.Conn) bool {
	select {
	case <-l.closed:
		return false
	case l.conns <- conn:
		return true
	default:
		return false
	}
}

// Accept implements net.Listener.
func (l *StreamLayer) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *StreamLayer) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.t.mu.Lock()
		if l.t.layers[l.group] == l {
			delete(l.t.layers, l.group)
		}
		l.t.mu.Unlock()
		for {
			select {
			case conn := <-l.conns:
				conn.Close()
				continue
			default:
			}
			return
		}
	})
	return nil
}

// Addr implements net.Listener: the advertised address, a name.
func (l *StreamLayer) Addr() net.Addr { return nameAddr(l.t.cfg.Advertise) }

// Dial implements raft.StreamLayer. The name is resolved at each call.
func (l *StreamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return l.t.dial(string(address), preface{kind: streamRaft, group: l.group}, timeout)
}

// nameAddr is an address that was never resolved.
type nameAddr string

// Network implements net.Addr.
func (nameAddr) Network() string { return "tcp" }

// String implements net.Addr.
func (a nameAddr) String() string { return string(a) }
