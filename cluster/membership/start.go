package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/courier"
	"lockstep/cluster/meta/identity"
)

// Found creates the cluster in the meta group if this node is its founder and
// has not done so yet. All of its groups must have been bootstrapped and noted
// in the folder before.
func Found(ctx context.Context, m Meta, folder *identity.Folder, self meta.Node) error {
	id := folder.Identity()
	if id == nil || id.Phase != identity.Founding {
		return nil
	}
	c := &meta.CreateCluster{ClusterID: id.ClusterID, Creation: *id.Creation, Founder: self}
	if known := meta.KnownVersion(); known > meta.VersionFirst {
		c.ClusterVersion = known
	}
	if _, err := m.Do(ctx, c); err != nil {
		return fmt.Errorf("cannot create the cluster: %w", err)
	}
	return folder.Settle()
}

// Announce tells the cluster this node's addresses and version if they are not
// what the view says. A refusal with meta.ErrRemoved means that the node must
// stop; see Vigil. While another node still has this one's new address, it
// waits: that one may be about to move, too.
func Announce(ctx context.Context, m Meta, self meta.Node) error {
	n, known := m.View().Node(self.ID)
	if known && n.PeerAddr == self.PeerAddr && n.ClientAddr == self.ClientAddr && n.Hostname == self.Hostname && n.AdminAddr == self.AdminAddr && n.TLSPort == self.TLSPort && n.Version == self.Version {
		return nil
	}
	c := &meta.UpdateNode{ID: self.ID, PeerAddr: self.PeerAddr, ClientAddr: self.ClientAddr, Hostname: self.Hostname, AdminAddr: self.AdminAddr, TLSPort: self.TLSPort, Version: self.Version}
	for {
		_, err := m.Do(ctx, c)
		again := errors.Is(err, courier.ErrUnanswered) || errors.Is(err, meta.ErrAddrTaken) && sleep(ctx, announcePause)
		if !again || ctx.Err() != nil {
			return err
		}
	}
}

// announcePause is between two attempts to take over an address.
const announcePause = time.Second
