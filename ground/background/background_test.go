package background

import (
	"sync/atomic"
	"testing"
	"time"
)

// Work in the background is awaited when a node ends, and none begins afterwards.
func TestTheEndAwaitsWhatGoesOn(t *testing.T) {
	var b Group
	stop, ended := make(chan struct{}), atomic.Bool{}
	if !b.Go(func() {
		<-stop
		ended.Store(true)
	}) {
		t.Fatal("nothing begins")
	}
	if b.EndWithin(time.Millisecond) {
		t.Error("what goes on is said to have ended")
	}
	if b.Go(func() { t.Error("it runs") }) {
		t.Error("something begins behind the end")
	}
	close(stop)
	if !b.EndWithin(time.Minute) || !ended.Load() {
		t.Error("it was not awaited")
	}
}
