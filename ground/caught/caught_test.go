package caught

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func breakHere() { panic("broken by hand") }

func TestAPanicIsCountedAndLoggedWithItsStack(t *testing.T) {
	var out bytes.Buffer
	p := New(slog.New(slog.NewTextHandler(&out, nil)))
	ended := 0
	serve := func(f func()) {
		defer p.Catch("a test", func() { ended++ })
		f()
	}
	serve(func() {})
	if p.Count() != 0 || ended != 0 || out.Len() != 0 {
		t.Fatalf("%d panics, %d ends, %q", p.Count(), ended, &out)
	}
	serve(breakHere)
	if p.Count() != 1 || ended != 1 {
		t.Errorf("%d panics, %d ends", p.Count(), ended)
	}
	for _, part := range []string{"broken by hand", "a test", "breakHere"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the log lacks %q: %s", part, &out)
		}
	}
}

func TestAFloodOfPanicsDoesNotFillTheLog(t *testing.T) {
	var out bytes.Buffer
	p := New(slog.New(slog.NewTextHandler(&out, nil)))
	for range 1000 {
		func() {
			defer p.Catch("a test", func() {})
			breakHere()
		}()
	}
	if n := strings.Count(out.String(), "a panic ended what it served"); p.Count() != 1000 || n < 1 || n > 10 {
		t.Errorf("%d panics, %d lines", p.Count(), n)
	}
}

func TestWhoWaitsForAGroupGetsItsPanic(t *testing.T) {
	var out bytes.Buffer
	p := New(slog.New(slog.NewTextHandler(&out, nil)))
	done := false
	func() {
		defer p.Catch("a group", func() {})
		var g Group
		g.Go(breakHere)
		g.Go(func() { done = true })
		g.Wait()
		t.Error("went on behind the panic")
	}()
	if p.Count() != 1 || !done || !strings.Contains(out.String(), "breakHere") {
		t.Errorf("%d panics, the other one done: %v, log: %s", p.Count(), done, &out)
	}
	var none *Panics
	was := none.Count()
	func() {
		defer none.Catch("nobody's", func() {})
		breakHere()
	}()
	if none.Count() != was+1 {
		t.Error("a nil Panics does not count")
	}
}
