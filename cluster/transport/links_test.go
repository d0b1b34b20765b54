package transport

import (
	"testing"
	"time"
)

// Both ends list a connection that carries requests, as long as it lives.
func TestLinksAreToldOfAtBothEnds(t *testing.T) {
	a, addr := open(t, "a", "c", echoes)
	b, _ := open(t, "b", "c", nil)
	if len(a.Links())+len(b.Links()) != 0 {
		t.Fatalf("at first: %+v, %+v", a.Links(), b.Links())
	}
	begun := time.Now()
	if _, err := b.Call(within(t), addr, kindEcho, nil); err != nil {
		t.Fatal(err)
	}
	from, to := a.Links(), b.Links()
	if len(from) != 1 || from[0].Outgoing || from[0].NodeID != "b" || from[0].Since.Before(begun) {
		t.Errorf("where it was accepted: %+v", from)
	}
	if len(to) != 1 || !to[0].Outgoing || to[0].Addr != addr || to[0].Since.Before(begun) {
		t.Errorf("where it was dialled: %+v", to)
	}
	b.Close()
	deadline, tick := time.After(20*time.Second), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(a.Links()) > 0 {
		select {
		case <-deadline:
			t.Fatalf("after its end: %+v", a.Links())
		case <-tick.C:
		}
	}
}

// The round trip is known as soon as one ping has been answered.
func TestLinksTellTheRoundTrip(t *testing.T) {
	_, addr := open(t, "a", "c", echoes)
	b, _ := open(t, "b", "c", func(tr *Transport) { tr.pace.ping = 50 * time.Millisecond })
	begun := time.Now()
	if _, err := b.Call(within(t), addr, kindEcho, nil); err != nil {
		t.Fatal(err)
	}
	deadline, tick := time.After(20*time.Second), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		to := b.Links()
		if len(to) == 1 && to[0].RoundTrip > 0 {
			if to[0].RoundTrip > time.Since(begun) {
				t.Errorf("%v", to[0].RoundTrip)
			}
			return
		}
		if len(to) == 0 { // a busy machine held up so many pings that the connection was closed
			_, _ = b.Call(within(t), addr, kindEcho, nil)
		}
		select {
		case <-deadline:
			t.Fatal("no ping was answered")
		case <-tick.C:
		}
	}
}
