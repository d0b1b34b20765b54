package raftio

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// installs are the snapshots that a leader sends, and has sent lately.
type installs struct {
	mu sync.Mutex
	// ended is when the newest install to each server ended; zero: it is under way.
	ended map[raft.ServerID]time.Time
}

func (i *installs) begin(id raft.ServerID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended == nil {
		i.ended = map[raft.ServerID]time.Time{}
	}
	i.ended[id] = time.Time{}
}

func (i *installs) end(id raft.ServerID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended[id] = time.Now()
}

// Installing are the servers that this node is sending a snapshot to, or has sent
// one to within the last while.
func (t *Transport) Installing(within time.Duration) []raft.ServerID {
	t.installs.mu.Lock()
	defer t.installs.mu.Unlock()
	var ids []raft.ServerID
	for id, ended := range t.installs.ended { // order does not matter: a set
		if !ended.IsZero() && time.Since(ended) > within {
			delete(t.installs.ended, id)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}
