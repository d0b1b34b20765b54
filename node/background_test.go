package node

import (
	"sync/atomic"
	"testing"
	"time"
)

// What goes on in the background is awaited when a node ends, and nothing comes behind it.
func TestTheEndAwaitsWhatGoesOn(t *testing.T) {
	var b background
	stop, ended := make(chan struct{}), atomic.Bool{}
	if !b.run(func() {
		<-stop
		ended.Store(true)
	}) {
		t.Fatal("nothing begins")
	}
	if b.end(time.Millisecond) {
		t.Error("what goes on is said to have ended")
	}
	if b.run(func() { t.Error("it runs") }) {
		t.Error("something begins behind the end")
	}
	close(stop)
	if !b.end(time.Minute) || !ended.Load() {
		t.Error("it was not awaited")
	}
}
