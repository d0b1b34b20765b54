package membership

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/meta/leaderrpc"
)

// These are the leaderrpc verbs for members. The leader of the meta group carries them out.
const (
	verbJoin    = "member.join"
	verbRemove  = "member.remove"
	verbReplace = "member.replace"
	verbRole    = "member.care"
)

// RegistrarConfig is the configuration of a Registrar.
type RegistrarConfig struct {
	// Self is this node.
	Self meta.NodeID
	Meta Meta
	// Group is the meta group's replica on this node.
	Group     Group
	LeaderRPC *leaderrpc.Client
}

// Registrar decides which nodes may join and leave. It exists on every node, but decides on the
// meta group's leader, which knows which nodes are alive.
type Registrar struct{ cfg RegistrarConfig }

// NewRegistrar returns a registrar and registers its verbs with the leaderrpc.Client.
func NewRegistrar(cfg RegistrarConfig) *Registrar {
	r := &Registrar{cfg}
	cfg.LeaderRPC.Handle(verbJoin, r.join)
	cfg.LeaderRPC.Handle(verbRemove, r.remove)
	cfg.LeaderRPC.Handle(verbReplace, r.replace)
	cfg.LeaderRPC.Handle(verbRole, r.setRole)
	return r
}

type removeRequest struct {
	// Node is an id or a name.
	Node  string `json:"node"`
	Force bool   `json:"force,omitempty"`
	// InFavourOf is the successor of a replaced node.
	InFavourOf string `json:"in_favour_of,omitempty"`
}

// Remove orders that a node, by id or name, leaves the cluster, and returns its id. It refuses to
// break the quorum unless force is set. The groups then remove the node one after the other: see
// Gone.
func (r *Registrar) Remove(ctx context.Context, node string, force bool) (meta.NodeID, error) {
	return order(ctx, r.cfg.LeaderRPC, meta.GroupID, verbRemove, removeRequest{Node: node, Force: force})
}

// Replace orders that a node leaves in favour of another one that has already joined. The old one
// stays until the new one votes.
func (r *Registrar) Replace(ctx context.Context, old, successor string) (meta.NodeID, error) {
	return order(ctx, r.cfg.LeaderRPC, meta.GroupID, verbReplace, removeRequest{Node: old, InFavourOf: successor})
}

// Leave orders that this node leaves. Its RemovalWatch notices when it has left.
func (r *Registrar) Leave(ctx context.Context) error {
	_, err := r.Remove(ctx, string(r.cfg.Self), false)
	return err
}

// order has a group's leader carry out an order about a node, and returns the node's id.
func order(ctx context.Context, c *leaderrpc.Client, group uint32, verb string, req any) (meta.NodeID, error) {
	body, err := c.Do(ctx, group, verb, req)
	if err != nil {
		return "", err
	}
	var id meta.NodeID
	if err := json.Unmarshal(body, &id); err != nil {
		return "", fmt.Errorf("membership: unreadable answer: %w", err)
	}
	return id, nil
}

// Gone reports whether a node has left all groups.
func Gone(v *meta.View, id meta.NodeID) bool {
	n, known := v.Node(id)
	return v.Created() && (!known || n.State == meta.Removed)
}

func (r *Registrar) remove(ctx context.Context, _ uint32, body []byte) ([]byte, error) {
	var req removeRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, ErrBadRequest
	}
	return r.letGo(ctx, req)
}

func (r *Registrar) replace(ctx context.Context, group uint32, body []byte) ([]byte, error) {
	var req removeRequest
	if err := json.Unmarshal(body, &req); err != nil || req.InFavourOf == "" {
		return nil, ErrBadRequest
	}
	if err := r.confirm(ctx); err != nil {
		return nil, err
	}
	successor, err := r.find(req.InFavourOf)
	if err != nil {
		return nil, err
	}
	req.InFavourOf = string(successor.ID)
	return r.letGo(ctx, req)
}

// letGo checks an order to leave and proposes it to the meta group.
func (r *Registrar) letGo(ctx context.Context, req removeRequest) ([]byte, error) {
	if err := r.confirm(ctx); err != nil {
		return nil, err
	}
	n, err := r.find(req.Node)
	if err != nil {
		return nil, err
	}
	// A successor becomes a voter before the node goes.
	if !req.Force && req.InFavourOf == "" && n.State.Live() {
		if err := r.mayLose(ctx, n); err != nil {
			return nil, err
		}
	}
	c := &meta.RemoveNode{ID: n.ID, Force: req.Force, InFavourOf: meta.NodeID(req.InFavourOf)}
	if _, err := r.cfg.Meta.Do(ctx, c); err != nil {
		return nil, err
	}
	return json.Marshal(n.ID)
}

