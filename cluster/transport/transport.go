// Package transport carries everything between two nodes over one port: the
// streams of every Raft group, and requests with their answers.
//
// A connection begins with a handshake (package secret) in which both nodes prove that they know a
// secret of their cluster. A peer that proves nothing gets no answer. Then comes a preface that
// names the cluster, the sender, the node that should answer, and the purpose of the connection. A
// connection from another cluster, or one that reached the wrong node, is refused with a reason.
// The second check matters as much as the first: if addresses are reassigned, a name may lead to
// the wrong node for a while, and Raft would count that node's acknowledgements as another's.
//
// Addresses are names and stay names: each dial resolves them again, so that a node may come back
// with another IP. That is why hashicorp/raft's own TCP transport is not used; it insists on an IP.
// The address at which a node was met lately takes precedence over its configured address (LearnAddress).
//
// Raft's streams and requests use connections of their own, so that a bulk
// transfer (a snapshot) does not hold up heartbeats or forwarded commands. All
// requests to one peer share one connection. A single goroutine writes it, and takes
// all waiting requests with one system call, so a burst costs one.
//
// A node notices a dead peer within some ten seconds: the kernel detects a dead machine
// (keepalives, user timeout), and unanswered pings show a process that stands still.
//
// With Config.Secure all connections are under mutual TLS; dial and welcome, where raw connections
// begin, set it up. A peer that fails the handshake gets a TLS alert and not one byte of Lockstep.
//
// Invariants:
//   - Requests sent over one peer connection arrive, and are handed to their
//     handler, in the order of sending.
//   - done is called exactly once for each request.
//   - An error says whether the request may have been received: ErrNotSent or
//     ErrMaybeSent.
//   - Every frame, queue, wait and retry is bounded.
//   - A panic of a handler, or of the function that takes an answer, ends its connection
//     alone.
//   - A connection whose handshake is under way waits in the hall, which has room
//     and a deadline of its own: strangers take no member's place.
package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"lockstep/cluster/secret"
	"lockstep/ground/caught"
	"lockstep/ground/ratelog"
	"lockstep/ground/secure"
)

// Errors of requests.
var (
	// ErrNotSent: the peer has certainly not acted on the request.
	ErrNotSent = errors.New("transport: not sent")
	// ErrMaybeSent: the peer may have acted on the request; no answer came.
	ErrMaybeSent = errors.New("transport: connection lost before the answer")
	// ErrRefused: the peer refused the connection or the request; it wraps
	// ErrNotSent.
	ErrRefused = fmt.Errorf("%w: refused", ErrNotSent)
	// ErrFull: too many bytes or requests are on their way to the peer; it wraps ErrNotSent.
	ErrFull = fmt.Errorf("%w: no room", ErrNotSent)
	// ErrClosed: this transport is closed.
	ErrClosed = fmt.Errorf("%w: transport closed", ErrNotSent)
)

// Limits of the protocol.
const (
	// FrameBytesMax is the longest request or answer: the longest command and some room for its
	// envelope.
	FrameBytesMax = 96 << 20
	// strangerBytesMax is the longest request of a node without a cluster.
	strangerBytesMax = 1 << 20
	// queueBytesMax bounds the bytes that wait to be written to one peer. The longest frame fits.
	// smallBytesMax is additional room for small frames that must be sent: a peer that lets that
	// many wait is given up.
	queueBytesMax = 128 << 20
	smallBytesMax = 4 << 20
	// outstandingMax bounds the requests to one peer that have no answer yet.
	outstandingMax = 1 << 16
	// membersMax bounds the connections that members of the cluster may open to this node, and
	// strangersMax those of nodes that have no cluster yet. The hall bounds the connections whose
	// handshake is under way.
	membersMax   = 4096
	strangersMax = 128
	// peersMax is how many peers that are gone may be remembered.
	peersMax    = 256
	dialTimeout = 3 * time.Second
	// acceptPauseMax bounds the pause after a failed accept.
	acceptPauseMax = time.Second
)

// pace holds the times that tests shorten.
type pace struct {
	// preface is how long the handshake, preface and verdict may take together. With TLS, its own
	// handshake may take as long again before them.
	preface time.Duration
	// ping is the time between two pings.
	ping time.Duration
	// messageGap is how long the bytes of one Raft message may pause. Raft reads a snapshot on its
	// main loop: a sender that stops in the middle of one would keep this node from voting.
	messageGap time.Duration
	// idle is how long a stranger's connection may stay open without a request.
	idle time.Duration
}

var usualPace = pace{preface: 5 * time.Second, ping: 3 * time.Second, messageGap: 10 * time.Second, idle: 30 * time.Second}

