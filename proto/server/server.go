// Package server accepts clients. For each client it reads whole commands (package
// resp's Guard, then redcon's parser), has them answered (package client), and writes
// the replies (handler.go).
//
// Loops serve the clients (package poll): one goroutine serves many clients, as long
// as their commands wait for nothing but the log. A batch that may have to wait, or may
// take long, is answered by a goroutine of its own, which gives the connection back to
// the loop after that. A client keeps a goroutine of its own if most of its batches
// are of that kind, or if it came by TLS.
//
// Invariants:
//   - A loop or one goroutine has a connection at a time, never both.
//   - A client that does not read its replies holds up only itself: its replies wait in
//     the guard, within bounds.
//   - A server that stops accepts the clients that are connected already, and answers
//     what they have sent, before it closes their connections (accept.go, shutdown.go).
//
// redcon's own server loop is not used. It parses from a buffer of 4 KiB, so that a
// pipeline of thousands of commands would become hundreds of commits, and it copies
// every command once more. Here redcon's parser reads from the guard's buffer directly.
package server

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/redcon"

	"lockstep/ground/caught"
	"lockstep/ground/ratelog"
	"lockstep/ground/secure"
	"lockstep/proto/client"
	"lockstep/proto/poll"
	"lockstep/proto/resp"
	"lockstep/proto/stats"
)

const (
	// argsKept is how long an argument list an idle client keeps, and bytesKept how
	// long a batch such a list may keep in memory.
	argsKept  = 1 << 14
	bytesKept = 64 << 10
)

// finishPatience is how long a connection that is to be closed is kept for a client
// that does not read its last replies.
const finishPatience = 10 * time.Second

// Config configures a server.
type Config struct {
	Backend *client.Backend
	// MaxClients, ProtectedMode and KeepAlive are called for each new connection.
	MaxClients    func() int
	ProtectedMode func() bool
	KeepAlive     func() time.Duration
	// PeerPort is reported to nodes that connect here by mistake.
	PeerPort int
	// Secure returns the TLS configuration for the ports given to ServeSecure.
	Secure   func() *tls.Config
	Stats    *stats.Stats
	Registry *client.Registry
	// Panics catches the panics of the code that serves a client. It may be nil.
	Panics *caught.Panics
	Log    *slog.Logger
}

// Server serves clients.
type Server struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex // guards listeners, conns, stopping, closed
	listeners []net.Listener
	conns     map[net.Conn]struct{}
	// stopping is true if no new client is accepted, and closed if no client is served any more.
	stopping, closed bool
	// accepting are the goroutines that wait at listeners, wait all goroutines.
	accepting, wait sync.WaitGroup
	// draining means that each connection is closed once its requests are answered.
	draining  atomic.Bool
	drainTime time.Duration
	active    atomic.Int64
	// loops serve connections; next picks the loop for the next connection.
	loops []*poll.Loop
	next  atomic.Uint32
	// hall holds the clients whose TLS handshake is under way.
	hall secure.Hall
	// strays, failures and cuts keep those from filling the log that come to the wrong
	// port, those whose handshake fails, and those that are closed for what they hold.
	strays, failures, cuts ratelog.Log
}

// New returns a server.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, conns: map[net.Conn]struct{}{}, drainTime: drainTime}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	cfg.Stats.Cut = s.logCut
	s.startLoops()
	s.wait.Go(s.evict)
	s.wait.Go(func() { client.CloseIdle(s.ctx, s.cfg.Registry, s.cfg.Backend.Settings) })
	return s
}

// Serve starts to accept clients on a listener.
func (s *Server) Serve(l net.Listener) { s.listen(l, s.start) }

// ServeSecure starts to accept clients under TLS on a listener.
func (s *Server) ServeSecure(l net.Listener) { s.listen(l, s.startSecure) }

// refuse reports to a client why it is not served.
func (s *Server) refuse(conn net.Conn, why string) {
	s.cfg.Stats.RejectedConns.Add(1)
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write([]byte("-" + why + "\r\n"))
	conn.Close()
}

const errTooManyClients = "ERR max number of clients reached"

// full reports whether the maximum number of clients is reached. Clients whose handshake is under
// way count.
func (s *Server) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns) >= s.cfg.MaxClients()
}

// protected says why a client from another host is refused, or "" if it is not.
func (s *Server) protected(conn net.Conn) string {
	if s.cfg.ProtectedMode() && !local(conn.RemoteAddr()) {
		return "DENIED Lockstep is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode connections are only accepted from the loopback interface. " +
			"To connect from elsewhere set a password (requirepass), or turn protected mode off with 'CONFIG SET protected-mode no' from the loopback interface or in the configuration file."
	}
	return ""
}