// mayLose refuses a removal that would leave the meta group without a quorum. Plan and the
// placement guard the quorums of the shards.
func (r *Registrar) mayLose(ctx context.Context, n meta.Node) error {
	peers, _ := observe(r.cfg.Group, r.cfg.Self, time.Now())
	if err := askAnew(ctx, r.cfg.Group, peers); err != nil {
		return err
	}
	voters, alive, votes := 0, 0, false
	for _, p := range peers {
		switch {
		case !p.Voter:
			continue
		case p.ID == n.ID:
			votes = true
		case p.Alive:
			alive++
		}
		voters++
	}
	if !votes {
		return nil
	}
	if why := CannotLose(n.Name, voters, alive); why != "" {
		return ErrQuorum.With(why + "; bring the others back first, or force it if they are gone for good")
	}
	return nil
}

// confirm returns nil if this node leads the meta group and its view is current: a leader that has
// just been started may not have applied its log yet.
func (r *Registrar) confirm(ctx context.Context) error {
	if _, err := r.cfg.Meta.CatchUp(ctx); err != nil {
		return err
	}
	return r.cfg.Group.Confirm(ctx)
}

func (r *Registrar) find(idOrName string) (meta.Node, error) {
	v := r.cfg.Meta.View()
	if n, ok := v.Lookup(idOrName); ok {
		return n, nil
	}
	if n, ok := v.Node(meta.NodeID(idOrName)); ok {
		return n, nil
	}
	return meta.Node{}, meta.ErrUnknownNode.With(fmt.Sprintf("the cluster has no node %q", idOrName))
}

// join lets a node in, or returns the reason why it does not.
func (r *Registrar) join(ctx context.Context, _ uint32, body []byte) ([]byte, error) {
	var req JoinRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, ErrBadRequest
	}
	if err := r.confirm(ctx); err != nil {
		return nil, err
	}
	if version := r.cfg.Meta.View().ClusterVersion; req.Knows < version {
		return nil, meta.ErrClusterVersion.With(fmt.Sprintf("the cluster is at version %d, and this node's lockstepd knows versions up to %d; start a newer one",
			version, req.Knows))
	}
	if here := identity.Processor(); req.Architecture != here {
		return nil, ErrArchitecture.With(fmt.Sprintf("this cluster's nodes run on %s, and the new one on %s: %v", here, req.Architecture, identity.ErrArchitecture))
	}
	if req.Replace {
		if err := r.mayReplace(ctx, req.Node); err != nil {
			return nil, err
		}
	}
	if _, err := r.cfg.Meta.Do(ctx, &meta.AddNode{Node: req.Node, Replace: req.Replace}); err != nil {
		return nil, err
	}
	v := r.cfg.Meta.View()
	if err := r.addressIsFree(v, req.Node); err != nil {
		return nil, err
	}
	return json.Marshal(Welcome{ClusterID: v.ClusterID, Version: v.ClusterVersion, Creation: v.Creation, Epoch: v.Epoch, Nodes: v.Nodes, Shards: v.Shards})
}

// mayReplace refuses to replace a node that still answers: two folders with one name are more
// likely a mistake than intended. A node that has just died looks alive for a moment, so mayReplace
// waits until it is clear.
func (r *Registrar) mayReplace(ctx context.Context, n meta.Node) error {
	old, ok := r.cfg.Meta.View().Lookup(n.Name)
	if !ok || old.ID == n.ID || !old.State.Live() {
		return nil
	}
	for asked := time.Now(); ; {
		acked := r.cfg.Group.Progress(old.ID).Acked
		switch {
		case old.ID == r.cfg.Self, acked.After(asked):
			return ErrStillAlive.With(fmt.Sprintf("node %s at %s still answers; stop it before another takes its name, or remove it", old.ID, old.PeerAddr))
		case time.Since(acked) >= aliveWithin && (!acked.IsZero() || time.Since(asked) >= aliveWithin):
			return nil // a new leader may not have had an answer of any node yet
		case !sleep(ctx, busyPause):
			return ctx.Err()
		}
	}
}

// addressIsFree returns an error that makes a newcomer ask again while its predecessor at the same
// address is a member of some group: messages for one must not reach the other.
func (r *Registrar) addressIsFree(v *meta.View, n meta.Node) error {
	for _, o := range v.Nodes {
		if o.ID != n.ID && o.PeerAddr == n.PeerAddr {
			return fmt.Errorf("node %s has not left %s yet", o.ID, o.PeerAddr)
		}
	}
	return nil
}
