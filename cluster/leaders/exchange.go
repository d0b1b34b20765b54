package leaders

import (
	"context"
	"time"

	"lockstep/cluster/stepper"
)

// Kind is the peer request that carries a table; the answer is the receiver's.
const Kind uint8 = 18

const (
	// lookEvery is how often a node looks whether its replicas have heard of
	// another leader.
	lookEvery = 50 * time.Millisecond
	// tellEvery is how often it tells the others though nothing has changed: who
	// missed the news gets it then.
	tellEvery = time.Second
)

// Peers sends requests to other nodes.
type Peers interface {
	// Go sends a request and calls done once with the answer, from any goroutine.
	Go(addr string, kind uint8, payload []byte, done func([]byte, error))
}

// Exchange keeps a table like those of the other nodes.
type Exchange struct {
	// Kick has it look at once: a replica of this node has begun to lead.
	*stepper.Stepper
	Table *Table
	Peers Peers
	// Addrs are the peer addresses of the other nodes.
	Addrs func() []string
	// Heard is what this node's replica of a shard knows now; the zero value:
	// nothing.
	Heard func(shard int) Leadership
}

// Run works until ctx ends.
func (e *Exchange) Run(ctx context.Context) {
	told, toldChanges := time.Time{}, uint64(0)
	e.Stepper.Run(ctx, func(context.Context) time.Duration {
		e.Look()
		if known, changes := e.Table.All(); changes != toldChanges || time.Since(told) >= tellEvery {
			told, toldChanges = time.Now(), changes
			e.tell(known)
		}
		return lookEvery
	})
}

// Look takes over what this node's own replicas have heard.
func (e *Exchange) Look() {
	known, _ := e.Table.All()
	for shard := range known {
		e.Table.Learn(shard, e.Heard(shard))
	}
}

func (e *Exchange) tell(known []Leadership) {
	b := encode(known)
	for _, addr := range e.Addrs() {
		e.Peers.Go(addr, Kind, b, func(answer []byte, err error) {
			if err == nil {
				// What makes no sense is left out: the peer will say so of ours.
				_ = e.Table.learnAll(answer)
			}
		})
	}
}

// Serve answers a peer's table with this node's, when it has taken over what is
// newer. A table of another length is none of this cluster's, and changes
// nothing.
func (e *Exchange) Serve(payload []byte, reply func([]byte)) {
	_ = e.Table.learnAll(payload)
	known, _ := e.Table.All()
	reply(encode(known))
}
