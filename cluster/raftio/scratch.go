package raftio

import (
	"bytes"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"golang.org/x/sys/unix"

	"lockstep/fsm"
)

// boltLog is a log in bbolt that reads long entries in one piece.
type boltLog struct{ *raftboltdb.BoltStore }

// GetLog implements raft.LogStore.
func (b boltLog) GetLog(index uint64, l *raft.Log) error {
	return entryRooms.read(b.BoltStore, index, l)
}

// rooms is memory into which entries are read. raft-boltdb's decoder does not know how
// long an entry is. When its buffer is full it makes one that is 256 KiB longer and
// copies all the bytes: 55 MB take 0.9 s of a processor that way, and 12 ms with a large
// enough buffer.
//
// A room is address space for the longest entry there can be, and only the pages that an
// entry touches take memory. Those of a long entry are given back at once.
type rooms struct{ free chan []byte }

const (
	// roomsMax is how many entries are read at once, by all groups of the process.
	// Further readers wait, for milliseconds.
	roomsMax = 4
	// roomBytes is the length of a room, and roomBytesKept how much memory it keeps.
	roomBytes     = fsm.EntryBytesMax + 1<<20
	roomBytesKept = 256 << 10
)

// entryRooms serves all groups of the process.
var entryRooms = newRooms()

func newRooms() rooms {
	r := rooms{make(chan []byte, roomsMax)}
	for range roomsMax {
		r.free <- nil
	}
	return r
}

// read reads an entry.
func (r rooms) read(store raft.LogStore, index uint64, l *raft.Log) error {
	room := <-r.free
	if room == nil {
		room = newRoom()
	}
	defer func() { r.free <- room }()
	l.Data = room[:0]
	err := store.GetLog(index, l)
	if n := len(l.Data); n <= cap(room) {
		l.Data = bytes.Clone(l.Data)
		if n > roomBytesKept {
			_ = unix.Madvise(room[:cap(room)], unix.MADV_DONTNEED) // otherwise it keeps the memory
		}
	}
	return err
}

// newRoom makes a room. It returns nil if there is no address space. Then entries are
// read the slow way.
func newRoom() []byte {
	room, err := unix.Mmap(-1, 0, roomBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	return room
}
