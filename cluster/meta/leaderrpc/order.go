package leaderrpc

import (
	"context"
	"math/rand/v2"
)

// Order is the identity of a request. All its copies carry the same one: later attempts, copies
// that another node passes on, and the commands that a handler proposes to the meta group to fulfil
// it. So a copy that was held up, for example in the socket of a stopped process, can be
// recognised.
type Order struct {
	ID uint64 `json:"id,omitempty"`
	// Seen is the index in the meta group's log up to which the asking node had read when it gave
	// the order; 0 means that it had read nothing. Entries after that index may be newer than the
	// order.
	Seen uint64 `json:"seen,omitempty"`
}

type orderKey struct{}

// WithOrder returns a context whose requests belong to an order.
func WithOrder(ctx context.Context, o Order) context.Context {
	return context.WithValue(ctx, orderKey{}, o)
}

// OrderOf returns the order that requests with ctx belong to. It returns false if there is none.
func OrderOf(ctx context.Context) (Order, bool) {
	o, ok := ctx.Value(orderKey{}).(Order)
	return o, ok && o.ID != 0
}

// draw makes a new order. seen is the index up to which another node has read the meta group's log,
// as its last answer said: this node's own copy may lag behind.
func (c *Client) draw(seen uint64) Order {
	o := Order{Seen: max(seen, c.seen())}
	for o.ID == 0 {
		o.ID = rand.Uint64()
	}
	return o
}

func (c *Client) seen() uint64 {
	if c.cfg.Seen == nil {
		return 0
	}
	return c.cfg.Seen()
}

// ErrOvertaken refuses an order because a newer one about the same thing was carried out
// before this one arrived. The order has not been carried out, and never will be. An asker
// that still wants the same gives a new order (Do).
var ErrOvertaken = &Refusal{Code: "overtaken", Text: "a newer order came before this one; it was not carried out"}

// ErrForgotten refuses an order that is so old that no node remembers whether it was carried out.
var ErrForgotten = &Refusal{Code: "forgotten", Text: "the order is so old that nobody knows whether it was carried out"}

// notDone reports whether this answer, to the last of so many copies, says that no copy was or will
// be carried out, so that the asking node may give a new order.
func (a *answer) notDone(copies int) bool {
	return ErrOvertaken.Is(a.Refusal) || copies == 1 && ErrForgotten.Is(a.Refusal)
}
