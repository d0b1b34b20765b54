package client

import (
	"bytes"
	"slices"
	"strconv"

	"lockstep/engine/command"
	"lockstep/engine/reply"
	"lockstep/proto/pubsub"
)

var pubSubHandlers = group{
	"subscribe":    func(c *Client, args [][]byte) { subscribe(c, pubsub.Channel, args[1:]) },
	"psubscribe":   func(c *Client, args [][]byte) { subscribe(c, pubsub.Pattern, args[1:]) },
	"ssubscribe":   shardSubscribe,
	"unsubscribe":  func(c *Client, args [][]byte) { unsubscribe(c, pubsub.Channel, args[1:]) },
	"punsubscribe": func(c *Client, args [][]byte) { unsubscribe(c, pubsub.Pattern, args[1:]) },
	"sunsubscribe": func(c *Client, args [][]byte) { unsubscribe(c, pubsub.Shard, args[1:]) },
	"publish":      publish, "spublish": publish,
}

// subscriptionsMax bounds one client's subscriptions of all kinds together, and
// subscriptionBytesMax their names.
const (
	subscriptionsMax     = 1 << 18
	subscriptionBytesMax = 64 << 20
)

const (
	errTooManySubscriptions = "ERR too many subscriptions: a connection may have 262144, of 64 MB"
	errNoMoreSubscriptions  = "ERR too many subscriptions: this node takes no more; the ones before are confirmed"
)

// subscriptions are a client's, by kind.
type subscriptions [3]map[string]struct{}

func (s *subscriptions) total() int { return len(s[0]) + len(s[1]) + len(s[2]) }

// verbs are the first words of the replies, by kind.
var verbs = [3][2]string{{"subscribe", "unsubscribe"}, {"psubscribe", "punsubscribe"}, {"ssubscribe", "sunsubscribe"}}

// confirm answers for one name of (UN)SUBSCRIBE. The count is the number of
// channels and patterns, or the number of shard channels.
func (l *listener) confirm(verb string, kind pubsub.Kind, name []byte) {
	l.out.Push(3)
	l.out.BulkString(verb)
	if name == nil {
		l.out.Null()
	} else {
		l.out.Bulk(name)
	}
	n := len(l.env.shared.subs[pubsub.Channel]) + len(l.env.shared.subs[pubsub.Pattern])
	if kind == pubsub.Shard {
		n = len(l.env.shared.subs[pubsub.Shard])
	}
	l.out.Int(int64(n))
}

func subscribe(c *Client, kind pubsub.Kind, names [][]byte) {
	if !c.shared.subs.fits(kind, names, c.shared.subBytes) {
		c.out.Error(errTooManySubscriptions)
		return
	}
	watched := c.listener.subscribe(kind, names)
	if c.users != c.backend.Users() && !(c.renew() && (c.user.MayAll() || c.shared.subs.allowed(c.user))) {
		// Rejudge may have run before the subscriptions were there.
		c.out.closing = true
	}
	if watched {
		c.backend.Feeds.AwaitEvents()
	}
}

func unsubscribe(c *Client, kind pubsub.Kind, names [][]byte) {
	c.listener.unsubscribe(kind, names, c.tx.runs)
}

// subscribe adds subscriptions and confirms each. watched reports whether one of them is to keyspace events.
func (l *listener) subscribe(kind pubsub.Kind, names [][]byte) (watched bool) {
	l.listen()
	hub := l.env.backend.Channels.Hub()
	for _, name := range names {
		if !hub.Subscribe(l.pushes, kind, string(name)) {
			l.out.Error(errNoMoreSubscriptions)
			break
		}
		l.env.shared.hear(kind, string(name), true)
		watched = watched || hub.IsWatched(kind, string(name))
		l.confirm(verbs[kind][0], kind, name)
	}
	l.pushes.listen(l.env.shared.subs.total() > 0)
	return watched
}

func shardSubscribe(c *Client, args [][]byte) {
	if c.tx.runs {
		c.out.Error(errShardSubscribeInMulti)
		return
	}
	subscribe(c, pubsub.Shard, args[1:])
}