// Config is the configuration of a Transport.
type Config struct {
	// Listen are the addresses to listen on.
	Listen []string
	// Advertise is this node's peer address, "host:port", that other nodes dial.
	Advertise string
	// NodeID is this node's id, which is also its Raft server id.
	NodeID string
	// ClusterID returns the cluster's id, or "" while this node has none.
	ClusterID func() string
	// Outcast returns why this node no longer accepts messages of a node, or "" if it does. If
	// Outcast is nil, it accepts all nodes. An outcast may do no more than a node without a
	// cluster: a node that was given up may still connect in the name of a group it once belonged
	// to.
	Outcast func(nodeID string) string
	// OpenKinds are the request kinds that a node without a cluster may send.
	OpenKinds []uint8
	// Ring holds the secrets that nodes use to prove that they belong to the cluster.
	Ring Ring
	// Secure puts every connection under mutual TLS. If it is nil, no connection is.
	Secure Secure
	// Panics catches the panics of handlers and of the functions that take answers. A panic ends
	// its connection. Panics may be nil.
	Panics *caught.Panics
	Log    *slog.Logger
}

// Secure supplies the TLS configurations. The transport asks for one per connection.
type Secure interface {
	// Accepting is for connections that other nodes make; it demands a certificate.
	Accepting() *tls.Config
	// Dialling is for a connection that this node makes to a host.
	Dialling(host string) *tls.Config
}

// Peer is the sender of a request.
type Peer struct {
	NodeID string
	// Stranger is true if the peer has no cluster yet and wants to join.
	Stranger bool
	// Unproved is true if the peer has proved no secret; it is a Stranger then. It was let in
	// because the ring admits strangers (Ring.Admits).
	Unproved bool
	// in is the connection on which the request came.
	in *incoming
}

// SilentFor is how long nothing has come over the connection that brought the peer's request. It is
// very long if the connection has ended. A healthy peer sends a ping every few seconds.
func (p Peer) SilentFor() time.Duration {
	if p.in == nil || p.in.ended.Load() {
		return math.MaxInt64
	}
	return time.Since(start) - time.Duration(p.in.heardNs.Load())
}

// start is the origin of times that are stored as nanoseconds.
var start = time.Now()

// Handler handles a request. The connection's reading goroutine calls it, in order of arrival, so
// it must not block. reply may be called later, once, from any goroutine. payload belongs to the
// handler. The answer passed to reply must not be changed afterwards.
type Handler func(from Peer, payload []byte, reply func([]byte))

// handler is the handler of a request kind. If aside is true, each request gets a goroutine of its
// own.
type handler struct {
	serve Handler
	aside bool
}

// Transport is one node's end of all its peer connections.
type Transport struct {
	cfg       Config
	listeners []net.Listener
	handlers  [256]handler
	open      [256]bool
	// refusals logs the refused peers, and strays the connections that only reached the wrong port
	// or hold places. Both are limited, so that they do not fill the log.
	refusals, strays ratelog.Log
	pace             pace

	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup

	mu     sync.Mutex // guards what follows, down to closed
	layers map[uint32]*StreamLayer
	peers  map[string]*peer
	// inbound are the accepted connections. counts is how many of them have each standing.
	inbound map[net.Conn]*incoming
	counts  [standings]int
	// learned holds, by node id, the address at which the node was met.
	learned map[string]string
	closed  bool

	// hall holds the accepted connections until their handshake is done.
	hall secure.Hall
	// proofs are the connections that were proved by a secret.
	proofs proofs
}

