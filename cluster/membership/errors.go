package membership

import "lockstep/cluster/meta/leaderrpc"

// Reasons to refuse an operator's order or a join.
var (
	ErrQuorum     = &leaderrpc.Refusal{Code: "quorum", Text: "this would leave too few voters alive"}
	ErrStillAlive = &leaderrpc.Refusal{Code: "still-alive", Text: "the node to be replaced still answers"}
	ErrNoTarget   = &leaderrpc.Refusal{Code: "no-target", Text: "nobody can take over the leadership"}
	// ErrLedAnew refuses an order to hand over the leadership of a term that has ended.
	ErrLedAnew = &leaderrpc.Refusal{Code: "led-anew", Text: "the group has had an election since this was ordered; nothing was done"}
	// ErrArchitecture: see identity.ErrArchitecture.
	ErrArchitecture = &leaderrpc.Refusal{Code: "architecture", Text: "the node's processor is of another kind"}
	ErrBadRequest   = &leaderrpc.Refusal{Code: "bad-request", Text: "unreadable request"}
)
