package raftio

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"time"
)

// A write that waits while another one fails must not begin: its pages would overwrite pages that
// the disk, which may not have the last root, still needs.
func TestWhatWaitsBehindAFailureDoesNotBegin(t *testing.T) {
	f := newFatals()
	dog := NewWatchdog(time.Minute, f.fatal)
	defer dog.Close()
	p := pen{dog: dog}
	entered, fail, over := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		over <- p.write("first", func() error {
			close(entered)
			<-fail
			return errDied
		})
	}()
	<-entered
	began := make(chan struct{}, 1)
	go func() {
		over <- p.write("second", func() error { began <- struct{}{}; return nil })
	}()
	for deadline := time.Now().Add(20 * time.Second); !waitsFor("(*pen).write") && len(began) == 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the second write neither waits nor begins")
		}
	}
	close(fail)
	for range 2 {
		if err := <-over; !errors.Is(err, errDied) {
			t.Errorf("a write: %v", err)
		}
	}
	if len(began) > 0 {
		t.Error("the second write began")
	}
	f.await(t)
}

// waitsFor reports whether a goroutine waits for a lock in a function.
func waitsFor(function string) bool { return standsIn(function, "sync.(*Mutex).Lock") }

// standsIn reports whether a goroutine is inside call, called from function.
func standsIn(function, call string) bool {
	stacks := make([]byte, 1<<20)
	for one := range bytes.SplitSeq(stacks[:runtime.Stack(stacks, true)], []byte("\n\n")) {
		if bytes.Contains(one, []byte(function)) && bytes.Contains(one, []byte(call)) {
			return true
		}
	}
	return false
}
