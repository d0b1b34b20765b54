package membership

import (
	"context"
	"errors"
	"fmt"

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
	if _, err := m.Do(ctx, c); err != nil {
		return fmt.Errorf("cannot create the cluster: %w", err)
	}
	return folder.Settle()
}

// Announce tells the cluster this node's addresses and version if they are not
// what the view says. A refusal with meta.ErrRemoved means that the node must
// stop; see Vigil.
func Announce(ctx context.Context, m Meta, self meta.Node) error {
	n, known := m.View().Node(self.ID)
	if known && n.PeerAddr == self.PeerAddr && n.ClientAddr == self.ClientAddr && n.AdminAddr == self.AdminAddr && n.Version == self.Version {
		return nil
	}
	c := &meta.UpdateNode{ID: self.ID, PeerAddr: self.PeerAddr, ClientAddr: self.ClientAddr, AdminAddr: self.AdminAddr, Version: self.Version}
	for {
		_, err := m.Do(ctx, c)
		if !errors.Is(err, courier.ErrUnanswered) || ctx.Err() != nil {
			return err
		}
	}
}
