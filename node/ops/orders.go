// Package ops executes the orders of operators: the LOCKSTEP orders, a new version of the cluster,
// and the operations on the process that clients may use (SAVE, DEBUG RELOAD, SHUTDOWN).
//
// Most orders are about the whole cluster, and any node accepts them: they go to the meta group, or
// to the leader of the shard that they name. The reply of an order says in words what was done. If
// an order was done only in part, the reply says so (admin.ErrHalfDone), and the order may be
// repeated.
package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockstep/cluster/membership"
	"lockstep/cluster/meta"
	"lockstep/cluster/placement"
	"lockstep/node/member"
	"lockstep/node/status"
	"lockstep/node/survey"
	"lockstep/proto/admin"
)

// Facts are the parts of the node that orders read and change.
type Facts struct {
	*member.Member
	Survey   *survey.Survey
	Rotation Rotation
	Clocks   Clocks
	Process  *Process
	// Support describes this node for a support bundle.
	Support func() (string, error)
	// Settled reports whether the cluster's settings are in force on this node.
	Settled func() bool
	// Die ends the node with a reason.
	Die func(error)
	// Gone ends when the node has learnt that it was removed from its cluster, Ctx with the node.
	Gone, Ctx context.Context
}

// Rotation changes the secret of the whole cluster.
type Rotation interface {
	Rotate(ctx context.Context) (string, error)
}

// Clocks sets the time of day of the shards to that of a majority of the clocks.
type Clocks interface {
	Adopt(ctx context.Context) (string, error)
}

// Orders is the admin.Operator of a node.
type Orders struct{ Facts }

// StatusJSON implements admin.Operator.
func (o *Orders) StatusJSON(ctx context.Context) ([]byte, error) { return o.Survey.StatusJSON(ctx) }

// ExamineJSON implements admin.Operator.
func (o *Orders) ExamineJSON(ctx context.Context) ([]byte, error) { return o.Survey.ExamineJSON(ctx) }

// LockSlots implements admin.Operator.
func (o *Orders) LockSlots() []admin.LockSlot { return o.Survey.LockSlots() }

// order executes one of the orders. Its args are the words after the order's name.
type order struct {
	// least and most bound the number of arguments.
	least, most int
	run         func(o *Orders, ctx context.Context, args []string) (string, error)
}

// orders are the operator's orders by their name after LOCKSTEP.
var orders = map[string]order{
	"TRANSFER": {0, 2, (*Orders).transferOrder},
	"REMOVE":   {1, 2, (*Orders).removeOrder},
	"REPLACE":  {2, 2, (*Orders).replaceOrder},
	"PROMOTE":  {1, 1, (*Orders).promoteOrder},
	"DRAIN":    {1, 2, (*Orders).drainOrder},
	"REPLICAS": {1, 1, (*Orders).replicasOrder},
	"CLOCK":    {1, 1, (*Orders).clockOrder},
	"UPGRADE":  {0, 1, (*Orders).upgradeOrder},
	"LEAVE":    {0, 0, (*Orders).leaveOrder},
	"SECRET":   {1, 1, (*Orders).secretOrder},
	"SUPPORT":  {0, 0, func(o *Orders, ctx context.Context, _ []string) (string, error) { return o.support() }},
	"SNAPSHOT": {0, 0, func(o *Orders, _ context.Context, _ []string) (string, error) { return o.Process.TakeSnapshots() }},
}

// errSyntax answers an order with an unknown name or a wrong number of arguments.
var errSyntax = errors.New("syntax error; LOCKSTEP HELP lists the orders")

// Order executes an operator's order and says in words what was done.
func (o *Orders) Order(ctx context.Context, args []string) (string, error) {
	found, known := orders[strings.ToUpper(args[0])]
	if rest := len(args) - 1; !known || rest < found.least || rest > found.most {
		return "", errSyntax
	}
	if o.Manager.Load() == nil {
		return "", errors.New("this node is still starting")
	}
	return found.run(o, ctx, args[1:])
}

func (o *Orders) removeOrder(ctx context.Context, args []string) (string, error) {
	force := len(args) == 2
	if force && !strings.EqualFold(args[1], "FORCE") {
		return "", errSyntax
	}
	id, err := o.Manager.Load().Remove(ctx, args[0], force)
	if err != nil {
		return "", err
	}
	return o.awaitGone(ctx, id)
}

func (o *Orders) replaceOrder(ctx context.Context, args []string) (string, error) {
	id, err := o.Manager.Load().Replace(ctx, args[0], args[1])
	if err != nil {
		return "", err
	}
	return o.awaitGone(ctx, id)
}

func (o *Orders) leaveOrder(ctx context.Context, _ []string) (string, error) {
	if err := o.Manager.Load().Leave(ctx); err != nil {
		return "", err
	}
	return "this node is leaving; it ends when it has left every group", nil
}