func local(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

// start serves a client without TLS.
func (s *Server) start(conn net.Conn) {
	why := s.protected(conn)
	if s.full() {
		why = errTooManyClients
	}
	if why != "" {
		s.refuse(conn, why)
		return
	}
	s.keepAlive(conn)
	if polled := s.poll(conn); polled != nil {
		if s.track(polled) {
			polled.Enter(s.newHandler(polled, polled))
		}
		return
	}
	if s.track(conn) {
		go s.serve(conn)
	}
}

func (s *Server) keepAlive(conn net.Conn) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	if d := s.cfg.KeepAlive(); d > 0 {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: d, Interval: max(d/3, time.Second), Count: 3})
	} else {
		_ = tcp.SetKeepAlive(false)
	}
}

// track counts a connection. If the server is closed it closes the connection and returns false.
func (s *Server) track(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		conn.Close()
		return false
	}
	s.conns[conn] = struct{}{}
	s.wait.Add(1)
	return true
}

// untrack undoes track.
func (s *Server) untrack(conn net.Conn) {
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
	conn.Close()
	s.wait.Done()
}

// serve answers one client until its connection ends.
func (s *Server) serve(conn net.Conn) {
	h := s.newHandler(conn, conn)
	h.run(nil)
}

// logCut logs which client was closed for not reading its replies.
func (s *Server) logCut(from net.Addr, waiting int64, why error) {
	s.cuts.Warn(s.cfg.Log, "a client was closed", "from", from.String(), "reason", why, "waiting_bytes", waiting)
}

// evict closes clients while all of them together hold too much.
func (s *Server) evict() {
	client.EvictClients(s.ctx, s.cfg.Registry, s.cfg.Stats, s.cfg.Backend.Settings, func(e client.Evicted) {
		s.cfg.Log.Warn("clients evicted", "clients", e.Clients, "bytes", e.Bytes, "held_by_all", e.HeldBytes, "maxmemory_clients", s.cfg.Backend.Settings().ClientsBytesMax)
	})
}

// limits are the limits by the current settings, for a client that has
// subscriptions or for another one.
func (s *Server) limits(subscribed bool) resp.Limits {
	set := s.cfg.Backend.Settings()
	limits := resp.DefaultLimits
	limits.BulkBytesMax = int64(set.BulkBytesMax)
	limits.QueryBytesMax = int64(set.QueryBytesMax)
	limits.TogetherMax = set.ClientsBytesMax
	limits.IdleTimeout = time.Duration(set.IdleTimeoutSec) * time.Second
	output := set.NormalOutput
	if subscribed {
		output = set.PubSubOutput
	}
	limits.OutputHardMax, limits.OutputSoftMax = output.HardBytes, output.SoftBytes
	limits.OutputSoftTime = time.Duration(output.SoftSec) * time.Second
	return limits
}

// blocked is called when a client starts and stops waiting for a key. Meanwhile its
// batch does not count as under way, because the wait may be long.
func (s *Server) blocked(yes bool) {
	if yes {
		s.active.Add(-1)
	} else {
		s.active.Add(1)
	}
}

// parse splits data into commands. The arguments point into data. The argument
// lists are cut from arena.
func parse(data []byte, batch [][][]byte, arena [][]byte) ([][][]byte, [][]byte) {
	used := 0
	for len(data) > 0 {
		complete, args, _, rest, err := redcon.ReadNextCommand(data, arena[used:used:cap(arena)])
		if !complete || err != nil {
			return nil, arena
		}
		if used+len(args) > cap(arena) {
			// The list did not fit and was allocated elsewhere. The next ones use a
			// new arena, which is no larger than one that is kept.
			arena, used = make([][]byte, min(max(64, 2*cap(arena), 2*len(args)), argsKept)), 0
		} else {
			used += len(args)
		}
		batch = append(batch, args[:len(args):len(args)])
		data = rest
	}
	return batch, arena
}

// drainTime is how long connected clients have for one more batch before their
// connections are closed in any case.
const drainTime = 250 * time.Millisecond

// Close lets clients leave, lets batches under way finish until ctx ends, and
// closes all connections.
//
// An active client gets its reply and the end of its connection together, and so
// knows before its next command that the server is gone. If its connection were
// closed between two commands, the second might be on its way, and the client could
// not know that it did not run.
func (s *Server) Close(ctx context.Context) {
	s.StopAccepting()
	patience := time.Now()
	if !s.draining.Swap(true) {
		patience = patience.Add(s.drainTime)
	}
	for (s.active.Load() > 0 || s.connected() && time.Now().Before(patience)) && ctx.Err() == nil {
		pause(ctx, 2*time.Millisecond)
	}
	s.awaitUnread(ctx)
	s.cancel()
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
	for _, l := range s.loops {
		l.Close()
	}
}

// connected reports whether there are clients.
func (s *Server) connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns) > 0
}