// fits reports whether these subscriptions fit within the bounds. had is the length of the names
// that the client already has.
func (s *subscriptions) fits(kind pubsub.Kind, names [][]byte, had int) bool {
	bytes := had
	for _, name := range names {
		bytes += len(name)
	}
	if s.total()+len(names) <= subscriptionsMax && bytes <= subscriptionBytesMax {
		return true
	}
	more := map[string]struct{}{}
	bytes = had
	for _, name := range names {
		if _, there := s[kind][string(name)]; there {
			continue
		}
		if _, twice := more[string(name)]; !twice {
			more[string(name)] = struct{}{}
			bytes += len(name)
		}
	}
	return s.total()+len(more) <= subscriptionsMax && bytes <= subscriptionBytesMax
}

// unsubscribe removes subscriptions, or all of the kind if names is empty, and confirms each. inExec is true in a
// transaction that runs.
func (l *listener) unsubscribe(kind pubsub.Kind, names [][]byte, inExec bool) {
	verb := verbs[kind][1]
	if len(names) == 0 {
		for name := range l.env.shared.subs[kind] {
			names = append(names, []byte(name))
		}
		slices.SortFunc(names, bytes.Compare)
		if len(names) == 0 {
			l.confirm(verb, kind, nil)
			return
		}
	}
	for _, name := range names {
		if _, ok := l.env.shared.subs[kind][string(name)]; ok {
			l.env.backend.Channels.Hub().Unsubscribe(l.pushes, kind, string(name))
		}
	}
	if !inExec {
		// Earlier messages are written before the confirmations: after the last confirmation a
		// RESP2 client takes everything for a reply.
		l.out.Raw(l.pushes.claim())
	}
	for _, name := range names {
		l.env.shared.hear(kind, string(name), false)
		l.confirm(verb, kind, name)
	}
	l.pushes.listen(l.env.shared.subs.total() > 0)
	if inExec && l.out.Proto == reply.RESP2 && l.env.shared.subs.total() == 0 && !l.monitoring {
		// A message cannot be sent within the replies of a transaction.
		l.pushes.forget()
	}
}

// unsubscribeAll removes all subscriptions without sending replies.
func (l *listener) unsubscribeAll() {
	for kind := range l.env.shared.subs {
		for name := range l.env.shared.subs[kind] {
			l.env.backend.Channels.Hub().Unsubscribe(l.pushes, pubsub.Kind(kind), name)
		}
	}
	l.env.shared.mu.Lock()
	l.env.shared.subs, l.env.shared.subBytes = subscriptions{}, 0
	l.env.shared.mu.Unlock()
	l.pushes.listen(false)
}

// listeningOnly reports whether the client speaks RESP2 and has subscriptions. Nearly every other
// command is then refused, because messages could not be told from replies.
func (l *listener) listeningOnly() bool {
	return l.out.Proto == reply.RESP2 && l.env.shared.subs.total() > 0
}

func errListening(s *command.Spec) string {
	return "ERR Can't execute '" + s.Name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
}

// publish sends a message. To the clients of this node it is sent when later is kicked.
func (b *calls) publish(args [][]byte) (receivers func() int) {
	kind := pubsub.Channel
	if args[0][0]|0x20 == 's' {
		kind = pubsub.Shard
	}
	return b.env.backend.Channels.Publish(kind, args[1], args[2], &b.later)
}

// publish is PUBLISH in a transaction; outside of one it is batchPublish.
func publish(c *Client, args [][]byte) {
	receivers := c.calls.publish(args)
	c.calls.later.Kick()
	c.out.Int(int64(receivers()))
}

// countReceivers fills in the replies to the messages among the calls.
func (b *calls) countReceivers() {
	for i := range b.all {
		if s := &b.all[i]; s.receivers != nil {
			s.call.Reply = append(strconv.AppendInt([]byte{':'}, int64(s.receivers()), 10), "\r\n"...)
		}
	}
}
