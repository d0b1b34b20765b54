package leaders

import (
	"context"
	"time"

	"lockstep/cluster/stepper"
)

// Kind is the peer request that carries a table; the answer is the receiver's.
const Kind uint8 = 18

const (
	// lookEvery is how often a node checks whether its replicas know of another leader.
	lookEvery = 50 * time.Millisecond
	// tellEvery is how often a node sends its table even if nothing has changed, for nodes that did
	// not get the news.
	tellEvery = time.Second
)

// Peers sends requests to other nodes.
type Peers interface {
	// Go sends a request and calls done once with the answer, from any goroutine.
	Go(addr string, kind uint8, payload []byte, done func([]byte, error))
}

// Exchange keeps a table like those of the other nodes.
type Exchange struct {
	// Kick makes it look at once: a replica of this node has begun to lead.
	*stepper.Stepper
	Table *Table
	Peers Peers
	// Addrs returns the peer addresses of the other nodes.
	Addrs func() []string
	// Heard returns what this node's replica of a shard knows now; the zero value means nothing.
	Heard func(shard int) Leadership
	// May reports whether news from another node may be true: it names a node that this one
	// knows, and nothing in it about this node is false. News that is left out now comes again
	// once it is true. If May is nil, all news may be true.
	May func(shard int, l Leadership) bool
}

// Run runs the exchange until ctx ends.
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

// Look takes over what this node's own replicas know, and drops entries that cannot be true.
func (e *Exchange) Look() {
	known, _ := e.Table.All()
	for shard, l := range known {
		if l.Node != 0 && !e.may(shard, l) {
			e.Table.Disprove(shard, l)
		}
		e.Table.Learn(shard, e.Heard(shard))
	}
}

func (e *Exchange) may(shard int, l Leadership) bool { return e.May == nil || e.May(shard, l) }

func (e *Exchange) tell(known []Leadership) {
	b := encode(known)
	for _, addr := range e.Addrs() {
		e.Peers.Go(addr, Kind, b, func(answer []byte, err error) {
			if err == nil {
				// A malformed answer is ignored: the peer also ignores our table.
				_ = e.Table.learnAll(answer, e.may)
			}
		})
	}
}

// Serve takes over the newer entries of a peer's table, and answers with this node's table. A table
// of another length belongs to another cluster and changes nothing.
func (e *Exchange) Serve(payload []byte, reply func([]byte)) {
	_ = e.Table.learnAll(payload, e.may)
	known, _ := e.Table.All()
	reply(encode(known))
}
