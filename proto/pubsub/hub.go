// Package pubsub holds the subscriptions of this node's clients, and delivers
// messages to them.
//
// A message reaches the clients of the node on which it was published, and those of
// every other node. Package node sends it to the other nodes: hubs do not know each
// other. Messages of one publisher to one channel arrive in the order in which they
// were published. As in Redis, nothing is kept: a client that is not subscribed at
// that moment misses the message.
//
// A hub never waits for a subscriber. Messages that a client does not read gather in
// its connection's output, up to the limit at which the connection is closed.
package pubsub

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"lockstep/engine/glob"
)

// Kind is the kind of a subscription. Channels of different kinds are unrelated.
type Kind uint8

const (
	// Channel is SUBSCRIBE's.
	Channel Kind = iota
	// Pattern is PSUBSCRIBE's: all channels whose names match.
	Pattern
	// Shard is SSUBSCRIBE's.
	Shard
	kinds = 3
)

// Publishable reports whether messages are published to channels of this kind. A number
// from another node may name no kind at all.
func (k Kind) Publishable() bool { return k == Channel || k == Shard }

// Subscriber is a client. Push takes a message; publishers call it. It must not
// block, and must not call the hub. If it returns true, the publisher must call
// Kick, which sends the message.
type Subscriber interface {
	Push(m *Message) (kick bool)
	Kick()
}

// Later are the subscribers to which a publisher has pushed messages and which it has not
// kicked yet. After many messages in a row each subscriber then sends all of them in one
// piece. One goroutine owns a Later.
type Later struct{ subscribers []Subscriber }

// Kick makes another goroutine send the messages.
func (l *Later) Kick() {
	if len(l.subscribers) > 0 {
		go kick(l.subscribers)
		l.subscribers = nil
	}
}

func kick(all []Subscriber) {
	for _, s := range all {
		s.Kick()
	}
}

// push gives a message to a subscriber.
func (l *Later) push(s Subscriber, m *Message) {
	if s.Push(m) {
		l.subscribers = append(l.subscribers, s)
	}
}

const (
	// subscriptionsMax bounds the subscriptions of all clients together.
	subscriptionsMax = 1 << 22
	// patternsMax bounds the patterns of all clients together, each counted
	// once: a message may have to be compared with all of them.
	patternsMax = 1 << 17
	// bytesMax bounds the names of all subscriptions together.
	bytesMax = 256 << 20
)

// Hub is one node's subscriptions. All methods may be called by any goroutine.
type Hub struct {
	// names is the number of names of each kind that have a subscription.
	names [kinds]atomic.Int64

	mu sync.RWMutex // guards listeners, patterns, total, bytes
	// listeners are the subscribers of each name, by kind; those of patterns
	// stand in patterns.
	listeners [kinds]map[string]map[Subscriber]struct{}
	patterns  patterns
	// total is the number of subscriptions, bytes the length of their names.
	total, bytes int
	// subscriptionsMax, patternsMax and bytesMax are the constants; tests have less
	// room.
	subscriptionsMax, patternsMax, bytesMax int
	// prefixes are the watched prefixes. onWatch is called when the first name comes that
	// covers a channel with such a prefix, and when the last has gone.
	prefixes []string
	onWatch  func()
	// watched counts those names.
	watched atomic.Int64
}

// New returns a hub without subscriptions.
func New() *Hub {
	h := &Hub{patterns: newPatterns(), subscriptionsMax: subscriptionsMax, patternsMax: patternsMax, bytesMax: bytesMax}
	for k := range h.listeners {
		h.listeners[k] = map[string]map[Subscriber]struct{}{}
	}
	return h
}

// Watch sets a function that is called when the first subscription comes that may cover a
// channel with one of the prefixes, and when the last has gone. It must not block and must
// not call the hub. Set it before there are subscriptions.
func (h *Hub) Watch(changed func(), prefixes ...string) { h.onWatch, h.prefixes = changed, prefixes }

// Watched reports whether a subscription may cover a watched channel. If not, a publisher
// need not build a message.
func (h *Hub) Watched() bool { return h.watched.Load() > 0 }

