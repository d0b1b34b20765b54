// Package server accepts clients and gives each a goroutine that reads whole
// commands (package resp's Guard, then redcon's parser), has them answered
// (package client) and writes the replies.
//
// redcon's own server loop is not used: it parses from a buffer of 4 KiB, so a
// pipeline of thousands would become hundreds of commits, and it copies every
// command once more. Its parser reads straight from the guard's buffer.
//
// A client that does not read its replies holds up nobody but itself: they wait
// in the guard, within bounds.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/redcon"

	"lockstep/proto/client"
	"lockstep/proto/resp"
)

const (
	// argsKept is how long a list of arguments an idle client keeps, and bytesKept
	// the length of a batch that such a list may hold on to.
	argsKept  = 1 << 14
	bytesKept = 64 << 10
)

// finishTimeout is how long the last replies of a connection that is closed may
// take to be sent.
const finishTimeout = 3 * time.Second

// Config is what a server is made with.
type Config struct {
	Backend *client.Backend
	// MaxClients, ProtectedMode and KeepAlive are asked for each new connection.
	MaxClients    func() int
	ProtectedMode func() bool
	KeepAlive     func() time.Duration
	Stats         *client.Stats
	Registry      *client.Registry
	Log           *slog.Logger
}

// Server serves clients.
type Server struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	listeners []net.Listener
	conns     map[net.Conn]struct{}
	closed    bool
	wait      sync.WaitGroup
	active    atomic.Int64
}

// New returns a server.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, conns: map[net.Conn]struct{}{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Serve begins to accept clients on a listener.
func (s *Server) Serve(l net.Listener) {
	s.mu.Lock()
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	s.wait.Go(func() { s.accept(l) })
}

func (s *Server) accept(l net.Listener) {
	delay := time.Duration(0)
	for {
		conn, err := l.Accept()
		if err != nil {
			if s.isClosed() || errors.Is(err, net.ErrClosed) {
				return
			}
			// Most likely out of file descriptors: to try at once would only burn a
			// core.
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			s.cfg.Log.Warn("accept failed", "err", err, "retry", delay)
			select {
			case <-time.After(delay):
			case <-s.ctx.Done():
				return
			}
			continue
		}
		delay = 0
		if refusal := s.refusal(conn); refusal != "" {
			s.cfg.Stats.RejectedConns.Add(1)
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = conn.Write([]byte("-" + refusal + "\r\n"))
			conn.Close()
			continue
		}
		s.begin(conn)
	}
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// refusal says why a connection is not taken; "" if it is.
func (s *Server) refusal(conn net.Conn) string {
	s.mu.Lock()
	open := len(s.conns)
	s.mu.Unlock()
	if open >= s.cfg.MaxClients() {
		return "ERR max number of clients reached"
	}
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

func (s *Server) begin(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		if d := s.cfg.KeepAlive(); d > 0 {
			_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: d, Interval: max(d/3, time.Second), Count: 3})
		} else {
			_ = tcp.SetKeepAlive(false)
		}
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		conn.Close()
		return
	}
	s.conns[conn] = struct{}{}
	s.wait.Add(1)
	s.mu.Unlock()
	guard := resp.NewGuard(conn, s.limits, &s.cfg.Stats.Traffic)
	go s.serve(guard, client.New(s.ctx, s.cfg.Backend, s.cfg.Registry, s.cfg.Stats, guard))
}

// serve answers one client until it leaves.
func (s *Server) serve(guard *resp.Guard, c *client.Client) {
	defer s.wait.Done()
	defer func() {
		s.mu.Lock()
		delete(s.conns, guard.Conn)
		s.mu.Unlock()
		guard.Close()
		c.Close()
	}()
	defer func() {
		// A fault in what one connection does must not end the node.
		if p := recover(); p != nil {
			s.cfg.Log.Error("a client's connection was closed after an internal error", "err", client.Recovered(p))
		}
	}()
	s.loop(guard, c)
	guard.Finish(finishTimeout)
}

// limits are those that the settings of the moment ask for.
func (s *Server) limits() resp.Limits {
	set := s.cfg.Backend.Settings()
	limits := resp.DefaultLimits
	limits.BulkBytesMax = int64(set.BulkBytesMax)
	limits.QueryBytesMax = int64(set.QueryBytesMax)
	limits.IdleTimeout = time.Duration(set.IdleTimeoutSec) * time.Second
	if set.OutputBytesMax > 0 {
		limits.OutputHardMax = int64(set.OutputBytesMax)
	}
	if set.OutputSoftBytesMax > 0 {
		limits.OutputSoftMax = int64(set.OutputSoftBytesMax)
		limits.OutputSoftTime = time.Duration(set.OutputSoftSec) * time.Second
	}
	return limits
}

// loop answers batches until the client or the node has had enough.
func (s *Server) loop(guard *resp.Guard, c *client.Client) {
	var batch [][][]byte
	var arena [][]byte
	for {
		data, n, err := guard.Next()
		if err != nil {
			var told resp.ProtocolError
			if errors.As(err, &told) {
				c.Farewell(told.Error())
			}
			return
		}
		batch, arena = parse(data, batch[:0], arena)
		if len(batch) != n {
			s.cfg.Log.Error("guard and parser disagree", "guard", n, "parser", len(batch))
			return
		}
		if !s.answer(c, batch) {
			return
		}
		if cap(arena) > argsKept || len(data) > bytesKept {
			// They point into what may be large.
			arena, batch = nil, nil
		}
	}
}

// answer has a batch answered; it counts as under way until then.
func (s *Server) answer(c *client.Client, batch [][][]byte) bool {
	s.active.Add(1)
	defer s.active.Add(-1)
	return c.Handle(batch)
}

// parse takes whole commands apart; the arguments point into data. The lists
// of arguments are cut from arena.
func parse(data []byte, batch [][][]byte, arena [][]byte) ([][][]byte, [][]byte) {
	used := 0
	for len(data) > 0 {
		complete, args, _, rest, err := redcon.ReadNextCommand(data, arena[used:used:cap(arena)])
		if !complete || err != nil {
			return nil, arena
		}
		if used+len(args) > cap(arena) {
			// The list did not fit and stands elsewhere; the next ones begin a new
			// arena.
			arena, used = make([][]byte, max(64, 2*cap(arena), 2*len(args))), 0
		} else {
			used += len(args)
		}
		batch = append(batch, args[:len(args):len(args)])
		data = rest
	}
	return batch, arena
}

// Active is the number of batches being answered.
func (s *Server) Active() int { return int(s.active.Load()) }

// StopAccepting closes the listeners; clients that are there go on.
func (s *Server) StopAccepting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, l := range s.listeners {
		l.Close()
	}
}

// Close lets batches under way finish, until ctx ends, and closes all
// connections.
func (s *Server) Close(ctx context.Context) {
	s.StopAccepting()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for s.active.Load() > 0 && ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	s.cancel()
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
}
