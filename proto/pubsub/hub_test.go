package pubsub

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"lockstep/engine/reply"
)

type ear struct {
	mu    sync.Mutex
	proto int
	heard []string
	// owed is true if a kick must come. kicks counts the kicks, and kicked, if set, is sent each.
	owed   bool
	kicks  int
	kicked chan struct{}
}

func (e *ear) Push(m *Message) (kick bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, string(m.Bytes(e.proto)))
	kick, e.owed = !e.owed, true
	return kick
}

func (e *ear) Kick() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.owed = false
	e.kicks++
	if e.kicked != nil {
		e.kicked <- struct{}{}
	}
}

// await waits for a kick.
func (e *ear) await(t *testing.T) {
	t.Helper()
	select {
	case <-e.kicked:
	case <-time.After(time.Minute):
		t.Fatal("nobody kicks")
	}
}

func TestWhoPublishesMuchKicksEachListenerOnce(t *testing.T) {
	h := New()
	ears := [3]ear{}
	for i := range ears {
		ears[i].kicked = make(chan struct{}, 10)
		h.Subscribe(&ears[i], Channel, "c")
	}
	h.Subscribe(&ears[0], Pattern, "*")
	var later Later
	for range 10 {
		h.PublishLater(Channel, "c", nil, &later)
	}
	for i := range ears {
		if e := &ears[i]; e.kicks != 0 || !e.owed || len(e.heard) < 10 {
			t.Errorf("listener %d: %d kicks, owed %v, %d messages", i, e.kicks, e.owed, len(e.heard))
		}
	}
	later.Kick()
	later.Kick()
	for i := range ears {
		ears[i].await(t)
	}
	h.Publish(Channel, "c", nil)
	for i := range ears {
		ears[i].await(t)
		if e := &ears[i]; e.kicks != 2 || e.owed {
			t.Errorf("listener %d: %d kicks, owed %v", i, e.kicks, e.owed)
		}
	}
}

func TestMessagesReachWhoListens(t *testing.T) {
	h := New()
	a, b := &ear{proto: reply.RESP2}, &ear{proto: reply.RESP3}
	h.Subscribe(a, Channel, "news")
	h.Subscribe(a, Channel, "news")
	h.Subscribe(b, Pattern, "n*s")
	h.Subscribe(b, Pattern, "?ews")
	h.Subscribe(b, Shard, "news")
	if n := h.Publish(Channel, "news", []byte("x")); n != 3 {
		t.Errorf("%d receivers", n)
	}
	if n := h.Publish(Shard, "news", []byte("y")); n != 1 {
		t.Errorf("%d receivers", n)
	}
	if want := []string{"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\nx\r\n"}; !slices.Equal(a.heard, want) {
		t.Errorf("%q", a.heard)
	}
	want := []string{
		">4\r\n$8\r\npmessage\r\n$4\r\n?ews\r\n$4\r\nnews\r\n$1\r\nx\r\n",
		">4\r\n$8\r\npmessage\r\n$3\r\nn*s\r\n$4\r\nnews\r\n$1\r\nx\r\n",
		">3\r\n$8\r\nsmessage\r\n$4\r\nnews\r\n$1\r\ny\r\n",
	}
	if !slices.Equal(b.heard, want) {
		t.Errorf("%q", b.heard)
	}
	h.Unsubscribe(a, Channel, "news")
	h.Unsubscribe(a, Channel, "never")
	h.Unsubscribe(b, Pattern, "n*s")
	if got := h.Channels(Pattern, "*"); !slices.Equal(got, []string{"?ews"}) || h.Names(Channel) != 0 || h.Idle(Channel) {
		t.Errorf("%q", got)
	}
	h.Unsubscribe(b, Pattern, "?ews")
	if !h.Idle(Channel) || h.Idle(Shard) || h.Listeners(Shard, "news") != 1 {
		t.Error("what is left")
	}
}

// Messages of one publisher arrive in order, whichever subscribers come and go meanwhile.
func TestOrderWithManyAtWork(t *testing.T) {
	h := New()
	steady := &ear{}
	h.Subscribe(steady, Channel, "c")
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			e := &ear{}
			for j := range 500 {
				h.Subscribe(e, Kind(j%3), fmt.Sprint("c", i))
				h.Publish(Channel, "c0", nil)
				h.Unsubscribe(e, Kind(j%3), fmt.Sprint("c", i))
			}
		})
	}
	for i := range 1000 {
		h.Publish(Channel, "c", fmt.Appendf(nil, "%04d", i))
	}
	wait.Wait()
	if len(steady.heard) != 1000 || !slices.IsSorted(steady.heard) {
		t.Errorf("%d messages", len(steady.heard))
	}
}

// The first and the last subscriber of a watched channel are reported.
func TestWatchedChannels(t *testing.T) {
	h, changes := New(), 0
	h.Watch(func() { changes++ }, "__keyspace@", "__keyevent@")
	a, b := &ear{}, &ear{}
	for _, c := range []struct {
		kind    Kind
		name    string
		watched bool
	}{
		{Channel, "__keyspace@0__:k", true}, {Channel, "__keyspace", false}, {Channel, "*", false}, {Shard, "__keyspace@0__:k", false},
		{Pattern, "*", true}, {Pattern, "__key*", true}, {Pattern, "__keyevent@*:set", true}, {Pattern, `\__keyevent@0__:set`, true},
		{Pattern, "__keyevent@0__:set", true}, {Pattern, "_[_]*", true}, {Pattern, "news*", false}, {Pattern, "__key", false},
	} {
		changes = 0
		h.Subscribe(a, c.kind, c.name)
		h.Subscribe(b, c.kind, c.name)
		h.Unsubscribe(a, c.kind, c.name)
		if h.IsWatched(c.kind, c.name) != c.watched || h.Watched() != c.watched || (changes == 1) != c.watched {
			t.Errorf("%d %s: watched %t, %d changes", c.kind, c.name, h.Watched(), changes)
		}
		h.Unsubscribe(b, c.kind, c.name)
		h.Unsubscribe(b, c.kind, c.name)
		if h.Watched() || (changes == 2) != c.watched {
			t.Errorf("%d %s is still watched after %d changes", c.kind, c.name, changes)
		}
	}
}
