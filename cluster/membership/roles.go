package membership

import (
	"context"
	"encoding/json"
	"fmt"

	"lockstep/cluster/meta"
)

// roleRequest is an order of an operator that changes no quorum.
type roleRequest struct {
	// Node is an id or a name.
	Node string `json:"node"`
	// Drain, if not nil, says whether the node is drained from now on.
	Drain *bool `json:"drain,omitempty"`
	// Promote lets a learner vote.
	Promote bool `json:"promote,omitempty"`
}

// MarkDrained starts or ends draining a node, by id or name. A drained node gets no leadership and
// hands over the leaderships that it has. It also loses its replicas, as far as other nodes can
// take them.
func (r *Registrar) MarkDrained(ctx context.Context, node string, on bool) (meta.NodeID, error) {
	return order(ctx, r.cfg.LeaderRPC, meta.GroupID, verbRole, roleRequest{Node: node, Drain: &on})
}

// Promote lets a learner vote in every group, as soon as it has caught up.
func (r *Registrar) Promote(ctx context.Context, node string) (meta.NodeID, error) {
	return order(ctx, r.cfg.LeaderRPC, meta.GroupID, verbRole, roleRequest{Node: node, Promote: true})
}

func (r *Registrar) setRole(ctx context.Context, _ uint32, body []byte) ([]byte, error) {
	var req roleRequest
	if err := json.Unmarshal(body, &req); err != nil || req.Promote == (req.Drain != nil) {
		return nil, ErrBadRequest
	}
	if err := r.confirm(ctx); err != nil {
		return nil, err
	}
	n, err := r.find(req.Node)
	if err != nil {
		return nil, err
	}
	if req.Drain != nil && *req.Drain {
		if err := r.mayDrain(n); err != nil {
			return nil, err
		}
	}
	var c meta.Command = &meta.PromoteNode{ID: n.ID}
	if req.Drain != nil {
		c = &meta.MarkDrained{ID: n.ID, Drained: *req.Drain}
	}
	if _, err := r.cfg.Meta.Do(ctx, c); err != nil {
		return nil, err
	}
	return json.Marshal(n.ID)
}

// mayDrain refuses to drain the last node that could lead.
func (r *Registrar) mayDrain(n meta.Node) error {
	for _, o := range r.cfg.Meta.View().Live() {
		if o.ID != n.ID && !o.Drained && !o.Learner {
			return nil
		}
	}
	return ErrNoTarget.With(fmt.Sprintf("%s is the only node that may lead; nobody could take over", n.Name))
}
