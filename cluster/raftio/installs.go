package raftio

import (
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// installs are the snapshots that a leader sends, and has sent lately.
type installs struct {
	mu sync.Mutex
	// newest is the newest install to each server.
	newest map[raft.ServerID]*install
}

// install is a snapshot on its way to a server, read from data as it is sent.
type install struct {
	in   *installs
	data io.Reader
	// sent of its size bytes are on their way. ended is when the install ended; zero: it
	// is under way. Both are guarded by in.mu.
	sent, size int64
	ended      time.Time
}

func (i *installs) begin(id raft.ServerID, size int64, data io.Reader) *install {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.newest == nil {
		i.newest = map[raft.ServerID]*install{}
	}
	one := &install{in: i, data: data, size: size}
	i.newest[id] = one
	return one
}

// Read implements io.Reader.
func (one *install) Read(p []byte) (int, error) {
	n, err := one.data.Read(p)
	one.in.mu.Lock()
	defer one.in.mu.Unlock()
	one.sent += int64(n)
	return n, err
}

func (one *install) end() {
	one.in.mu.Lock()
	defer one.in.mu.Unlock()
	one.ended = time.Now()
}

// Installing are the servers that this node is sending a snapshot to, or has sent
// one to within the last while.
func (t *Transport) Installing(within time.Duration) []raft.ServerID {
	t.installs.mu.Lock()
	defer t.installs.mu.Unlock()
	var ids []raft.ServerID
	for id, one := range t.installs.newest { // order does not matter: a set
		if !one.ended.IsZero() && time.Since(one.ended) > within {
			delete(t.installs.newest, id)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

// Sending tells how many bytes of a snapshot a server has been sent, and how many there
// are; 0 and 0: none is being sent.
func (t *Transport) Sending(id raft.ServerID) (sent, size int64) {
	t.installs.mu.Lock()
	defer t.installs.mu.Unlock()
	if one := t.installs.newest[id]; one != nil && one.ended.IsZero() {
		return one.sent, one.size
	}
	return 0, 0
}
