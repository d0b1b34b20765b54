package process

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The garbage collector's pace. Go's default lets the heap double between collections. That is far
// too little room for a small heap, which would be collected dozens of times a second under load,
// and wasteful for a large one. Here the room is a fixed amount plus a part of the live heap. When
// the node is idle, the room is returned to the system.
//
// The fixed amount comes from ballast: memory that is allocated and never touched. The system
// provides no pages for it and the collector scans nothing in it, but counts it as live, so that a
// part of it counts as room as well. A percentage that is adjusted to the live heap would always be
// one collection late: a heap that suddenly grows tenfold could grow tenfold again before the next
// adjustment.
const (
	gcRoomBytes   = 64 << 20
	gcRoomPercent = 25
	ballastBytes  = gcRoomBytes * 100 / gcRoomPercent
	gcLookEvery   = time.Second
	gcIdleBytes   = 1 << 20
	gcIdleLooks   = 3
	gcWorthBytes  = 16 << 20
)

// These names can be passed to Numbers. They are the names of package runtime/metrics.
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

// ballast is set by PaceMemory and never freed.
var ballast []byte

// PaceMemory sets the collector's pace for the whole process. It is called at the start, before
// there are other goroutines, and does nothing when called again. A memory limit from the
// environment (GOMEMLIMIT) is raised by the ballast, and so means the same.
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

// giveBackWhenIdle returns memory to the system when the node is idle.
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

// Numbers returns values that the Go runtime reports on itself without stopping the world. The
// ballast counts as returned memory, because the system never provided it.
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