// IsWatched reports whether a name of a kind may stand for a watched channel.
func (h *Hub) IsWatched(kind Kind, name string) bool {
	if kind == Shard {
		return false
	}
	head, isPattern := name, false
	if i := strings.IndexAny(name, `*?[\`); i >= 0 && kind == Pattern {
		head, isPattern = name[:i], true
	}
	for _, p := range h.prefixes {
		if strings.HasPrefix(head, p) || isPattern && strings.HasPrefix(p, head) {
			return true
		}
	}
	return false
}

// Subscribe adds a subscription. It returns false if the node has as many as it takes. Adding an
// existing subscription changes nothing.
func (h *Hub) Subscribe(s Subscriber, kind Kind, name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.of(kind, name)
	if _, twice := all[s]; twice {
		return true
	}
	if h.total >= h.subscriptionsMax || len(name) > h.bytesMax-h.bytes || kind == Pattern && all == nil && len(h.patterns.all) >= h.patternsMax {
		return false
	}
	if all == nil {
		all = h.begin(kind, name)
	}
	all[s] = struct{}{}
	h.total++
	h.bytes += len(name)
	return true
}

// of are the subscribers of a name, or nil.
func (h *Hub) of(kind Kind, name string) map[Subscriber]struct{} {
	if kind != Pattern {
		return h.listeners[kind][name]
	}
	if p := h.patterns.all[name]; p != nil {
		return p.listeners
	}
	return nil
}

// begin adds a name without subscribers.
func (h *Hub) begin(kind Kind, name string) map[Subscriber]struct{} {
	h.names[kind].Add(1)
	if h.IsWatched(kind, name) && h.watched.Add(1) == 1 {
		h.onWatch()
	}
	if kind == Pattern {
		return h.patterns.get(name).listeners
	}
	all := map[Subscriber]struct{}{}
	h.listeners[kind][name] = all
	return all
}

// Unsubscribe removes a subscription.
func (h *Hub) Unsubscribe(s Subscriber, kind Kind, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.of(kind, name)
	if _, there := all[s]; !there {
		return
	}
	delete(all, s)
	h.total--
	h.bytes -= len(name)
	switch {
	case len(all) > 0:
		return
	case kind == Pattern:
		h.patterns.remove(name)
	default:
		delete(h.listeners[kind], name)
	}
	h.names[kind].Add(-1)
	if h.IsWatched(kind, name) && h.watched.Add(-1) == 0 {
		h.onWatch()
	}
}

// Publish gives a message to the subscribers of a channel (kind Channel or Shard) on this
// node, and counts them. A client with two subscriptions to it counts twice.
func (h *Hub) Publish(kind Kind, channel string, payload []byte) int {
	var later Later
	n := h.PublishLater(kind, channel, payload, &later)
	later.Kick()
	return n
}

// PublishLater is Publish, except that sending begins with later's Kick.
func (h *Hub) PublishLater(kind Kind, channel string, payload []byte, later *Later) int {
	if !kind.Publishable() || h.Idle(kind) {
		return 0
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	n := 0
	if direct := h.listeners[kind][channel]; len(direct) > 0 {
		m := &Message{Kind: kind, Channel: channel, Payload: payload}
		for s := range direct {
			later.push(s, m)
			n++
		}
	}
	if kind != Channel {
		return n
	}
	for _, p := range h.patterns.matching(channel) {
		m := &Message{Kind: Pattern, Pattern: string(p.text), Channel: channel, Payload: payload}
		for s := range p.listeners {
			later.push(s, m)
			n++
		}
	}
	return n
}

// Idle reports whether no channel of the kind has a subscription, by name or by pattern. A
// publisher then need not build a message.
func (h *Hub) Idle(kind Kind) bool {
	return h.names[kind].Load() == 0 && (kind != Channel || h.names[Pattern].Load() == 0)
}

// Channels returns the names of a kind that have subscribers and match the pattern, sorted.
func (h *Hub) Channels(kind Kind, pattern string) []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var names []string
	take := func(name string) {
		if glob.MatchSoon([]byte(pattern), []byte(name)) {
			names = append(names, name)
		}
	}
	for name := range h.listeners[kind] {
		take(name)
	}
	if kind == Pattern {
		for name := range h.patterns.all {
			take(name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return names
}

// Listeners is the number of subscribers of a name.
func (h *Hub) Listeners(kind Kind, name string) int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.of(kind, name))
}

// Names is the number of names of a kind that have a subscription.
func (h *Hub) Names(kind Kind) int {
	return int(h.names[kind].Load())
}
