package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
	"lockstep/cluster/secret"
)

const (
	knockPresence = "muster"
	knockPromise  = "promise"

	// bootstrapAddrsMax bounds how many addresses behind the names are asked.
	bootstrapAddrsMax = 128
	// bootstrapTimeout bounds one question, and the look-up of one name.
	bootstrapTimeout = 2 * time.Second
	bootstrapPause   = 500 * time.Millisecond
	// bootstrapJoinTimeout bounds an attempt to join. After it the node looks again: the node that it
	// asked may have lost its disk.
	bootstrapJoinTimeout = 20 * time.Second
)

// Presence is what a node reports about itself when a cluster is founded.
type Presence struct {
	ID   meta.NodeID `json:"id"`
	Name string      `json:"name"`
	// ClusterID is the cluster that the node belongs to; it is empty if the node's folder is empty.
	ClusterID string `json:"cluster_id,omitempty"`
	// Expect is how many nodes it expects, and Join the names that it asks, sorted.
	Expect int      `json:"expect,omitempty"`
	Join   []string `json:"join,omitempty"`
}

// Promise is a node's answer to one that wants to found the cluster.
type Promise struct {
	// To is the name of the node that this one has promised to follow.
	To string `json:"to"`
}

// PromiseStore keeps a promise on disk.
type PromiseStore interface {
	// Promised is the name of the node to which this one has promised that it may found the
	// cluster. It is empty if there is no promise.
	Promised() string
	// Promise makes a promise durable.
	Promise(name string) error
}

// BootstrapConfig is the configuration of a Bootstrap.
type BootstrapConfig struct {
	// Request is the request with which this node joins.
	Request JoinRequest
	// Expect is the number of nodes that must be there for one to found a cluster.
	Expect int
	// Join are "host:port" of peers. All addresses behind a name are asked.
	Join   []string
	Caller Caller
	// LookupHost finds the addresses behind a name; it is called for each try.
	LookupHost func(ctx context.Context, host string) ([]string, error)
	Promises   PromiseStore
	Log        *slog.Logger
}

// Bootstrap founds a cluster without a node that was told to bootstrap it. All nodes are started
// alike. A node with an empty folder asks every node behind the names that it was given:
//
//   - If any of them belongs to a cluster, it joins that cluster.
//   - Otherwise, if every address answers, the nodes are exactly as many as were
//     expected, and all of them are empty and expect the same number, the one with
//     the lowest name founds the cluster, and the others wait until it has.
//   - Otherwise it waits, and logs why.
//
// So a node that lost its disk never founds a second cluster while it can reach a node that
// remembers the first, and it waits while it cannot reach one of them. Two nodes never both found a
// cluster: each needs the promise of all nodes that it counts, a node gives its promise to one name
// only, and promises are kept on disk.
type Bootstrap struct {
	cfg  BootstrapConfig
	self Presence
	// mu makes a decision of several steps atomic. It guards open, and promises.
	mu   sync.Mutex
	open int
	// pause is the time between two looks.
	pause time.Duration
	// said is the reason that was last logged, at saidAt.
	said   string
	saidAt time.Time
}

// NewBootstrap returns a Bootstrap. Serve may be called at once.
func NewBootstrap(cfg BootstrapConfig) *Bootstrap {
	join := slices.Clone(cfg.Join)
	slices.Sort(join)
	n := cfg.Request.Node
	return &Bootstrap{cfg: cfg, pause: bootstrapPause, self: Presence{ID: n.ID, Name: n.Name, Expect: cfg.Expect, Join: slices.Compact(join)}}
}

// Run looks for a cluster until this node should found one (nil, nil), a cluster has let it in, it
// is refused for good, or ctx ends.
func (b *Bootstrap) Run(ctx context.Context) (*Welcome, error) {
	b.cfg.Log.Info("the folder is empty: looking for a cluster to join, or for enough nodes to found one",
		"expected", b.self.Expect, "asked", strings.Join(b.self.Join, ","))
	for {
		seen := b.probeAll(ctx)
		d := decide(b.self, seen)
		switch {
		case len(d.join) > 0:
			w, err := b.join(ctx, d.join)
			if err == nil || ctx.Err() == nil && errors.As(err, new(*leaderrpc.Refusal)) {
				return w, err
			}
			d.wait = err.Error()
		case d.found:
			if d.wait = b.collectPromises(ctx, seen); d.wait == "" {
				b.cfg.Log.Info("all are there and none belongs to a cluster; this node has the lowest name and founds it", "nodes", b.self.Expect)
				return nil, nil
			}
		}
		b.logWait(d)
		if !sleep(ctx, b.pause) {
			return nil, fmt.Errorf("no cluster to join, and none could be founded: %w (%s)", ctx.Err(), d.wait)
		}
	}
}

