package node

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"lockstep/node/ops"
)

// probe is one of the checks that a probe of the admin port is made of; nil: all
// is well.
type probe struct {
	name  string
	check func(*Node) error
}

// The checks. What liveness asks is whether this process is stuck and a restart
// would help. It is never about other nodes: a restart brings no quorum back, and
// in a partition the minority would be restarted for ever.
var (
	checkStarted = probe{"started", func(n *Node) error {
		if !n.Ready.Load() {
			return errors.New("is starting")
		}
		return nil
	}}
	checkStaying = probe{"staying", func(n *Node) error {
		if n.Draining.Load() {
			return errors.New("is stopping")
		}
		return nil
	}}
	checkFounded  = probe{"founded", (*Node).checkFounded}
	checkCaughtUp = probe{"caught-up", func(n *Node) error { return n.readiness.catchUp() }}
	checkLeaders  = probe{"leaders", func(n *Node) error { return n.readiness.leaders() }}
	checkLeading  = probe{"leading", func(n *Node) error {
		for _, s := range n.Shards() {
			if s.Leads() {
				return nil
			}
		}
		return errors.New("leads no shard")
	}}
	checkAlive = probe{"disk", func(n *Node) error {
		if err := n.dying.Load(); err != nil && !errors.Is(*err, ops.ErrShutdown) && !errors.Is(*err, ErrRemoved) {
			return fmt.Errorf("cannot go on: %w", *err)
		}
		return nil
	}}
	checkApplying = probe{"applying", (*Node).checkApplying}
)

// The probes.
var (
	startupProbe = []probe{checkStarted}
	liveProbe    = []probe{checkAlive, checkApplying}
	readyProbe   = []probe{checkStarted, checkStaying, checkFounded, checkCaughtUp, checkLeaders}
	// Variants of readiness: for who wants leaders alone, for who reads from any
	// node that has caught up once, and for who reads whatever there is.
	readyLeader   = []probe{checkStarted, checkStaying, checkFounded, checkCaughtUp, checkLeaders, checkLeading}
	readyNoLeader = []probe{checkStarted, checkStaying, checkCaughtUp}
	readyStale    = []probe{checkStarted, checkStaying}
)

// applyingMost is how long a batch of entries may be applied before the node
// counts as stuck: that takes tickets and runs what is cheap, and never waits
// for what is not.
const applyingMost = 60 * time.Second

func (n *Node) checkApplying() error {
	if !n.Ready.Load() {
		return nil
	}
	for _, s := range n.Shards() {
		if err := tooLong(fmt.Sprintf("shard %d", s.ID()), s.Group().Counts().Applying()); err != nil {
			return err
		}
	}
	return tooLong("the meta group", n.MetaGroup.Counts().Applying())
}

// tooLong says whether a group has been applying a batch for so long that it is stuck.
func tooLong(group string, applying time.Duration) error {
	if applying > applyingMost {
		return fmt.Errorf("%s has been applying entries for %v", group, applying.Round(time.Second))
	}
	return nil
}

// verdict is the first check that fails.
func (n *Node) verdict(probes []probe) error {
	for _, p := range probes {
		if err := p.check(n); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) serveLive(w http.ResponseWriter, r *http.Request)    { n.serveProbe(w, r, liveProbe) }
func (n *Node) serveStartup(w http.ResponseWriter, r *http.Request) { n.serveProbe(w, r, startupProbe) }

// serveReady answers /readyz; ?leader, ?noleader and ?stale choose a variant.
func (n *Node) serveReady(w http.ResponseWriter, r *http.Request) {
	switch query := r.URL.Query(); {
	case query.Has("leader"):
		n.serveProbe(w, r, readyLeader)
	case query.Has("noleader"):
		n.serveProbe(w, r, readyNoLeader)
	case query.Has("stale"):
		n.serveProbe(w, r, readyStale)
	default:
		n.serveProbe(w, r, readyProbe)
	}
}

// serveProbe answers 200 if all checks are well, else 503 and the first that is
// not; with ?verbose, each of them in a line.
func (n *Node) serveProbe(w http.ResponseWriter, r *http.Request, probes []probe) {
	var text strings.Builder
	var failed error
	for _, p := range probes {
		err := p.check(n)
		if err != nil {
			failed = errors.Join(failed, err)
			fmt.Fprintf(&text, "[-] %s: %v\n", p.name, err)
			if p.name == checkStarted.name {
				break // the other checks have nothing to look at yet
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
