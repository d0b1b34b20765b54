package health

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// probe is one of the checks behind the probes of the admin port. check returns nil if all is well.
type probe struct {
	name  string
	check func(*Health) error
}

// The checks. Liveness asks whether this process is stuck and a restart would help. It is never
// about other nodes: a restart restores no quorum, and in a partition the minority would be
// restarted again and again.
var (
	checkStarted = probe{"started", func(h *Health) error {
		if !h.Ready.Load() {
			return errors.New("is starting")
		}
		return nil
	}}
	checkStaying = probe{"staying", func(h *Health) error {
		if h.Draining.Load() {
			return errors.New("is stopping")
		}
		return nil
	}}
	checkFounded  = probe{"founded", (*Health).checkFounded}
	checkCaughtUp = probe{"caught-up", func(h *Health) error { return h.catchUp() }}
	checkLeaders  = probe{"leaders", func(h *Health) error { return h.leaders() }}
	checkLeading  = probe{"leading", func(h *Health) error {
		for _, s := range h.Shards() {
			if s.Leads() {
				return nil
			}
		}
		return errors.New("leads no shard")
	}}
	checkAlive = probe{"disk", func(h *Health) error {
		if err := h.Dying(); err != nil {
			return fmt.Errorf("cannot go on: %w", err)
		}
		return nil
	}}
	checkApplying = probe{"applying", (*Health).checkApplying}
)

// The probes.
var (
	startupProbe = []probe{checkStarted}
	liveProbe    = []probe{checkAlive, checkApplying}
	readyProbe   = []probe{checkStarted, checkStaying, checkFounded, checkCaughtUp, checkLeaders}
	// Variants of readiness: for a client that wants only leaders, for one that reads from any node
	// that has caught up once, and for one that also reads outdated data.
	readyLeader   = []probe{checkStarted, checkStaying, checkFounded, checkCaughtUp, checkLeaders, checkLeading}
	readyNoLeader = []probe{checkStarted, checkStaying, checkCaughtUp}
	readyStale    = []probe{checkStarted, checkStaying}
)

// applyingMost is how long a batch of entries may be applied before the node counts as stuck.
// Applying takes tickets and runs cheap commands, and never waits for expensive ones.
const applyingMost = 60 * time.Second

func (h *Health) checkApplying() error {
	if !h.Ready.Load() {
		return nil
	}
	for _, s := range h.Shards() {
		if err := tooLong(fmt.Sprintf("shard %d", s.ID()), s.Group().Counts().Applying()); err != nil {
			return err
		}
	}
	return tooLong("the meta group", h.MetaGroup.Counts().Applying())
}

// tooLong returns an error if a group has been applying a batch for so long that it is stuck.
func tooLong(group string, applying time.Duration) error {
	if applying > applyingMost {
		return fmt.Errorf("%s has been applying entries for %v", group, applying.Round(time.Second))
	}
	return nil
}

// Verdict returns why the node is not ready, or nil if it is.
func (h *Health) Verdict() error { return h.verdict(readyProbe) }

// verdict returns the error of the first check that fails.
func (h *Health) verdict(probes []probe) error {
	for _, p := range probes {
		if err := p.check(h); err != nil {
			return err
		}
	}
	return nil
}

// ServeLive answers /livez.
func (h *Health) ServeLive(w http.ResponseWriter, r *http.Request) { h.serveProbe(w, r, liveProbe) }

// ServeStartup answers /startupz.
func (h *Health) ServeStartup(w http.ResponseWriter, r *http.Request) {
	h.serveProbe(w, r, startupProbe)
}

// ServeReady answers /readyz. ?leader, ?noleader and ?stale choose a variant.
func (h *Health) ServeReady(w http.ResponseWriter, r *http.Request) {
	switch query := r.URL.Query(); {
	case query.Has("leader"):
		h.serveProbe(w, r, readyLeader)
	case query.Has("noleader"):
		h.serveProbe(w, r, readyNoLeader)
	case query.Has("stale"):
		h.serveProbe(w, r, readyStale)
	default:
		h.serveProbe(w, r, readyProbe)
	}
}

// serveProbe answers 200 if all checks pass, else 503 with the first error. With ?verbose it lists
// each check in a line.
func (h *Health) serveProbe(w http.ResponseWriter, r *http.Request, probes []probe) {
	var text strings.Builder
	var failed error
	for _, p := range probes {
		err := p.check(h)
		if err != nil {
			failed = errors.Join(failed, err)
			fmt.Fprintf(&text, "[-] %s: %v\n", p.name, err)
			if p.name == checkStarted.name {
				break // the other checks cannot run before the start is over
			}
			continue
		}
		fmt.Fprintf(&text, "[+] %s: ok\n", p.name)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	answer := "ok\n"
	if failed != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		answer = failed.Error() + "\n"
	}
	if r.URL.Query().Has("verbose") {
		answer = text.String()
	}
	fmt.Fprint(w, answer)
}

// checkFounded keeps clients from a founder while it takes no writes.
func (h *Health) checkFounded() error {
	if err := h.Short(); err != nil {
		return fmt.Errorf("awaits other nodes: %w", err)
	}
	return nil
}
