package raftio

import (
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Hush is a group's stream layer that accepts no connections for a while. A node that
// accepted a leader's request promised, by Raft's stickiness, not to vote for another
// node for a heartbeat timeout. The leader's lease rests on that. A node that restarts
// has forgotten its promise, so it must not vote before the promise has run out. Nor can
// it be elected before: it starts as a follower whose own timer is longer, unless it has
// certainly promised nothing (package shard, groupalone.go).
type Hush struct {
	raft.StreamLayer
	over   <-chan time.Time
	closed chan struct{}
	once   sync.Once
}

// NewHush returns a layer that accepts connections after d.
func NewHush(layer raft.StreamLayer, d time.Duration) *Hush {
	return &Hush{StreamLayer: layer, over: time.After(d), closed: make(chan struct{})}
}

// Accept implements net.Listener. Raft accepts from one goroutine.
func (h *Hush) Accept() (net.Conn, error) {
	if h.over != nil {
		select {
		case <-h.over:
			h.over = nil
		case <-h.closed:
			return nil, net.ErrClosed
		}
	}
	return h.StreamLayer.Accept()
}

// Close implements net.Listener.
func (h *Hush) Close() error {
	h.once.Do(func() { close(h.closed) })
	return h.StreamLayer.Close()
}
