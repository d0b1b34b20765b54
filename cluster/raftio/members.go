package raftio

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/transport"
)

// Members is a group's stream layer that dials only members. The library goes on calling
// a server that was removed: its last message to it waits for the pause between two
// attempts, which is ten seconds for a server that has been dead for a while, and
// heartbeats go on as long. Another node may be at its address by then. Over a connection
// that is open, the server still gets the messages.
type Members struct {
	raft.StreamLayer
	// Has reports whether a server is in the latest configuration.
	Has func(id raft.ServerID) bool
}

// ErrNoMember says that the server is not in the group, so it is not dialled.
var ErrNoMember = errors.New("raftio: not a member of the group any more")

// Dial implements raft.StreamLayer; the address is one made by transport.Target.
func (m Members) Dial(target raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if id, _ := transport.SplitTarget(string(target)); !m.Has(raft.ServerID(id)) {
		return nil, fmt.Errorf("%w: %s", ErrNoMember, id)
	}
	return m.StreamLayer.Dial(target, timeout)
}
