package node

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/node/member"
	"lockstep/node/status"
	"lockstep/node/survey"
	"lockstep/proto/client"
)

// order is what carries out one of the orders; args are those behind its name.
type order struct {
	// least and most are how many arguments it takes.
	least, most int
	run         func(n *Node, ctx context.Context, args []string) (string, error)
}

// orders are the operator's, by their name behind LOCKSTEP.
var orders = map[string]order{
	"TRANSFER": {0, 2, (*Node).transferOrder},
	"REMOVE":   {1, 2, (*Node).removeOrder},
	"REPLACE":  {2, 2, (*Node).replaceOrder},
	"PROMOTE":  {1, 1, (*Node).promoteOrder},
	"DRAIN":    {1, 2, (*Node).drainOrder},
	"REPLICAS": {1, 1, (*Node).replicasOrder},
	"CLOCK":    {1, 1, (*Node).clockOrder},
	"UPGRADE":  {0, 1, (*Node).upgradeOrder},
	"LEAVE":    {0, 0, (*Node).leaveOrder},
	"SECRET":   {1, 1, (*Node).secretOrder},
	"SUPPORT":  {0, 0, func(n *Node, ctx context.Context, _ []string) (string, error) { return n.supportOrder() }},
	"SNAPSHOT": {0, 0, func(n *Node, _ context.Context, _ []string) (string, error) { return n.process.TakeSnapshots() }},
}

// errSyntax answers an order that makes no sense.
var errSyntax = errors.New("syntax error; LOCKSTEP HELP lists the orders")

// Order carries out an operator's order and says in words what was done.
func (n *Node) Order(ctx context.Context, args []string) (string, error) {
	o, known := orders[strings.ToUpper(args[0])]
	if rest := len(args) - 1; !known || rest < o.least || rest > o.most {
		return "", errSyntax
	}
	if n.Manager.Load() == nil {
		return "", errors.New("this node is still starting")
	}
	return o.run(n, ctx, args[1:])
}

func (n *Node) removeOrder(ctx context.Context, args []string) (string, error) {
	force := len(args) == 2
	if force && !strings.EqualFold(args[1], "FORCE") {
		return "", errSyntax
	}
	id, err := n.Manager.Load().Remove(ctx, args[0], force)
	if err != nil {
		return "", err
	}
	return n.awaitGone(ctx, id)
}

func (n *Node) replaceOrder(ctx context.Context, args []string) (string, error) {
	id, err := n.Manager.Load().Replace(ctx, args[0], args[1])
	if err != nil {
		return "", err
	}
	return n.awaitGone(ctx, id)
}

func (n *Node) leaveOrder(ctx context.Context, _ []string) (string, error) {
	if err := n.Manager.Load().Leave(ctx); err != nil {
		return "", err
	}
	return "this node is leaving; it ends when it has left every group", nil
}

func (n *Node) promoteOrder(ctx context.Context, args []string) (string, error) {
	id, err := n.Manager.Load().Promote(ctx, args[0])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s votes in each group as soon as it has caught up there", id), nil
}

func (n *Node) drainOrder(ctx context.Context, args []string) (string, error) {
	off := len(args) == 2 && strings.EqualFold(args[1], "OFF")
	if len(args) == 2 && !off && !strings.EqualFold(args[1], "ON") {
		return "", errSyntax
	}
	id, err := n.Manager.Load().MarkDrained(ctx, args[0], !off)
	switch {
	case err != nil:
		return "", err
	case off:
		return fmt.Sprintf("%s may lead again", id), nil
	}
	return fmt.Sprintf("%s gives up what it leads and is given nothing to lead", id), nil
}

// goneTimeout is how long an order to remove a node waits for the groups to
// let go of it: they take a moment each, or wait for something.
const goneTimeout = 15 * time.Second

// awaitGone waits until every group has let go of a node, and says why they
// have not if they have not.
func (n *Node) awaitGone(ctx context.Context, id meta.NodeID) (string, error) {
	waiting, cancel := context.WithTimeout(ctx, goneTimeout)
	defer cancel()
	if id == n.Self.ID() {
		// The last group to let go of it is the one that would say so.
		defer context.AfterFunc(n.gone, cancel)()
	}
	_, err := n.Machine.Wait(waiting, func(v *meta.View) bool { return membership.Gone(v, id) })
	if err == nil || id == n.Self.ID() && n.gone.Err() != nil {
		return fmt.Sprintf("%s was removed", id), nil
	}
	said := fmt.Sprintf("%s is leaving; not every group has let go of it yet", id)
	return strings.Join(append([]string{said}, n.survey.Status(ctx).Waiting()...), "; "), nil
}

func (n *Node) transferOrder(ctx context.Context, args []string) (string, error) {
	which, to := "0", ""
	if len(args) > 0 {
		which = args[0]
	}
	if len(args) > 1 {
		to = args[1]
	}
	groups, err := n.groupsNamed(which)
	if err != nil {
		return "", err
	}
	var said []string
	for _, g := range groups {
		id, err := n.Manager.Load().Transfer(ctx, g, to)
		if err != nil && len(said) > 0 {
			return "", fmt.Errorf("%w: %s; then: %w", client.ErrHalfDone, strings.Join(said, "; "), err)
		}
		if err != nil {
			return "", err
		}
		said = append(said, fmt.Sprintf("%s is led by %s now", status.GroupTitle(member.GroupName(g)), id))
	}
	return strings.Join(said, "; "), nil
}

func (n *Node) groupsNamed(which string) ([]uint32, error) {
	switch {
	case which == "meta":
		return []uint32{meta.GroupID}, nil
	case which == "all":
		groups := []uint32{meta.GroupID}
		for i := range n.ShardCount() {
			groups = append(groups, uint32(i))
		}
		return groups, nil
	}
	i, err := strconv.ParseUint(which, 10, 31)
	if err != nil || int(i) >= n.ShardCount() {
		return nil, fmt.Errorf("there is no shard %q; there are %d, and \"meta\", and \"all\"", which, n.ShardCount())
	}
	return []uint32{uint32(i)}, nil
}

// supportOrder describes this node for a bundle of support.
func (n *Node) supportOrder() (string, error) {
	if !n.Ready.Load() {
		return "", errors.New("this node is still starting")
	}
	return n.report.Support()
}

// secretOrder carries out LOCKSTEP SECRET ROTATE.
func (n *Node) secretOrder(ctx context.Context, args []string) (string, error) {
	if !strings.EqualFold(args[0], "ROTATE") {
		return "", errSyntax
	}
	return n.rotation.Rotate(ctx)
}

// clockOrder carries out LOCKSTEP CLOCK ADOPT.
func (n *Node) clockOrder(ctx context.Context, args []string) (string, error) {
	if !strings.EqualFold(args[0], "ADOPT") {
		return "", errSyntax
	}
	return n.clocks.Adopt(ctx)
}

// operator is the client.Operator of a node.
type operator struct {
	*survey.Survey
	n *Node
}

// Order implements client.Operator.
func (o operator) Order(ctx context.Context, args []string) (string, error) {
	return o.n.Order(ctx, args)
}

// PlacementJSON implements client.Operator.
func (o operator) PlacementJSON(ctx context.Context) ([]byte, error) { return o.n.PlacementJSON(ctx) }
