// Package adminport is the HTTP port of a node: the web page, probes, metrics and profiles.
//
// It asks for no password and changes nothing. It is open before the node is ready, so that a probe
// can distinguish a node that is starting from one that is dead, and it may outlive the rest of the
// node. Visitors cannot keep probes out: the number of connections is bounded, and the one that has
// been idle or slow for the longest time is closed.
package adminport

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"os"
	"sync"
	"time"

	"lockstep/ground/caught"
	"lockstep/node/config"
	"lockstep/node/page"
)

// Facts are what the port shows, and the checks of its visitors.
type Facts struct {
	Config *config.Config
	Log    *slog.Logger
	Panics *caught.Panics
	// NoPassword reports whether the default user needs no password.
	NoPassword func() bool
	Health     Probes
	Metrics    http.HandlerFunc
	Page       page.Source
}

// Probes answer /livez, /startupz and /readyz.
type Probes interface {
	ServeLive(w http.ResponseWriter, r *http.Request)
	ServeStartup(w http.ResponseWriter, r *http.Request)
	ServeReady(w http.ResponseWriter, r *http.Request)
}

// Server is the HTTP port.
type Server struct {
	Facts
	http *http.Server
}

// New returns a port that serves once it has a listener.
func New(f Facts) *Server {
	s := &Server{Facts: f}
	visitors := &visitors{all: map[net.Conn]*list.Element{}}
	s.http = &http.Server{
		Handler: s.guarded(impatient(s.handler())), ReadHeaderTimeout: Patience, WriteTimeout: adminWriting, IdleTimeout: adminIdle,
		MaxHeaderBytes: adminHeaderBytesMax, ConnState: visitors.changed,
	}
	return s
}

// Serve serves a listener in a goroutine, which ends with Close.
func (s *Server) Serve(l net.Listener) {
	go func() {
		if err := s.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.Log.Warn("the admin port ended", "err", err)
		}
	}()
}

// Close waits for requests under way, at most until ctx ends.
func (s *Server) Close(ctx context.Context) { _ = s.http.Shutdown(ctx) }

// Limits for a client of the HTTP port.
const (
	// Patience is how long a client may take to send a request.
	Patience = 5 * time.Second
	// adminWriting is how long an answer may take; profiles take longest.
	adminWriting        = 5 * time.Minute
	adminIdle           = 2 * time.Minute
	adminHeaderBytesMax = 16 << 10
	adminConnsMax       = 256
)

// guarded wraps a handler so that a panic ends only its connection, and is counted and logged.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.Panics.Catch("the admin port", func() { panic(http.ErrAbortHandler) })
		next.ServeHTTP(w, r)
	})
}

// impatient bounds how long the body of a request may take. No handler here reads a body, but the
// server reads it before it answers, and would wait for ever for a body that is not sent.
func impatient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(Patience))
		}
		next.ServeHTTP(w, r)
	})
}

// visitors are the connections of the HTTP port, at most adminConnsMax. When another one comes, the
// connection that has been without a request for the longest time is closed. If all have one, the
// connection whose request has taken longest is closed. So neither many idle nor many slow
// connections can keep a probe out.
type visitors struct {
	mu sync.Mutex // guards all, resting, busy
	// all maps each connection to its element in resting or busy; both lists have the oldest first.
	all           map[net.Conn]*list.Element
	resting, busy list.List // of net.Conn
}

// changed is the server's ConnState.
func (v *visitors) changed(conn net.Conn, state http.ConnState) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if place := v.all[conn]; place != nil {
		// Only one of the two lists has it, and the other Remove does nothing.
		v.resting.Remove(place)
		v.busy.Remove(place)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		v.all[conn] = v.resting.PushBack(conn)
	case http.StateActive:
		v.all[conn] = v.busy.PushBack(conn)
	default:
		delete(v.all, conn)
	}
	if state == http.StateNew && len(v.all) > adminConnsMax {
		from := &v.resting
		if from.Len() == 1 { // conn itself
			from = &v.busy
		}
		oldest := from.Remove(from.Front()).(net.Conn)
		delete(v.all, oldest)
		go oldest.Close() // in a goroutine, because under TLS Close may wait while it notifies the client
	}
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", s.Health.ServeLive)
	mux.HandleFunc("GET /readyz", s.Health.ServeReady)
	mux.HandleFunc("GET /startupz", s.Health.ServeStartup)
	mux.HandleFunc("GET /metrics", s.protected(s.Metrics))
	look := s.protected(page.NewHandler(s.Page).ServeHTTP)
	mux.HandleFunc("GET /{$}", look)
	mux.HandleFunc("GET /ui/", look)
	for path, serve := range map[string]http.HandlerFunc{
		"/debug/pprof/": pprof.Index, "/debug/pprof/profile": pprof.Profile, "/debug/pprof/trace": pprof.Trace,
		"/debug/pprof/cmdline": serveCmdline, "/debug/pprof/symbol": pprof.Symbol,
	} {
		mux.HandleFunc(path, s.protected(s.profile(serve)))
	}
	return mux
}

// protected treats visitors from other machines as the port for clients does: it refuses them while
// protected-mode is on and the default user has no password. Probes are answered in any case. With
// tls-admin mutual, visitors have shown a certificate and are served.
func (s *Server) protected(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		set := s.Config.Current()
		if from, err := netip.ParseAddrPort(r.RemoteAddr); set.ProtectedMode && set.TLSAdmin != config.AdminMutual &&
			(err != nil || !from.Addr().Unmap().IsLoopback()) && s.NoPassword() {
			http.Error(w, "protected-mode is on and the default user has no password: this port shows the page, metrics and profiles to this machine alone, "+
				"and answers probes. Set a password (requirepass), or protected-mode no.", http.StatusForbidden)
			return
		}
		serve(w, r)
	}
}

// profile serves a profile if admin-pprof is on.
func (s *Server) profile(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !profiling(s.Config.Current()) {
			http.Error(w, "profiles are off; CONFIG SET admin-pprof yes turns them on", http.StatusNotFound)
			return
		}
		serve(w, r)
	}
}

// serveCmdline answers with the program's name. Go's own handler also shows its arguments, and a
// password may be one of them.
func serveCmdline(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprint(w, os.Args[0])
}

// profiling reports whether profiles may be taken.
func profiling(s *config.Settings) bool { return s.AdminPprof }
