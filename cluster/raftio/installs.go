package raftio

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// installs are the snapshots that a leader sends, and has sent lately.
type installs struct {
	mu sync.Mutex // guards newest, older, and each install
	// newest is the newest install to each server.
	newest map[raft.ServerID]*install
	// older is the last snapshot that each server refused as an older one than its own.
	older map[raft.ServerID]sentAs
}

// sentAs is a snapshot and the term of the leader that sent it.
type sentAs struct{ leader, term, index uint64 }

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

// hasIt reports whether a server refused a snapshot for having what is in it. That is as
// good as if it had installed it: what is behind the snapshot comes next.
//
// A leader whose requests arrive, and the answers do not, believes a server to have less
// than it has. When what it would send next has left its log, it sends its snapshot; were
// that an error, it would send it for ever, and nothing behind it. If the group needs this
// server for a majority, there would never be a newer one.
//
// One that has a newer snapshot may be of another history (nextEra in package shard). It
// refuses what comes next, too, and the snapshot would be sent again without a pause: so
// that is good for one time.
func (i *installs) hasIt(id raft.ServerID, args *raft.InstallSnapshotRequest, refusal error) bool {
	if strings.Contains(refusal.Error(), errCovered.Error()) {
		return true
	}
	if !strings.Contains(refusal.Error(), errOlder.Error()) {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	sent := sentAs{args.Term, args.LastLogTerm, args.LastLogIndex}
	if i.older[id] == sent {
		return false
	}
	if i.older == nil {
		i.older = map[raft.ServerID]sentAs{}
	}
	i.older[id] = sent
	return true
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
