package relay

import (
	"testing"

	"lockstep/engine/command"
	"lockstep/node/config"
	"lockstep/proto/pubsub"
)

type inbox struct{ got []string }

func (i *inbox) Push(m *pubsub.Message) bool {
	i.got = append(i.got, m.Channel)
	return false
}

func (*inbox) Kick() {}

// Events are wanted if a class and a channel are chosen and there is a subscriber.
func TestWantedEvents(t *testing.T) {
	e := &Events{hub: pubsub.New()}
	e.hub.Watch(func() {}, keyspaceChannel, keyeventChannel)
	in := &inbox{}
	const expired, new = command.EventExpired, command.EventNew
	for _, c := range []struct {
		chosen        config.EventClasses
		listens       bool
		expired, both bool
	}{
		{0, true, false, false},
		{config.EventAll, true, false, false}, // neither K nor E
		{config.EventKeyevent | config.EventNew, false, false, false},
		{config.EventKeyevent | config.EventNew, true, false, true},
		{config.EventKeyspace | config.EventAll, true, true, true},
		{config.EventKeyspace | config.EventList, true, false, false},
	} {
		e.choose(c.chosen)
		e.hub.Unsubscribe(in, pubsub.Pattern, "__key*")
		if c.listens {
			e.hub.Subscribe(in, pubsub.Pattern, "__key*")
		}
		in.got = nil
		e.Event(expired, "expired", 0, []byte("k"))
		if e.Wants(expired) != c.expired || e.Wants(expired|new) != c.both || (len(in.got) > 0) != c.expired {
			t.Errorf("%+v: expired %t, expired or new %t, published %q", c, e.Wants(expired), e.Wants(expired|new), in.got)
		}
	}
}
