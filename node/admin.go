package node

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"os"
	"sync"
	"time"

	"lockstep/node/config"
	"lockstep/node/page"
)

// adminServer is the HTTP port: the page, health, metrics, profiles. It asks for
// no password and changes nothing.
type adminServer struct{ http *http.Server }

// openAdmin opens the HTTP port if one is set. It is open before the node is
// ready, so that a probe can tell a node that starts from one that is dead.
func (n *Node) openAdmin(context.Context) error {
	s := n.cfg.Current()
	if s.AdminPort == 0 {
		return nil
	}
	visitors := &visitors{all: map[net.Conn]*list.Element{}}
	n.admin = &adminServer{&http.Server{
		Handler: n.guarded(impatient(n.adminHandler())), ReadHeaderTimeout: adminPatience, WriteTimeout: adminWriting, IdleTimeout: adminIdle,
		MaxHeaderBytes: adminHeaderBytesMax, ConnState: visitors.changed,
	}}
	for _, addr := range listenAddresses(s.Bind, s.AdminPort) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return inWords(err, "admin-port", s.AdminPort)
		}
		l, server := n.secureAdmin(l), n.admin.http
		// Not in the background, which ends: the port may outlive the rest (Retire).
		go func() {
			if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
				n.log.Warn("the admin port ended", "err", err)
			}
		}()
	}
	return nil
}

// What a client of the HTTP port may take.
const (
	adminPatience = 5 * time.Second
	// adminWriting is how long an answer may take; profiles are the longest.
	adminWriting        = 5 * time.Minute
	adminIdle           = 2 * time.Minute
	adminHeaderBytesMax = 16 << 10
	adminConnsMax       = 256
)

// guarded has a handler that panics end its connection, counts that, and logs it.
func (n *Node) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer n.panics.Admin.Catch("the admin port", func() { panic(http.ErrAbortHandler) })
		next.ServeHTTP(w, r)
	})
}

// impatient bounds how long a request's body may take. Nobody here reads one, but the
// server does before it answers, and would wait for ever for what is not sent.
func impatient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(adminPatience))
		}
		next.ServeHTTP(w, r)
	})
}

// visitors are the connections of the HTTP port, at most adminConnsMax. When one
// more comes, the one that has been without a request longest has to go, or where
// all have one, the one whose request takes longest: neither many that rest nor many
// that dawdle must keep a probe out.
type visitors struct {
	mu sync.Mutex
	// all has each connection, with its place in resting or busy, the longest first.
	all           map[net.Conn]*list.Element
	resting, busy list.List // of net.Conn
}

// changed is the server's ConnState.
func (v *visitors) changed(conn net.Conn, state http.ConnState) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if place := v.all[conn]; place != nil {
		// One of the two has it.
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
		go oldest.Close() // not here: under TLS it takes leave first
	}
}

func (n *Node) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", n.serveLive)
	mux.HandleFunc("GET /readyz", n.serveReady)
	mux.HandleFunc("GET /startupz", n.serveStartup)
	mux.HandleFunc("GET /metrics", n.protected(n.metrics))
	look := n.protected(page.NewHandler(n.survey.Page()).ServeHTTP)
	mux.HandleFunc("GET /{$}", look)
	mux.HandleFunc("GET /ui/", look)
	for path, serve := range map[string]http.HandlerFunc{
		"/debug/pprof/": pprof.Index, "/debug/pprof/profile": pprof.Profile, "/debug/pprof/trace": pprof.Trace,
		"/debug/pprof/cmdline": serveCmdline, "/debug/pprof/symbol": pprof.Symbol,
	} {
		mux.HandleFunc(path, n.protected(n.profile(serve)))
	}
	return mux
}

// protected serves visitors from other machines as the port for clients does: not
// while protected-mode is on and the default user has no password. Probes are
// answered all the same. A visitor that has shown a certificate is no stranger.
func (n *Node) protected(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := n.cfg.Current()
		if from, err := netip.ParseAddrPort(r.RemoteAddr); s.ProtectedMode && s.TLSAdmin != config.AdminMutual &&
			(err != nil || !from.Addr().Unmap().IsLoopback()) && n.secrets.NoPassword() {
			http.Error(w, "protected-mode is on and the default user has no password: this port shows the page, metrics and profiles to this machine alone, "+
				"and answers probes. Set a password (requirepass), or protected-mode no.", http.StatusForbidden)
			return
		}
		serve(w, r)
	}
}

// profile serves a profile while admin-pprof says so.
func (n *Node) profile(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !profiling(n.cfg.Current()) {
			http.Error(w, "profiles are off; CONFIG SET admin-pprof yes turns them on", http.StatusNotFound)
			return
		}
		serve(w, r)
	}
}

// serveCmdline tells which program this is. Go's own handler tells its arguments,
// too, and a password may be one of them.
func serveCmdline(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	fmt.Fprint(w, os.Args[0])
}

// profiling tells whether profiles may be taken.
func profiling(s *config.Settings) bool { return s.AdminPprof }

func (a *adminServer) close(ctx context.Context) { _ = a.http.Shutdown(ctx) }

// metrics answers a scrape.
func (n *Node) metrics(w http.ResponseWriter, r *http.Request) {
	if !n.Ready.Load() {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	n.report.ServeMetrics(w, r)
}
