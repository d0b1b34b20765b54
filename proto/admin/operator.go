package admin

import (
	"context"
	"errors"
	"time"

	"lockstep/cluster/meta/leaderrpc"
	"lockstep/proto/client"
)

// operatorCommands are the subcommands of LOCKSTEP, except those on freshness, which are in package client.
type operatorCommands struct {
	operator Operator
	backups  Backups
}

func (h *operatorCommands) handlers() client.Handlers {
	return client.Handlers{
		"lockstep|status": h.status, "lockstep|examine": h.examine, "lockstep|placement": h.placement,
		"lockstep|slots": h.slots, "lockstep|commands": lockstepCommands, "lockstep|backup": h.backup,
		"lockstep|transfer": h.order, "lockstep|remove": h.order, "lockstep|leave": h.order, "lockstep|snapshot": h.order,
		"lockstep|replace": h.order, "lockstep|promote": h.order, "lockstep|drain": h.order, "lockstep|clock": h.order,
		"lockstep|upgrade": h.order, "lockstep|support": h.order, "lockstep|secret": h.order, "lockstep|replicas": h.order,
		"lockstep|help": lockstepHelp,
	}
}

// ErrHalfDone means that only a part of an operator's order was carried out. The error says which
// part.
var ErrHalfDone = errors.New("done in part")

// orderTimeout bounds an operator's order.
const orderTimeout = 50 * time.Second

func (h *operatorCommands) status(r *client.Request, _ [][]byte) {
	data, err := h.operator.StatusJSON(r.Context())
	if err != nil {
		r.Out.Error("ERR " + err.Error())
		return
	}
	r.Out.Bulk(data)
}

func (h *operatorCommands) examine(r *client.Request, _ [][]byte) {
	answerJSON(r, h.operator.ExamineJSON)
}

func (h *operatorCommands) placement(r *client.Request, _ [][]byte) {
	answerJSON(r, h.operator.PlacementJSON)
}

func answerJSON(r *client.Request, ask func(context.Context) ([]byte, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	data, err := ask(ctx)
	if err != nil {
		r.Out.Error("ERR " + err.Error())
		return
	}
	r.Out.Bulk(data)
}

func (h *operatorCommands) order(r *client.Request, args [][]byte) {
	var words []string
	for _, a := range args[1:] {
		words = append(words, string(a))
	}
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	said, err := h.operator.Order(ctx, words)
	switch {
	case err == nil:
		r.Out.BulkString(said)
	case errors.Is(err, ErrHalfDone):
		r.Out.Error("INDETERMINATE " + err.Error())
	case errors.Is(err, leaderrpc.ErrUnanswered), errors.Is(err, context.DeadlineExceeded):
		r.Out.Error("INDETERMINATE it may have been done, or be under way: " + err.Error())
	default:
		r.Out.Error("ERR " + err.Error())
	}
}

func (h *operatorCommands) slots(r *client.Request, _ [][]byte) {
	slots := h.operator.LockSlots()
	r.Out.Array(len(slots))
	for _, s := range slots {
		r.Out.Map(9)
		r.Out.BulkString("shard")
		r.Out.Int(int64(s.Shard))
		r.Out.BulkString("lock-slot")
		r.Out.Int(int64(s.Slot))
		pair(r, "mode", s.Mode)
		r.Out.BulkString("holders")
		r.Out.Int(int64(s.Holders))
		r.Out.BulkString("waiting-readers")
		r.Out.Int(int64(s.Readers))
		r.Out.BulkString("waiting-writers")
		r.Out.Int(int64(s.Writers))
		texts(r, "held-by", s.Labels)
		r.Out.BulkString("held-ms")
		r.Out.Int(s.HeldMs)
		texts(r, "queue", s.Queue)
	}
}

func lockstepHelp(r *client.Request, _ [][]byte) {
	help(r, "LOCKSTEP <subcommand> [<arg> ...]. Subcommands are:",
		"BACKUP BEGIN | NEXT <node> <id> | END <node> <id> | DONE <milliseconds>", "    Read one consistent RDB file of each shard, in pieces; clusterctl backup does.",
		"CLOCK ADOPT", "    Set the time of day of each shard to what a majority of its voters' clocks show, at once.",
		"COMMANDS", "    List the commands of this server.",
		"DRAIN <node> [OFF]", "    Let a node give up its leaderships and give it none, replicas too where others can take them; OFF ends that.",
		"EXAMINE", "    Describe the nodes' machines, in JSON.",
		"LEAVE", "    Let this node leave the cluster for good.",
		"PLACEMENT", "    Describe where replicas and leaders are, what moves, and what is to be done, in JSON.",
		"PROMOTE <node>", "    Let a learner vote.",
		"REMOVE <node> [FORCE]", "    Take a node out of the cluster for good.",
		"REPLACE <node> <successor>", "    Take a node out once another one, which has joined, can take its place.",
		"REPLICAS <count>", "    Set how many replicas each shard is to have.",
		"SECRET ROTATE", "    Give the cluster a new secret, without a stop; every node must answer.",
		"SLOTS", "    List the lock slots that are held or waited for now.",
		"SNAPSHOT", "    Write a snapshot of every shard and cut the logs.",
		"STALENESS <milliseconds>", "    Let no READONLY read of this connection see what is older. 0 is no bound.",
		"STATUS", "    Describe the whole cluster, in JSON.",
		"TOKEN", "    Return a token of all that this connection has seen and done.",
		"SUPPORT", "    Describe this node for a bundle of support, in JSON, without keys, values or secrets.",
		"TRANSFER [<shard>|meta|all] [<node>]", "    Give the leadership of a shard to another node.",
		"UPGRADE [<version>]", "    Let nodes write what a newer version of lockstep brings.",
		"WAITFOR <token> [<milliseconds>]", "    Let this connection's reads see what <token> names: 1 if this node has it", "    already, 0 if the leaders will be asked until it has.")
}

// LockSlot is a lock slot that is held or waited for.
type LockSlot struct {
	Shard, Slot int
	Mode        string
	Holders     int
	Readers     int
	Writers     int
	// Labels are the known commands that hold it, each with the script or function that it runs.
	// HeldMs is how long the first has run, or 0 if that is not known. Queue are the first of the
	// waiting commands; "" stands for internal work of the node.
	Labels []string
	HeldMs int64
	Queue  []string
}
