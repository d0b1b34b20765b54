package membership

import "lockstep/cluster/meta/courier"

// Reasons to refuse an operator's order or a join.
var (
	ErrQuorum     = &courier.Refusal{Code: "quorum", Text: "this would leave too few voters alive"}
	ErrStillAlive = &courier.Refusal{Code: "still-alive", Text: "the node to be replaced still answers"}
	ErrNoTarget   = &courier.Refusal{Code: "no-target", Text: "nobody can take over the leadership"}
	// ErrLedAnew refuses an order to hand over the leadership of a term that has ended.
	ErrLedAnew = &courier.Refusal{Code: "led-anew", Text: "the group has had an election since this was ordered; nothing was done"}
	// ErrArchitecture: see identity.ErrArchitecture.
	ErrArchitecture = &courier.Refusal{Code: "architecture", Text: "the node's processor is of another kind"}
	ErrBadRequest   = &courier.Refusal{Code: "bad-request", Text: "unreadable request"}
)
