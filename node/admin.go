package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"
	"time"
)

// adminServer is the HTTP port: health, metrics, profiles. It asks for no
// password and changes nothing.
type adminServer struct{ http *http.Server }

// openAdmin opens the HTTP port if one is set. It is open before the node is
// ready, so that a probe can tell a node that starts from one that is dead.
func (n *Node) openAdmin(context.Context) error {
	s := n.cfg.Current()
	if s.AdminPort == 0 {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", n.serveReady)
	mux.HandleFunc("/startupz", n.serveReady)
	mux.HandleFunc("/metrics", n.serveMetrics)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	n.admin = &adminServer{&http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}
	for _, addr := range listenAddresses(s.Bind, s.AdminPort) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return inWords(err, "admin-port", s.AdminPort)
		}
		go func() {
			if err := n.admin.http.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
				n.log.Warn("the admin port ended", "err", err)
			}
		}()
	}
	return nil
}

func (a *adminServer) close(ctx context.Context) { _ = a.http.Shutdown(ctx) }

// serveReady says whether clients are served and every shard has a leader.
func (n *Node) serveReady(w http.ResponseWriter, _ *http.Request) {
	why := ""
	switch {
	case !n.serving.Load() || !n.ready.Load():
		why = "starting"
	case n.draining.Load():
		why = "draining"
	default:
		for i, s := range n.shards {
			if id, _ := s.Group().Leader(); id == "" {
				why = fmt.Sprintf("shard %d has no leader", i)
			}
		}
	}
	if why != "" {
		http.Error(w, why, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// serveMetrics writes the numbers of INFO in Prometheus's text form.
func (n *Node) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	if !n.ready.Load() {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	var b strings.Builder
	gauge := func(name, labels string, v any) { fmt.Fprintf(&b, "lockstep_%s%s %v\n", name, labels, v) }
	gauge("up", "", 1)
	gauge("uptime_seconds", "", int(time.Since(n.started).Seconds()))
	gauge("connected_clients", "", n.front.registry.Len())
	gauge("commands_total", "", n.front.stats.Commands())
	gauge("error_replies_total", "", n.front.stats.Errors())
	gauge("used_bytes", "", n.usedBytes())
	gauge("resident_bytes", "", residentBytes())
	gauge("forwarded_calls_total", "", n.router.Counters.Forwarded.Load())
	gauge("unknown_outcomes_total", "", n.router.Counters.Unknown.Load())
	for i, s := range n.shards {
		l := `{shard="` + strconv.Itoa(i) + `"}`
		g := n.groupStatus(strconv.Itoa(i), s.Group(), s)
		leads := 0
		if g.Role == "leader" {
			leads = 1
		}
		txns, bytes := s.Outstanding()
		st := s.Machine().Sched().Stats()
		c := s.Machine().Counters()
		gauge("raft_leader", l, leads)
		gauge("raft_term", l, g.Term)
		gauge("raft_committed_index", l, g.Committed)
		gauge("raft_executed_index", l, g.Executed)
		gauge("raft_lag_entries", l, g.Lag)
		gauge("outstanding_txns", l, txns)
		gauge("outstanding_bytes", l, bytes)
		gauge("entries_total", l, c.Entries.Load())
		gauge("txns_total", l, c.Txns.Load())
		gauge("duplicate_txns_total", l, c.Duplicates.Load())
		gauge("panics_total", l, c.Panics.Load())
		gauge("lock_tickets_total", l, st.Tickets)
		gauge("lock_waits_total", l, st.Waited)
		gauge("lock_wait_seconds_total", l, float64(st.WaitNs)/1e9)
		gauge("lock_waiting_tickets", l, st.WaitingTickets)
		gauge("lock_waiting_permits", l, st.WaitingPermits)
		gauge("permits_in_use", l, st.PermitsInUse)
		for _, h := range s.Machine().Sched().Hottest(hottestShown) {
			hl := fmt.Sprintf(`{shard="%d",lock_slot="%d"}`, i, h.Slot)
			gauge("lock_slot_waits_total", hl, h.Waited)
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write([]byte(b.String()))
}
