package node

import (
	"fmt"
	"time"
)

// SetActiveExpire implements client.Process.
func (n *Node) SetActiveExpire(on bool) {
	for _, s := range n.Shards() {
		s.SetActiveExpire(on)
	}
}

// Reload implements client.Process.
func (n *Node) Reload() error {
	for _, s := range n.Shards() {
		if err := s.Reload(); err != nil {
			return fmt.Errorf("shard %d: %w", s.ID(), err)
		}
	}
	return nil
}

// BeginSnapshot implements client.Process.
func (n *Node) BeginSnapshot(background bool) (write func() error, err error) {
	done, err := n.saves.begin(n.loggedTxns(), background)
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := n.snapshotOrder()
		done(err)
		if err == nil {
			n.lastSnapshot.Store(time.Now().Unix())
		}
		return err
	}, nil
}

// LastSnapshotUnix implements client.Process.
func (n *Node) LastSnapshotUnix() int64 { return n.lastSnapshot.Load() }

// Shutdown implements client.Process: the node drains and ends.
func (n *Node) Shutdown() { n.die(ErrShutdown) }
