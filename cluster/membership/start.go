package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/meta/leaderrpc"
)

// Found creates the cluster in the meta group if this node is its founder and has not done so yet.
// Before the call, all of its groups must have been bootstrapped and recorded in the folder.
func Found(ctx context.Context, m Meta, folder *identity.Folder, self meta.Node) error {
	id := folder.Identity()
	if id == nil || id.Phase != identity.Founding {
		return nil
	}
	c := &meta.CreateCluster{ClusterID: id.ClusterID, ClusterVersion: meta.KnownVersion(), Creation: *id.Creation, Founder: self}
	if _, err := m.Do(ctx, c); err != nil {
		return fmt.Errorf("cannot create the cluster: %w", err)
	}
	return folder.MarkFounded()
}

// Announce proposes this node's addresses and version to the meta group if the view has others. A
// refusal with meta.ErrRemoved means that the node must stop; see RemovalWatch. While the view has another
// node at this one's new address, Announce waits: that node may be about to move as well.
func Announce(ctx context.Context, m Meta, caller Caller, self meta.Node) error {
	n, known := m.View().Node(self.ID)
	if known && n.PeerAddr == self.PeerAddr && n.ClientAddr == self.ClientAddr && n.Hostname == self.Hostname && n.AdminAddr == self.AdminAddr && n.TLSPort == self.TLSPort && n.Version == self.Version {
		return nil
	}
	for {
		_, err := m.Do(ctx, updateOf(self))
		taken := errors.Is(err, meta.ErrAddrTaken) && sleep(ctx, announcePause)
		if taken {
			yieldAddress(ctx, m, caller, self)
		}
		if again := taken || errors.Is(err, leaderrpc.ErrUnanswered); !again || ctx.Err() != nil {
			return err
		}
	}
}

func updateOf(self meta.Node) *meta.UpdateNode {
	return &meta.UpdateNode{ID: self.ID, PeerAddr: self.PeerAddr, ClientAddr: self.ClientAddr, Hostname: self.Hostname, AdminAddr: self.AdminAddr, TLSPort: self.TLSPort, Version: self.Version}
}

// announcePause is the time between two attempts to take over an address.
const announcePause = time.Second

// yieldAddress gives up the address that the cluster has for this node, if another node of the cluster
// answers there now. Otherwise nodes that have changed places would wait for each other's address
// for ever.
func yieldAddress(ctx context.Context, m Meta, caller Caller, self meta.Node) {
	view := m.View()
	n, known := view.Node(self.ID)
	if !known || n.PeerAddr == self.PeerAddr || n.PeerAddr == nowhere(self.ID) {
		return
	}
	asking, cancel := context.WithTimeout(ctx, standingTimeout)
	defer cancel()
	var s Standing
	err := ask(asking, caller, n.PeerAddr, knockStanding, standingQuestion{Node: self.ID, PeerAddr: self.PeerAddr}, &s)
	if err == nil && s.ClusterID == view.ClusterID && s.By != self.ID {
		self.PeerAddr = nowhere(self.ID)
		_, _ = m.Do(ctx, updateOf(self)) // after an error Announce tries again
	}
}

// nowhere is the address of a node that has given up its address and has no other yet. No node
// answers there, and no two nodes have the same.
func nowhere(id meta.NodeID) string { return string(id) + ".invalid:1" }
