package resp

import (
	"context"
	"math"
	"time"
)

const (
	// pausedBytes is how many bytes may wait for a client before its next commands wait for it to
	// read.
	pausedBytes = 8 << 20
	// roomLookEvery is how often AwaitRoom checks what changes without the client.
	roomLookEvery = 100 * time.Millisecond
)

// pauseAt is how much may wait for a client before its next commands wait, given how much waits for
// all clients together. If the limits are so low that the client would be closed before, its
// commands do not wait: the limits have the meaning that they have in Redis.
func (l *Limits) pauseAt(together int64) int64 {
	low := func(limit int64) bool { return limit > 0 && limit < 2*pausedBytes }
	switch {
	case low(l.OutputHardMax) || low(l.OutputSoftMax):
		return math.MaxInt64
	case l.TogetherMax > 0 && together > l.TogetherMax/2:
		return drainBytes
	}
	return pausedBytes
}

// Behind reports whether so much waits for the client that its next commands must wait until it has
// read. Any goroutine may call it.
func (g *Guard) Behind() bool {
	waiting := g.out.waiting.Load()
	if waiting <= drainBytes {
		return false
	}
	limits := g.limits()
	return waiting > limits.pauseAt(g.traffic.Waiting.Load())
}

// AwaitRoom waits while the client is behind. So a client that sends many commands and reads is
// slowed down, and not closed for its waiting replies. The guard reads what the client sends
// meanwhile, because many clients send a whole pipeline before they read. AwaitRoom also ends with the
// connection, with ctx, and when the client has sent a quarter of client-query-buffer-limit. It
// closes a client that reads nothing for Limits.StallTimeout.
func (g *Guard) AwaitRoom(ctx context.Context) {
	if !g.Behind() {
		return
	}
	_, stop := g.Watch()
	defer stop()
	tick := time.NewTicker(roomLookEvery)
	defer tick.Stop()
	for g.Behind() {
		limits := g.limits()
		if g.earlyBytes.Load() > limits.QueryBytesMax/4 {
			return
		}
		room := g.out.roomFor(limits.pauseAt(g.traffic.Waiting.Load()) / 2)
		select {
		case <-room:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// roomFor returns a channel that is closed when at most that many bytes wait.
func (o *output) roomFor(bytes int64) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.room == nil {
		o.room = make(chan struct{})
	}
	room := o.room
	o.roomAt = bytes
	o.tellRoomLocked()
	return room
}

// tellRoomLocked wakes the goroutines that wait for room.
func (o *output) tellRoomLocked() {
	if o.room != nil && o.queued+o.leaving <= o.roomAt {
		close(o.room)
		o.room = nil
	}
}
