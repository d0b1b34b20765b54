package node

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The garbage collector's pace. Go's default lets the heap double between
// collections: far too little room for a small heap, which would be collected
// dozens of times a second under load, and wasteful for a large one. Here the
// room is a fixed amount plus a part of what lives, and when the node is idle
// the room is given back to the system.
const (
	gcRoomBytes   = 64 << 20
	gcRoomPart    = 4
	gcPercentMax  = 1600
	gcPercentMin  = 20
	gcLookEvery   = time.Second
	gcIdleBytes   = 1 << 20
	gcIdleLooks   = 3
	gcWorthBytes  = 16 << 20
	metricLive    = "/gc/heap/live:bytes"
	metricAllocs  = "/gc/heap/allocs:bytes"
	metricObjects = "/memory/classes/heap/objects:bytes"
	metricFree    = "/memory/classes/heap/free:bytes"
)

// paceMemory sets the collector's pace, anew after each collection, until ctx
// ends, and gives memory back when the node is idle.
func paceMemory(ctx context.Context) {
	afterEachCollection(ctx, func() {
		live := []metrics.Sample{{Name: metricLive}}
		metrics.Read(live)
		debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
	})
	t := time.NewTicker(gcLookEvery)
	defer t.Stop()
	samples := []metrics.Sample{{Name: metricLive}, {Name: metricAllocs}, {Name: metricObjects}, {Name: metricFree}}
	var lastAllocs uint64
	idle, released := 0, false
	for {
		metrics.Read(samples)
		live, allocs, objects := samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Uint64()
		if allocs-lastAllocs > gcIdleBytes {
			idle, released = 0, false
		} else {
			idle++
		}
		lastAllocs = allocs
		garbage := objects - min(live, objects) + samples[3].Value.Uint64()
		if idle >= gcIdleLooks && !released && garbage > gcWorthBytes {
			debug.FreeOSMemory()
			released = true
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// afterEachCollection calls f now and after each collection: what nothing
// refers to is cleaned up then, so a fresh object is left behind each time.
func afterEachCollection(ctx context.Context, f func()) {
	f()
	if ctx.Err() == nil {
		runtime.AddCleanup(&[16]byte{}, func(struct{}) { afterEachCollection(ctx, f) }, struct{}{})
	}
}

// gcPercent is the growth, in percent of what lives, at which to collect.
func gcPercent(live uint64) int {
	live = max(live, 1<<20)
	room := uint64(gcRoomBytes) + live/gcRoomPart
	return int(min(max(100*room/live, gcPercentMin), gcPercentMax))
}
