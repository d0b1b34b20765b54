package process

import (
	"math"
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
//
// The fixed amount comes from ballast: memory that is asked for and never
// touched. The system lends no page for it, the collector has nothing to look at
// in it, but counts it as alive, so that a part of it is room as well. A
// percentage that follows what lives would always be one collection late, and let
// a heap that grows tenfold at once grow tenfold again before it is looked at.
const (
	gcRoomBytes   = 64 << 20
	gcRoomPercent = 25
	ballastBytes  = gcRoomBytes * 100 / gcRoomPercent
	gcLookEvery   = time.Second
	gcIdleBytes   = 1 << 20
	gcIdleLooks   = 3
	gcWorthBytes  = 16 << 20
)

// What Numbers can be asked for, in the words of package runtime/metrics.
const (
	Live     = "/gc/heap/live:bytes"
	Allocs   = "/gc/heap/allocs:bytes"
	InUse    = "/memory/classes/heap/objects:bytes"
	Unused   = "/memory/classes/heap/unused:bytes"
	HeapFree = "/memory/classes/heap/free:bytes"
	Mapped   = "/memory/classes/total:bytes"
	Returned = "/memory/classes/heap/released:bytes"
	Cycles   = "/gc/cycles/total:gc-cycles"
)

// ballast is set by PaceMemory and stays.
var ballast []byte

// PaceMemory sets the collector's pace for the whole process; it is called at the
// start, before there are other goroutines, and does nothing when called again. A
// limit on the memory that somebody has set (GOMEMLIMIT) stays what it is.
func PaceMemory() {
	if ballast != nil {
		return
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64-ballastBytes {
		debug.SetMemoryLimit(limit + ballastBytes)
	}
	ballast = make([]byte, ballastBytes)
	debug.SetGCPercent(gcRoomPercent)
	go giveBackWhenIdle()
}

// giveBackWhenIdle gives memory back to the system when nothing happens.
func giveBackWhenIdle() {
	var lastAllocs int64
	idle, released := 0, false
	for range time.Tick(gcLookEvery) {
		look := Numbers(Live, Allocs, InUse, HeapFree)
		live, allocs, inUse := look[0], look[1], look[2]
		if allocs-lastAllocs > gcIdleBytes {
			idle, released = 0, false
		} else {
			idle++
		}
		lastAllocs = allocs
		garbage := max(inUse-live, 0) + look[3]
		if idle >= gcIdleLooks && !released && garbage > gcWorthBytes {
			debug.FreeOSMemory()
			released = true
		}
	}
}

// Numbers are what the Go runtime reports on itself without stopping
// anything; the ballast counts as memory given back, which it was never lent.
func Numbers(names ...string) []int64 {
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	list := make([]int64, len(names))
	for i := range samples {
		if samples[i].Value.Kind() != metrics.KindUint64 {
			continue
		}
		list[i] = int64(samples[i].Value.Uint64())
		switch names[i] {
		case Live, InUse:
			list[i] = max(list[i]-int64(len(ballast)), 0)
		case Returned:
			list[i] += int64(len(ballast))
		}
	}
	runtime.KeepAlive(ballast)
	return list
}