// logWait logs why the node waits: at once if the reason is new, else every joinSayEvery.
func (b *Bootstrap) logWait(d decision) {
	if d.wait == b.said && time.Since(b.saidAt) < joinSayEvery {
		return
	}
	b.said, b.saidAt = d.wait, time.Now()
	if d.loud {
		b.cfg.Log.Error("no cluster can be founded", "reason", d.wait)
		return
	}
	b.cfg.Log.Info("waiting", "reason", d.wait)
}

// join asks the nodes of a cluster at addrs to let this node in.
func (b *Bootstrap) join(ctx context.Context, addrs []string) (*Welcome, error) {
	ctx, cancel := context.WithTimeout(ctx, bootstrapJoinTimeout)
	defer cancel()
	w, err := Join(ctx, b.cfg.Caller, addrs, b.cfg.Request, b.cfg.Log)
	if err != nil {
		return nil, err
	}
	return &w, nil
}

// probe is the result of asking one address.
type probe struct {
	addr string
	Presence
	err error
}

// probeAll asks all addresses in parallel.
func (b *Bootstrap) probeAll(ctx context.Context) []probe {
	addrs, seen := b.resolve(ctx)
	answers := make(chan probe, len(addrs))
	for _, addr := range addrs {
		go func() {
			ctx, cancel := context.WithTimeout(ctx, bootstrapTimeout)
			defer cancel()
			s := probe{addr: addr}
			s.err = ask(ctx, b.cfg.Caller, addr, knockPresence, b.self, &s.Presence)
			if s.err == nil && (s.ID == "" || s.Name == "") {
				s.err = errors.New("it does not say who it is")
			}
			answers <- s
		}()
	}
	for range addrs {
		seen = append(seen, <-answers)
	}
	slices.SortFunc(seen, func(a, b probe) int { return strings.Compare(a.addr, b.addr) })
	return seen
}

// resolve finds all addresses behind the names. A name without an address gives an empty
// probe.
func (b *Bootstrap) resolve(ctx context.Context) (addrs []string, unknown []probe) {
	for _, entry := range b.self.Join {
		host, port, err := net.SplitHostPort(entry)
		if err != nil {
			unknown = append(unknown, probe{addr: entry, err: err})
			continue
		}
		lookup, cancel := context.WithTimeout(ctx, bootstrapTimeout)
		ips, err := b.cfg.LookupHost(lookup, host)
		cancel()
		if err == nil && len(ips) == 0 {
			err = errors.New("the name has no address")
		}
		if err != nil {
			unknown = append(unknown, probe{addr: entry, err: err})
		}
		for _, ip := range ips {
			addrs = append(addrs, net.JoinHostPort(ip, port))
		}
	}
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	if more := len(addrs) - bootstrapAddrsMax; more > 0 {
		unknown = append(unknown, probe{addr: "the rest", err: fmt.Errorf("%d addresses are more than the %d that are asked", len(addrs), bootstrapAddrsMax)})
		addrs = addrs[:bootstrapAddrsMax]
	}
	return addrs, unknown
}

// decision is the conclusion from a look around: join these nodes, or found, or wait.
type decision struct {
	join  []string
	found bool
	wait  string
	// loud is true if waiting alone will not help.
	loud bool
}

// decide applies the rule of Bootstrap to the results of one look.
func decide(self Presence, seen []probe) decision {
	clusters := map[string][]string{}
	present := map[meta.NodeID]Presence{self.ID: self}
	var silent, astray []string
	for _, s := range seen {
		switch {
		case errors.Is(s.err, secret.ErrOtherPort):
			astray = append(astray, fmt.Sprintf("%s (%v)", s.addr, s.err))
		case s.err != nil:
			silent = append(silent, fmt.Sprintf("%s (%v)", s.addr, s.err))
		case s.ClusterID != "":
			clusters[s.ClusterID] = append(clusters[s.ClusterID], s.addr)
		default:
			present[s.ID] = s.Presence
		}
	}
	switch {
	case len(clusters) > 1:
		return decision{loud: true, wait: fmt.Sprintf("the nodes behind %s belong to %d different clusters; leave one in the list to join it",
			strings.Join(self.Join, ","), len(clusters))}
	case len(clusters) == 1:
		for _, addrs := range clusters {
			return decision{join: addrs}
		}
	}
	if len(astray) > 0 {
		return decision{loud: true, wait: "of the addresses to join these are no peer ports: " + strings.Join(astray, ", ")}
	}
	if clash := disagreement(self, present); clash != "" {
		return decision{loud: true, wait: clash}
	}
	names := namesOf(present)
	switch {
	case len(silent) > 0:
		return decision{wait: fmt.Sprintf("%d of %d expected nodes are there (%s), and who does not answer may belong to a cluster: %s",
			len(names), self.Expect, strings.Join(names, ","), strings.Join(silent, ", "))}
	case len(names) > self.Expect:
		return decision{loud: true, wait: fmt.Sprintf("%d nodes are there (%s), but bootstrap-expect is %d; give all of them their true number",
			len(names), strings.Join(names, ","), self.Expect)}
	case len(names) < self.Expect:
		return decision{wait: fmt.Sprintf("%d of %d expected nodes are there: %s", len(names), self.Expect, strings.Join(names, ","))}
	case names[0] != self.Name:
		return decision{wait: fmt.Sprintf("all %d are there and empty; %s has the lowest name and founds the cluster", self.Expect, names[0])}
	}
	return decision{found: true}
}

