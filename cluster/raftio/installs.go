package raftio

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// installs are the snapshots that a leader is sending, and has sent lately.
type installs struct {
	mu sync.Mutex // guards newest, older, and each install
	// newest is the newest install to each server.
	newest map[raft.ServerID]*install
	// older is the last snapshot that each server refused because its own is newer.
	older map[raft.ServerID]sentAs
}

// sentAs is a snapshot and the term of the leader that sent it.
type sentAs struct{ leader, term, index uint64 }

// install is a snapshot on its way to a server, read from data as it is sent.
type install struct {
	in   *installs
	data io.Reader
	// sent of its size bytes have been sent. ended is when the install ended, or zero
	// while it is under way. Both are guarded by in.mu.
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

// hasIt reports whether a server refused a snapshot because it has its entries already.
// That is as good as an installed snapshot: the entries behind the snapshot come next.
//
// A leader whose requests arrive, while the answers do not, believes that a server has
// less than it has. When the entries that it would send next are not in its log any more,
// it sends its snapshot. If the refusal were an error, it would send the snapshot for
// ever, and nothing behind it. If the group needs this server for a majority, there would
// never be a newer snapshot.
//
// A server with a newer snapshot may be of another history (nextEra in package shard). It
// refuses the next entries, too, and the snapshot would be sent again without a pause. So
// hasIt accepts that refusal only once per snapshot.
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

// Installing are the servers to which this node is sending a snapshot, or has sent one
// within the given time.
func (t *Transport) Installing(within time.Duration) []raft.ServerID {
	t.installs.mu.Lock()
	defer t.installs.mu.Unlock()
	var ids []raft.ServerID
	for id, one := range t.installs.newest { // the order does not matter: a set
		if !one.ended.IsZero() && time.Since(one.ended) > within {
			delete(t.installs.newest, id)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

// Sending is how many bytes of a snapshot a server has been sent, and how many there are.
// Both are 0 if none is being sent.
func (t *Transport) Sending(id raft.ServerID) (sent, size int64) {
	t.installs.mu.Lock()
	defer t.installs.mu.Unlock()
	if one := t.installs.newest[id]; one != nil && one.ended.IsZero() {
		return one.sent, one.size
	}
	return 0, 0
}
