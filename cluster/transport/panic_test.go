package transport

import (
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"lockstep/ground/caught"
)

const (
	kindBreaks      uint8 = 3
	kindBreaksAside uint8 = 4
	kindHangs       uint8 = 5
)

// TestAPanicOfAHandlerEndsItsConnectionAlone: if a handler panics, in the reading goroutine or in
// one of its own, the connection of the request ends. Another node's connection stays open, and the
// process goes on.
func TestAPanicOfAHandlerEndsItsConnectionAlone(t *testing.T) {
	panics := caught.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	_, addr := open(t, "a", "c", func(tr *Transport) {
		tr.cfg.Panics = panics
		echoes(tr)
		breaks := func(Peer, []byte, func([]byte)) { panic("broken by hand") }
		tr.Handle(kindBreaks, breaks)
		tr.HandleAside(kindBreaksAside, breaks)
	})
	b, _ := open(t, "b", "c", nil)
	other, _ := open(t, "other", "c", nil)
	if _, err := other.Call(within(t), addr, kindEcho, []byte("x")); err != nil {
		t.Fatal(err)
	}
	for i, kind := range []uint8{kindBreaks, kindBreaksAside} {
		if _, err := b.Call(within(t), addr, kind, []byte("x")); !errors.Is(err, ErrMaybeSent) {
			t.Errorf("kind %d: %v", kind, err)
		}
		if n := panics.Count(); n != uint64(i+1) {
			t.Errorf("kind %d: %d panics are counted", kind, n)
		}
		// A new connection is made and works.
		if answer, err := callUntilSent(t, b, addr, kindEcho); err != nil || string(answer) != "x" {
			t.Errorf("behind a panic: %q, %v", answer, err)
		}
	}
	if other.Lost(addr) {
		t.Error("another node's connection was closed")
	}
	if answer, err := other.Call(within(t), addr, kindEcho, []byte("y")); err != nil || string(answer) != "y" {
		t.Errorf("%q, %v", answer, err)
	}
}

// callUntilSent repeats a call until a connection exists.
func callUntilSent(t *testing.T, from *Transport, addr string, kind uint8) ([]byte, error) {
	deadline := time.Now().Add(20 * time.Second)
	for {
		answer, err := from.Call(within(t), addr, kind, []byte("x"))
		if err == nil || !errors.Is(err, ErrNotSent) && !errors.Is(err, ErrMaybeSent) || time.Now().After(deadline) {
			return answer, err
		}
	}
}

// TestAPanicOverAnAnswerKeepsNobodyWaiting: if the function that takes an answer panics, the
// connection ends, and all other requests on it get an error.
func TestAPanicOverAnAnswerKeepsNobodyWaiting(t *testing.T) {
	panics := caught.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	_, addr := open(t, "a", "c", func(tr *Transport) {
		echoes(tr)
		tr.Handle(kindHangs, func(Peer, []byte, func([]byte)) {})
	})
	b, _ := open(t, "b", "c", func(tr *Transport) { tr.cfg.Panics = panics })
	const waiting = 3
	lost := make(chan error, waiting)
	for i := range waiting {
		b.Go(addr, kindHangs, nil, func(_ []byte, err error) {
			lost <- err
			if i == 0 {
				panic("broken by hand over a lost request")
			}
		})
	}
	b.Go(addr, kindEcho, nil, func([]byte, error) { panic("broken by hand over an answer") })
	for range waiting {
		select {
		case err := <-lost:
			if !errors.Is(err, ErrMaybeSent) {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("a request waits for ever")
		}
	}
	if _, err := callUntilSent(t, b, addr, kindEcho); err != nil {
		t.Error(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); panics.Count() != 2; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%d panics are counted, not 2", panics.Count())
		}
	}
}
