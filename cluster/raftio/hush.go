package raftio

import (
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// Hush is a group's stream layer that hears nobody for a while. A node that
// took a leader's request promised, by Raft's stickiness, not to vote for
// another for a heartbeat timeout; the leader's lease rests on that. One that
// restarts has forgotten its promise, so it must not vote before the promise
// has run out. It cannot be elected itself before, for it begins as a follower
// whose own timer is longer, unless it is certain to have promised nothing
// (package shard, groupalone.go).
type Hush struct {
	raft.StreamLayer
	over   <-chan time.Time
	closed chan struct{}
	once   sync.Once
}

// NewHush lets layer accept connections after d.
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
