package relay

import (
	"strconv"
	"sync/atomic"

	"lockstep/engine/command"
	"lockstep/node/config"
	"lockstep/proto/pubsub"
)

// Events publishes keyspace events to the subscribers on this node. Every node does this for
// itself, with the events of its own replica of a shard or of a feed from another node's replica
// (Feeds). So events reach each subscriber once, wherever the command came from. Loading a snapshot
// causes no events.
type Events struct {
	hub *pubsub.Hub
	// chosen is the config.EventClasses that are published. wanted is the same as a
	// command.EventClass, 0 if no event is published.
	chosen, wanted atomic.Uint32
}

// The beginnings of the names of the channels.
const (
	keyspaceChannel = "__keyspace@"
	keyeventChannel = "__keyevent@"
)

// NewEvents publishes on hub the events that the setting notify-keyspace-events chooses. It calls
// kick when the wanted events may have changed.
func NewEvents(hub *pubsub.Hub, cfg *config.Config, kick func()) *Events {
	e := &Events{hub: hub}
	e.hub.Watch(kick, keyspaceChannel, keyeventChannel)
	choose := func(s *config.Settings) {
		e.choose(s.NotifyKeyspaceEvents)
		kick()
	}
	cfg.OnChange("notify-keyspace-events", choose)
	choose(cfg.Current())
	return e
}

func (e *Events) choose(chosen config.EventClasses) {
	var wanted command.EventClass
	if chosen&(config.EventKeyspace|config.EventKeyevent) != 0 {
		// order does not matter: bits are gathered
		for class, letter := range letters {
			if chosen&letter != 0 {
				wanted |= class
			}
		}
	}
	e.chosen.Store(uint32(chosen))
	e.wanted.Store(uint32(wanted))
}

// listened are the classes of events for which this node has subscribers.
func (e *Events) listened() command.EventClass {
	if !e.hub.Watched() {
		return 0
	}
	return command.EventClass(e.wanted.Load())
}

// Wants reports whether Event would publish an event of one of the classes now.
func (e *Events) Wants(classes command.EventClass) bool { return e.listened()&classes != 0 }

// letters maps the classes to those of notify-keyspace-events.
var letters = map[command.EventClass]config.EventClasses{
	command.EventGeneric: config.EventGeneric, command.EventString: config.EventString, command.EventList: config.EventList,
	command.EventSet: config.EventSet, command.EventHash: config.EventHash, command.EventSortedSet: config.EventZset,
	command.EventStream: config.EventStream, command.EventExpired: config.EventExpired, command.EventEvicted: config.EventEvicted,
	command.EventMiss: config.EventKeyMiss, command.EventNew: config.EventNew,
}

// Event publishes an event if there is a subscriber.
func (e *Events) Event(class command.EventClass, event string, db int, key []byte) {
	if !e.Wants(class) {
		return
	}
	chosen := config.EventClasses(e.chosen.Load())
	number := strconv.Itoa(db)
	if chosen&config.EventKeyspace != 0 {
		e.hub.Publish(pubsub.Channel, keyspaceChannel+number+"__:"+string(key), []byte(event))
	}
	if chosen&config.EventKeyevent != 0 {
		e.hub.Publish(pubsub.Channel, keyeventChannel+number+"__:"+event, append([]byte(nil), key...))
	}
}