// Listen opens the peer port. Handle must be called before Serve.
func Listen(cfg Config) (*Transport, error) {
	t := &Transport{
		cfg: cfg, pace: usualPace, layers: map[uint32]*StreamLayer{}, peers: map[string]*peer{}, inbound: map[net.Conn]*incoming{},
		learned: map[string]string{},
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
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

// Handle sets the handler of a request kind, which must not be 0.
func (t *Transport) Handle(kind uint8, h Handler) { t.handle(kind, handler{serve: h}) }

// HandleAside sets a handler that may block: each request gets a goroutine of its own, so they are
// handled in any order.
func (t *Transport) HandleAside(kind uint8, h Handler) { t.handle(kind, handler{h, true}) }

func (t *Transport) handle(kind uint8, h handler) {
	if kind == kindPing {
		panic("transport: kind 0 is the transport's own")
	}
	t.handlers[kind] = h
}

// Serve begins to accept connections.
func (t *Transport) Serve() {
	for _, l := range t.listeners {
		t.wait.Go(func() { t.accept(l) })
	}
}

func (t *Transport) accept(l net.Listener) {
	pause := time.Duration(0)
	for {
		conn, err := l.Accept()
		if err != nil {
			if t.ctx.Err() != nil {
				return
			}
			// Most likely the process has no free file descriptors. An immediate retry would only
			// burn a core.
			pause = min(max(2*pause, 5*time.Millisecond), acceptPauseMax)
			t.cfg.Log.Warn("peer port: accept failed", "err", err, "retry", pause)
			select {
			case <-time.After(pause):
			case <-t.ctx.Done():
				return
			}
			continue
		}
		pause = 0
		if !t.track(conn) {
			conn.Close()
			continue
		}
		t.wait.Go(func() { t.welcome(conn) })
	}
}

// track records an accepted connection. It returns false if the transport is closed.
func (t *Transport) track(conn net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.inbound[conn] = &incoming{}
	t.counts[unknown]++
	return true
}

// swap replaces an accepted connection by the one that wraps it. It returns false if the transport
// is closed.
func (t *Transport) swap(conn, as net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	in := t.inbound[conn]
	delete(t.inbound, conn)
	if t.closed || in == nil {
		return false
	}
	t.inbound[as] = in
	return true
}

// promote gives an accepted connection its standing. It returns false if no more connections may
// have it.
func (t *Transport) promote(conn net.Conn, to standing) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	in := t.inbound[conn]
	if in == nil || t.counts[to] >= standingMax[to] {
		return false
	}
	t.counts[in.standing]--
	t.counts[to]++
	in.standing = to
	return true
}

// drop closes an accepted connection.
func (t *Transport) drop(conn net.Conn) {
	t.mu.Lock()
	if in := t.inbound[conn]; in != nil {
		t.counts[in.standing]--
		delete(t.inbound, conn)
	}
	t.mu.Unlock()
	conn.Close()
}

// welcome does the handshakes of an accepted connection, and passes it to its group or to
// serveRequests.
func (t *Transport) welcome(raw net.Conn) {
	conn := raw
	defer t.cfg.Panics.Catch("a peer", func() { t.drop(conn) })
	tune(raw)
	guest := t.hall.Enter(raw)
	defer guest.Leave()
	p, from, err := t.meet(&conn)
	if guest.Leave() && err != nil {
		err = secure.ErrPushed
	}
	if err != nil {
		t.sayRefused(raw.RemoteAddr(), err)
		t.drop(conn)
		return
	}
	_ = conn.SetDeadline(time.Time{})
	if p.kind == streamRaft {
		t.mu.Lock()
		layer := t.layers[p.group]
		t.mu.Unlock()
		if layer == nil || !layer.deliver(conn) {
			t.drop(conn)
		}
		return
	}
	t.serveRequests(conn, from)
	t.drop(conn)
}

// sayRefused logs why a connection was refused. Stray connections use another limited log, so that
// they do not hide a node that knows another secret or was refused for good reason.
func (t *Transport) sayRefused(from net.Addr, err error) {
	log := &t.refusals
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err, log = errSlow, &t.strays
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		err, log = errLeft, &t.strays
	case errors.Is(err, secure.ErrPushed), errors.Is(err, secret.ErrNotPeer):
		log = &t.strays
	}
	log.Warn(t.cfg.Log, "peer connection refused", "from", from.String(), "reason", err)
}

var (
	errSlow = errors.New("it did not end its handshake in time")
	errLeft = errors.New("it went away in the middle of its handshake")
)

// meet does the handshakes of an accepted connection and reads its preface. It replaces *conn by
// the connection that wraps it, even after an error.
func (t *Transport) meet(conn *net.Conn) (preface, Peer, error) {
	var err error
	if *conn, err = t.securely(*conn); err != nil {
		return preface{}, Peer{}, err
	}
	_ = (*conn).SetDeadline(time.Now().Add(t.pace.preface))
	var proved bool
	if *conn, proved, err = t.acceptProof(*conn); err != nil {
		return preface{}, Peer{}, err
	}
	p, err := readPreface(*conn)
	if err != nil {
		return p, Peer{}, err
	}
	if !proved && (p.clusterID != "" || p.kind != streamRequests) {
		return p, Peer{}, secret.ErrStranger
	}
	if err = t.check(&p); err == nil {
		from := Peer{NodeID: p.nodeID, Stranger: p.clusterID == "" || t.outcast(&p) != "", Unproved: !proved}
		if t.promote(*conn, from.standing()) {
			return p, from, writeVerdict(*conn, "")
		}
		err = errors.New("this node has as many connections of its kind as it takes")
	}
	_ = writeVerdict(*conn, err.Error())
	return p, Peer{}, err
}

// check returns why a connection is refused, or nil.
func (t *Transport) check(p *preface) error {
	own := t.cfg.ClusterID()
	switch {
	case p.target != "" && p.target != t.cfg.NodeID:
		return fmt.Errorf("this is node %s, not %s", t.cfg.NodeID, p.target)
	case p.clusterID == own && own != "":
	case p.clusterID == "" && p.kind == streamRequests:
	case own == "":
		return errors.New("this node is not in a cluster yet")
	default:
		return fmt.Errorf("this node belongs to cluster %s, not %q", own, p.clusterID)
	}
	if why := t.outcast(p); why != "" && p.kind == streamRaft {
		return errors.New(why)
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

func (t *Transport) outcast(p *preface) string {
	if t.cfg.Outcast == nil {
		return ""
	}
	return t.cfg.Outcast(p.nodeID)
}

// Close closes all connections, including those of the Raft groups, and waits for their goroutines.
func (t *Transport) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	t.cancel()
	for _, l := range t.listeners {
		l.Close()
	}
	for conn := range t.inbound {
		conn.Close()
	}
	var layers []*StreamLayer
	for _, l := range t.layers {
		layers = append(layers, l)
	}
	t.mu.Unlock()
	for _, l := range layers {
		l.Close()
	}
	t.wait.Wait()
	return nil
}
