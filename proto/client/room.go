package client

import (
	"sync"

	"lockstep/cluster"
)

// callsFew is the number of calls in a small room, callsKept that in a large one.
const callsFew, callsKept = 4, 64

// room is memory for the calls of most batches. Clients share the rooms, one after the other,
// because memory of each client's own would be out of the processor's cache each time. Small rooms
// are for clients that may wait for long: thousands of them, with one command each.
type room struct {
	all  []batched
	ptrs []*cluster.Call
	home *sync.Pool
}

var smallRooms, largeRooms = roomsFor(callsFew), roomsFor(callsKept)

func roomsFor(n int) *sync.Pool {
	home := new(sync.Pool)
	home.New = func() any { return &room{make([]batched, 0, n), make([]*cluster.Call, 0, n), home} }
	return home
}

// reserve makes room for n calls, which then do not move while pointers to them
// exist.
func (b *calls) reserve(n int) {
	switch n = min(n, callsMax); {
	case cap(b.all) >= n:
	case n <= callsFew:
		b.useRoom(smallRooms)
	case n <= callsKept:
		b.useRoom(largeRooms)
	default:
		b.room = nil
		b.all, b.ptrs = make([]batched, 0, n), nil
	}
}

func (b *calls) useRoom(rooms *sync.Pool) {
	b.room = rooms.Get().(*room)
	b.all, b.ptrs = b.room.all, b.room.ptrs
}

// release returns the room when a batch has ended and all its calls are answered.
func (b *calls) release() {
	if b.room != nil {
		b.room.home.Put(b.room)
	}
	b.all, b.ptrs, b.room = nil, nil, nil
}
