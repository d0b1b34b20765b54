// Package transport carries everything between two nodes over one port: the
// streams of every Raft group, and requests with their answers.
//
// A connection begins with a preface that names the cluster, the sender and
// what the connection is for; a connection of another cluster is refused in
// words. Addresses are names and stay names: they are resolved at each dial,
// so that a node may come back with another IP.
//
// Raft's streams and requests use connections of their own, so that a bulk
// transfer (a snapshot) does not hold up heartbeats or forwarded commands.
//
// Invariants:
//   - Requests sent over one peer connection arrive, and are handed to their
//     handler, in the order of sending.
//   - Every frame, queue and wait is bounded.
//   - An error tells whether the request may have been received: ErrNotSent or
//     ErrMaybeSent.
package transport

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Errors of requests.
var (
	// ErrNotSent: the peer has certainly not received the request.
	ErrNotSent = errors.New("transport: not sent")
	// ErrMaybeSent: the connection broke before an answer came.
	ErrMaybeSent = errors.New("transport: connection lost before the answer")
	// ErrRefused: the peer refused the connection; it wraps ErrNotSent.
	ErrRefused = fmt.Errorf("%w: refused", ErrNotSent)
	// ErrClosed: this transport is closed.
	ErrClosed = fmt.Errorf("%w: transport closed", ErrNotSent)
)

// Limits of the protocol.
const (
	// FrameBytesMax is the longest request or answer: the longest command and
	// room around it.
	FrameBytesMax = 96 << 20
	// queueBytesMax bounds what waits to be written to one peer.
	queueBytesMax = 128 << 20
	// outstandingMax bounds the requests to one peer that have no answer yet.
	outstandingMax = 1 << 16
	// connsMax bounds the connections other nodes may open to this one.
	connsMax        = 4096
	prefaceTimeout  = 5 * time.Second
	dialTimeout     = 3 * time.Second
	keepAlivePeriod = 3 * time.Second
	// deadPeerTimeout is how long written bytes may stay unacknowledged.
	deadPeerTimeout = 10 * time.Second
)

// Config is what a transport is made with.
type Config struct {
	// Listen are the addresses to listen on.
	Listen []string
	// Advertise is this node's peer address, "host:port", as others dial it.
	Advertise string
	// NodeID is this node's id.
	NodeID string
	// ClusterID returns the cluster's id, "" while this node has none.
	ClusterID func() string
	// OpenKinds are the request kinds that a node without a cluster may send.
	OpenKinds []uint8
	Log       *slog.Logger
}

// Peer is who sent a request.
type Peer struct {
	NodeID string
	// Stranger: the peer has no cluster yet and wants to join.
	Stranger bool
}

// Handler takes a request. It is called on the connection's reading goroutine,
// in order of arrival, and must not block; reply may be called later, once,
// from any goroutine. payload belongs to the handler.
type Handler func(from Peer, payload []byte, reply func([]byte))

// Transport is one node's end of all its peer connections.
type Transport struct {
	cfg       Config
	listeners []net.Listener
	handlers  [256]Handler
	open      [256]bool

	mu     sync.Mutex
	layers map[uint32]*StreamLayer
	peers  map[string]*peerConn
	conns  map[net.Conn]struct{}
	closed bool
	wait   sync.WaitGroup
}

// Listen opens the peer port. Handle must be called before Serve.
func Listen(cfg Config) (*Transport, error) {
	t := &Transport{
		cfg: cfg, layers: map[uint32]*StreamLayer{}, peers: map[string]*peerConn{}, conns: map[net.Conn]struct{}{},
	}
	for _, k := range cfg.OpenKinds {
		t.open[k] = true
	}
	for _, addr := range cfg.Listen {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			_ = t.Close()
			return nil, fmt.Errorf("peer port: %w", err)
		}
		t.listeners = append(t.listeners, l)
	}
	return t, nil
}

// Handle sets the handler of a request kind.
func (t *Transport) Handle(kind uint8, h Handler) { t.handlers[kind] = h }

// Serve begins to accept connections.
func (t *Transport) Serve() {
	for _, l := range t.listeners {
		t.wait.Go(func() { t.accept(l) })
	}
}

func (t *Transport) accept(l net.Listener) {
	delay := time.Duration(0)
	for {
		conn, err := l.Accept()
		if err != nil {
			if t.isClosed() {
				return
			}
			// Out of file descriptors, most likely: trying at once would only burn a
			// core.
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			t.cfg.Log.Warn("peer port: accept failed", "err", err, "retry", delay)
			<-time.After(delay)
			continue
		}
		delay = 0
		if !t.track(conn) {
			conn.Close()
			continue
		}
		t.wait.Go(func() { t.welcome(conn) })
	}
}

func (t *Transport) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// track notes an accepted connection; false: there are too many, or the
// transport is closed.
func (t *Transport) track(conn net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(t.conns) >= connsMax {
		return false
	}
	t.conns[conn] = struct{}{}
	return true
}

func (t *Transport) untrack(conn net.Conn) {
	t.mu.Lock()
	delete(t.conns, conn)
	t.mu.Unlock()
}

// welcome reads a connection's preface and gives the connection to whom it is
// for.
func (t *Transport) welcome(conn net.Conn) {
	tune(conn)
	_ = conn.SetDeadline(time.Now().Add(prefaceTimeout))
	p, err := readPreface(conn)
	if err == nil {
		err = t.check(&p)
	}
	if err != nil {
		t.cfg.Log.Warn("peer connection refused", "from", conn.RemoteAddr().String(), "reason", err)
		_ = writeVerdict(conn, err.Error())
		t.untrack(conn)
		conn.Close()
		return
	}
	if writeVerdict(conn, "") != nil {
		t.untrack(conn)
		conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if p.kind == streamRaft {
		t.untrack(conn)
		t.mu.Lock()
		layer := t.layers[p.group]
		t.mu.Unlock()
		if layer == nil || !layer.deliver(conn) {
			conn.Close()
		}
		return
	}
	t.serveRequests(conn, Peer{NodeID: p.nodeID, Stranger: p.clusterID == ""})
	t.untrack(conn)
	conn.Close()
}

// check tells whether a connection may come in.
func (t *Transport) check(p *preface) error {
	own := t.cfg.ClusterID()
	switch {
	case p.clusterID == own && own != "":
	case p.clusterID == "" && p.kind == streamRequests:
	case own == "":
		return errors.New("this node is not in a cluster yet")
	default:
		return fmt.Errorf("this node belongs to cluster %s, not %q", own, p.clusterID)
	}
	if p.kind == streamRaft {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.layers[p.group] == nil {
			return fmt.Errorf("this node has no replica of group %d open", p.group)
		}
	}
	return nil
}

// Close closes all connections and waits for their goroutines.
func (t *Transport) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	for _, l := range t.listeners {
		l.Close()
	}
	// order does not matter: each is closed for itself
	for conn := range t.conns {
		conn.Close()
	}
	peers := t.peers
	t.peers = map[string]*peerConn{}
	t.mu.Unlock()
	for _, p := range peers {
		p.close(ErrClosed)
	}
	t.wait.Wait()
	return nil
}
