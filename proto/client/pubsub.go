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
	"subscribe":    func(c *Client, args [][]byte) { c.subscribe(pubsub.Channel, args[1:]) },
	"psubscribe":   func(c *Client, args [][]byte) { c.subscribe(pubsub.Pattern, args[1:]) },
	"ssubscribe":   shardSubscribe,
	"unsubscribe":  func(c *Client, args [][]byte) { c.unsubscribe(pubsub.Channel, args[1:]) },
	"punsubscribe": func(c *Client, args [][]byte) { c.unsubscribe(pubsub.Pattern, args[1:]) },
	"sunsubscribe": func(c *Client, args [][]byte) { c.unsubscribe(pubsub.Shard, args[1:]) },
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
func (c *Client) confirm(verb string, kind pubsub.Kind, name []byte) {
	c.out.Push(3)
	c.out.BulkString(verb)
	if name == nil {
		c.out.Null()
	} else {
		c.out.Bulk(name)
	}
	n := len(c.shared.subs[pubsub.Channel]) + len(c.shared.subs[pubsub.Pattern])
	if kind == pubsub.Shard {
		n = len(c.shared.subs[pubsub.Shard])
	}
	c.out.Int(int64(n))
}

func (c *Client) subscribe(kind pubsub.Kind, names [][]byte) {
	if !c.shared.subs.takes(kind, names, c.shared.subBytes) {
		c.out.Error(errTooManySubscriptions)
		return
	}
	c.listen()
	watched := false
	for _, name := range names {
		if !c.backend.Channels.Hub().Subscribe(c.pushes, kind, string(name)) {
			c.out.Error(errNoMoreSubscriptions)
			break
		}
		c.shared.hear(kind, string(name), true)
		watched = watched || c.backend.Channels.Hub().IsWatched(kind, string(name))
		c.confirm(verbs[kind][0], kind, name)
	}
	c.pushes.listen(c.shared.subs.total() > 0)
	if c.users != c.backend.Users() && !(c.renew() && (c.user.MayAll() || c.shared.subs.allowed(c.user))) {
		// Rejudge may have run before the subscriptions were there.
		c.out.closing = true
	}
	if watched {
		c.backend.Feeds.AwaitEvents()
	}
}

func shardSubscribe(c *Client, args [][]byte) {
	if c.tx.runs {
		c.out.Error(errShardSubscribeInMulti)
		return
	}
	c.subscribe(pubsub.Shard, args[1:])
}

// takes reports whether these subscriptions fit within the bounds. had is the length of the names
// that the client already has.
func (s *subscriptions) takes(kind pubsub.Kind, names [][]byte, had int) bool {
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

func (c *Client) unsubscribe(kind pubsub.Kind, names [][]byte) {
	verb := verbs[kind][1]
	if len(names) == 0 {
		for name := range c.shared.subs[kind] {
			names = append(names, []byte(name))
		}
		slices.SortFunc(names, bytes.Compare)
		if len(names) == 0 {
			c.confirm(verb, kind, nil)
			return
		}
	}
	for _, name := range names {
		if _, ok := c.shared.subs[kind][string(name)]; ok {
			c.backend.Channels.Hub().Unsubscribe(c.pushes, kind, string(name))
		}
	}
	if !c.tx.runs {
		// Earlier messages are written before the confirmations: after the last confirmation a
		// RESP2 client takes everything for a reply.
		c.out.Raw(c.pushes.claim())
	}
	for _, name := range names {
		c.shared.hear(kind, string(name), false)
		c.confirm(verb, kind, name)
	}
	c.pushes.listen(c.shared.subs.total() > 0)
	if c.tx.runs && c.out.Proto == reply.RESP2 && c.shared.subs.total() == 0 && !c.monitoring {
		// A message cannot be sent within the replies of a transaction.
		c.pushes.forget()
	}
}

// unsubscribeAll removes all subscriptions without sending replies.
func (c *Client) unsubscribeAll() {
	for kind := range c.shared.subs {
		for name := range c.shared.subs[kind] {
			c.backend.Channels.Hub().Unsubscribe(c.pushes, pubsub.Kind(kind), name)
		}
	}
	c.shared.mu.Lock()
	c.shared.subs, c.shared.subBytes = subscriptions{}, 0
	c.shared.mu.Unlock()
	c.pushes.listen(false)
}

// listeningOnly reports whether the client speaks RESP2 and has subscriptions. Nearly every other
// command is then refused, because messages could not be told from replies.
func (c *Client) listeningOnly() bool { return c.out.Proto == reply.RESP2 && c.shared.subs.total() > 0 }

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