func (o *Orders) promoteOrder(ctx context.Context, args []string) (string, error) {
	id, err := o.Manager.Load().Promote(ctx, args[0])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s votes in each group as soon as it has caught up there", id), nil
}

func (o *Orders) drainOrder(ctx context.Context, args []string) (string, error) {
	off := len(args) == 2 && strings.EqualFold(args[1], "OFF")
	if len(args) == 2 && !off && !strings.EqualFold(args[1], "ON") {
		return "", errSyntax
	}
	id, err := o.Manager.Load().MarkDrained(ctx, args[0], !off)
	switch {
	case err != nil:
		return "", err
	case off:
		return fmt.Sprintf("%s may lead again", id), nil
	}
	return fmt.Sprintf("%s gives up what it leads and is given nothing to lead", id), nil
}

// goneTimeout is how long an order to remove a node waits for the groups to release the node. Each
// takes a moment, or waits for something.
const goneTimeout = 15 * time.Second

// awaitGone waits until every group has released a node. If some have not within goneTimeout, the
// reply says why.
func (o *Orders) awaitGone(ctx context.Context, id meta.NodeID) (string, error) {
	waiting, cancel := context.WithTimeout(ctx, goneTimeout)
	defer cancel()
	if id == o.Self.ID() {
		// If this node removes itself, the last group to release it may be the one that would
		// confirm it, so the news of its own removal ends the wait too.
		defer context.AfterFunc(o.Gone, cancel)()
	}
	_, err := o.Machine.Wait(waiting, func(v *meta.View) bool { return membership.Gone(v, id) })
	if err == nil || id == o.Self.ID() && o.Gone.Err() != nil {
		return fmt.Sprintf("%s was removed", id), nil
	}
	said := fmt.Sprintf("%s is leaving; not every group has let go of it yet", id)
	return strings.Join(append([]string{said}, o.Survey.Status(ctx).Waiting()...), "; "), nil
}

func (o *Orders) transferOrder(ctx context.Context, args []string) (string, error) {
	which, to := "0", ""
	if len(args) > 0 {
		which = args[0]
	}
	if len(args) > 1 {
		to = args[1]
	}
	groups, err := o.groupsNamed(which)
	if err != nil {
		return "", err
	}
	var said []string
	for _, g := range groups {
		id, err := o.Manager.Load().Transfer(ctx, g, to)
		if err != nil && len(said) > 0 {
			return "", fmt.Errorf("%w: %s; then: %w", admin.ErrHalfDone, strings.Join(said, "; "), err)
		}
		if err != nil {
			return "", err
		}
		said = append(said, fmt.Sprintf("%s is led by %s now", status.GroupTitle(member.GroupName(g)), id))
	}
	return strings.Join(said, "; "), nil
}

func (o *Orders) groupsNamed(which string) ([]uint32, error) {
	switch {
	case which == "meta":
		return []uint32{meta.GroupID}, nil
	case which == "all":
		groups := []uint32{meta.GroupID}
		for i := range o.ShardCount() {
			groups = append(groups, uint32(i))
		}
		return groups, nil
	}
	i, err := strconv.ParseUint(which, 10, 31)
	if err != nil || int(i) >= o.ShardCount() {
		return nil, fmt.Errorf("there is no shard %q; there are %d, and \"meta\", and \"all\"", which, o.ShardCount())
	}
	return []uint32{uint32(i)}, nil
}

// secretOrder executes LOCKSTEP SECRET ROTATE.
func (o *Orders) secretOrder(ctx context.Context, args []string) (string, error) {
	if !strings.EqualFold(args[0], "ROTATE") {
		return "", errSyntax
	}
	return o.Rotation.Rotate(ctx)
}

// clockOrder executes LOCKSTEP CLOCK ADOPT.
func (o *Orders) clockOrder(ctx context.Context, args []string) (string, error) {
	if !strings.EqualFold(args[0], "ADOPT") {
		return "", errSyntax
	}
	return o.Clocks.Adopt(ctx)
}

// PlacementJSON implements admin.Operator. It returns a placement.Report.
func (o *Orders) PlacementJSON(ctx context.Context) ([]byte, error) {
	r, err := placement.Ask(ctx, o.LeaderRPC)
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// replicasOrder executes LOCKSTEP REPLICAS, which sets how many replicas each shard is to have.
func (o *Orders) replicasOrder(ctx context.Context, args []string) (string, error) {
	want, err := strconv.Atoi(args[0])
	if err != nil {
		return "", fmt.Errorf("%q is not a number of replicas", args[0])
	}
	if _, err := o.Meta.Do(ctx, &meta.SetReplicas{Count: want}); err != nil {
		return "", err
	}
	return fmt.Sprintf("each shard is to have %d replicas", want), nil
}

// support describes this node, once it is ready.
func (o *Orders) support() (string, error) {
	if !o.Ready.Load() {
		return "", errors.New("this node is still starting")
	}
	return o.Support()
}