// disagreement names a node whose settings differ from this node's. It returns "" if there is none.
func disagreement(self Presence, present map[meta.NodeID]Presence) string {
	var found []string
	byName := map[string]meta.NodeID{}
	for id, p := range present {
		if other, taken := byName[p.Name]; taken {
			found = append(found, fmt.Sprintf("two nodes are called %s (%s, %s)", p.Name, min(id, other), max(id, other)))
		}
		byName[p.Name] = id
		switch {
		case p.Expect == 0:
			found = append(found, p.Name+" was started without bootstrap-expect")
		case p.Expect != self.Expect:
			found = append(found, fmt.Sprintf("%s has bootstrap-expect %d, and this node %d", p.Name, p.Expect, self.Expect))
		case !slices.Equal(p.Join, self.Join):
			found = append(found, fmt.Sprintf("%s was told to ask %s, and this node %s", p.Name, strings.Join(p.Join, ","), strings.Join(self.Join, ",")))
		}
	}
	slices.Sort(found)
	return strings.Join(found, "; ")
}

func namesOf(present map[meta.NodeID]Presence) []string {
	var names []string
	for _, p := range present {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// collectPromises asks all nodes, this one first, for the promise to follow this node. It returns
// why this node must not found the cluster, or "".
func (b *Bootstrap) collectPromises(ctx context.Context, seen []probe) string {
	if to, err := b.promise(b.self.Name); err != nil || to != b.self.Name {
		return refusedPromise("this node", to, err)
	}
	for _, s := range seen {
		if s.ID == b.self.ID {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, bootstrapTimeout)
		var p Promise
		err := ask(ctx, b.cfg.Caller, s.addr, knockPromise, b.self, &p)
		cancel()
		if err != nil || p.To != b.self.Name {
			return refusedPromise(s.Name, p.To, err)
		}
	}
	return ""
}

func refusedPromise(who, to string, err error) string {
	if err != nil {
		return fmt.Sprintf("%s has not promised to follow: %v", who, err)
	}
	return fmt.Sprintf("%s has promised to follow %s; if that node will not found a cluster, empty the folder of %s", who, to, who)
}

// promise returns the name of the node that this one has promised to follow. It promises to follow
// name if it has promised nothing yet.
func (b *Bootstrap) promise(name string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if to := b.cfg.Promises.Promised(); to != "" {
		return to, nil
	}
	if err := b.cfg.Promises.Promise(name); err != nil {
		return "", err
	}
	return name, nil
}

// Serve answers a request of KindKnock while the node has no cluster. It does
// not block; reply is called once, from any goroutine.
func (b *Bootstrap) Serve(payload []byte, reply func([]byte)) {
	var k knock
	var from Presence
	if json.Unmarshal(payload, &k) != nil || len(k.Body) > 0 && json.Unmarshal(k.Body, &from) != nil {
		answerKnock(reply, knockAnswer{Refusal: ErrBadRequest})
		return
	}
	switch k.Verb {
	case knockPresence:
		answerKnock(reply, bodyOf(b.self))
	case knockPromise:
		b.servePromise(from, reply)
	default:
		answerKnock(reply, knockAnswer{Again: "this node has no cluster yet"})
	}
}

// servePromise writes to disk, so it works in the background.
func (b *Bootstrap) servePromise(to Presence, reply func([]byte)) {
	b.mu.Lock()
	busy := b.open >= knocksMax
	if !busy {
		b.open++
	}
	b.mu.Unlock()
	switch {
	case busy:
		answerKnock(reply, knockAnswer{Again: "this node has no time for promises now"})
		return
	case to.Expect != b.self.Expect || !slices.Equal(to.Join, b.self.Join) || to.Name == "" || to.Name >= b.self.Name:
		b.done()
		answerKnock(reply, knockAnswer{Again: fmt.Sprintf("%q is not to found this node's cluster", to.Name)})
		return
	}
	go func() {
		defer b.done()
		name, err := b.promise(to.Name)
		if err != nil {
			answerKnock(reply, knockAnswer{Again: err.Error()})
			return
		}
		answerKnock(reply, bodyOf(Promise{To: name}))
	}()
}

func (b *Bootstrap) done() {
	b.mu.Lock()
	b.open--
	b.mu.Unlock()
}

// bodyOf returns an answer with a body.
func bodyOf(body any) knockAnswer {
	b, err := json.Marshal(body)
	if err != nil {
		return knockAnswer{Again: err.Error()}
	}
	return knockAnswer{Body: b}
}
