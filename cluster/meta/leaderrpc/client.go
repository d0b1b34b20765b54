// Package leaderrpc carries small requests, a few per second, from any node to the
// leader of a Raft group: commands of the meta group, joins, operators' verbs. Do
// repeats a request until a node answers or its context ends. It asks the leader if one
// is known, else any peer, which passes the request on once.
//
// An answer is a result or a Refusal; both are final. After anything else (no
// leader, a lost connection, an election in the middle) Do asks again, so a verb must
// do no harm if it is asked twice. All copies of a request have one identity (Order),
// so that a late copy is not mistaken for a new request.
//
// Requests of clients do not use this package; the router has a faster way that keeps their order.
package leaderrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockstep/ground/caught"
)

// Kind is the request kind of this package on the connections between nodes.
const Kind uint8 = 16

// Caller sends a request to another node and waits for its answer.
type Caller interface {
	Call(ctx context.Context, addr string, kind uint8, payload []byte) ([]byte, error)
}

// Handler runs a verb on the node that leads the group. If it returns a *Refusal, that is the final
// answer; after any other error the client asks again.
type Handler func(ctx context.Context, group uint32, body []byte) ([]byte, error)

// Config is the configuration of a Client.
type Config struct {
	Caller Caller
	// Leader returns the peer address of a group's leader as this node knows it, and whether this
	// node is the leader. addr is empty if no leader is known.
	Leader func(group uint32) (addr string, self bool)
	// Peers returns the other nodes' peer addresses. The client asks one of them when it knows no
	// leader.
	Peers func() []string
	// Seen returns the index up to which this node has read the meta group's log. It may be nil,
	// which means 0.
	Seen func() uint64
	// Panics catches the panics of handlers; it may be nil.
	Panics *caught.Panics
}

var (
	// ErrUnanswered: no node answered in time. The request may or may not have been carried out.
	ErrUnanswered = errors.New("no answer from a leader in time")
	// ErrNotLeader is for handlers: the client must ask another node.
	ErrNotLeader = errors.New("not the leader")
	errPanic     = errors.New("the node that was asked met a fault of its program; its log has the details")
	errGarbage   = &Refusal{Code: "garbage", Text: "unreadable request"}
)

const (
	// attemptTimeout bounds one request of the many that Do may make.
	attemptTimeout = 5 * time.Second
	// serveTimeout bounds the handling of one request of another node.
	serveTimeout = 30 * time.Second
	// serveMax bounds how many requests of other nodes are handled at one time.
	serveMax = 64

	pauseFirst = 20 * time.Millisecond
	pauseMax   = time.Second
)

// Client is the client of one node, and serves the other nodes'.
type Client struct {
	cfg      Config
	handlers sync.Map // verb -> Handler
	serving  chan struct{}
	ctx      context.Context
	stop     context.CancelFunc

	// mu keeps wg from growing once Close waits for it. It guards closed.
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

// New returns a client.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg, serving: make(chan struct{}, serveMax)}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Handle registers the handler of a verb. It runs on the node that leads the group.
func (c *Client) Handle(verb string, h Handler) { c.handlers.Store(verb, h) }

// Close cancels the requests that are being handled and waits for their end.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.wg.Wait()
}

// request and answer are the messages between nodes.
type request struct {
	Verb  string          `json:"verb"`
	Group uint32          `json:"group"`
	Body  json.RawMessage `json:"body,omitempty"`
	Order Order           `json:"order"`
	// TimeoutMs is how long the asking node will wait.
	TimeoutMs int64 `json:"timeout_ms"`
	// Relayed is true if a node has passed the request on already: the receiver must be the leader.
	Relayed bool `json:"relayed,omitempty"`
}

type answer struct {
	Body    json.RawMessage `json:"body,omitempty"`
	Refusal *Refusal        `json:"refusal,omitempty"`
	// Again says why the request should be made again.
	Again string `json:"again,omitempty"`
	// Seen is the index up to which the refusing node has read the meta group's log.
	Seen uint64 `json:"seen,omitempty"`
}

// Do has the leader of group carry out verb. It returns nil, a Refusal, or, if ctx ends, an
// ErrUnanswered.
func (c *Client) Do(ctx context.Context, group uint32, verb string, body any) (json.RawMessage, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req := request{Verb: verb, Group: group, Body: raw}
	inherited := false
	if req.Order, inherited = OrderOf(ctx); !inherited {
		req.Order = c.draw(0)
	}
	var last error
	copies := 0
	for attempt := 0; ; attempt++ {
		copies++
		a, err := c.attempt(ctx, req, attempt)
		switch {
		case err != nil:
			last = err
		case !inherited && a.notDone(copies):
			last, copies, req.Order = a.Refusal, 0, c.draw(a.Seen)
		case !inherited && ErrForgotten.Is(a.Refusal):
			return nil, fmt.Errorf("%w (%v)", ErrUnanswered, a.Refusal)
		case a.Refusal != nil:
			return nil, a.Refusal
		case a.Again == "":
			return a.Body, nil
		default:
			last = errors.New(a.Again)
		}
		if err := c.pause(ctx, attempt); err != nil {
			return nil, fmt.Errorf("%w (%v)", ErrUnanswered, last)
		}
	}
}

// attempt asks one node: this one, the leader, or now and then any peer, because the
// known leader may be gone.
func (c *Client) attempt(ctx context.Context, req request, n int) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	addr, self := c.cfg.Leader(req.Group)
	if self {
		return c.run(ctx, req), nil
	}
	if addr != "" && n%3 != 2 {
		req.Relayed = true
		return c.call(ctx, addr, req)
	}
	peers := c.cfg.Peers()
	if len(peers) == 0 {
		return answer{}, errors.New("no leader is known")
	}
	return c.call(ctx, peers[n%len(peers)], req)
}

func (c *Client) call(ctx context.Context, addr string, req request) (answer, error) {
	if deadline, ok := ctx.Deadline(); ok {
		req.TimeoutMs = time.Until(deadline).Milliseconds()
	}
	payload, err := json.Marshal(req)
	if err != nil {
		return answer{}, err
	}
	reply, err := c.cfg.Caller.Call(ctx, addr, Kind, payload)
	if err != nil {
		return answer{}, err
	}
	var a answer
	if err := json.Unmarshal(reply, &a); err != nil {
		return answer{}, fmt.Errorf("unreadable answer from %s: %w", addr, err)
	}
	return a, nil
}

// run carries out the verb on this node.
func (c *Client) run(ctx context.Context, req request) answer {
	h, ok := c.handlers.Load(req.Verb)
	if !ok {
		// The leader is starting, or runs another version. Another leader may follow.
		return answer{Again: fmt.Sprintf("the leader does not know the request %q", req.Verb)}
	}
	body, err := h.(Handler)(WithOrder(ctx, req.Order), req.Group, req.Body)
	var refusal *Refusal
	switch {
	case err == nil:
		return answer{Body: body}
	case errors.As(err, &refusal):
		return answer{Refusal: refusal, Seen: c.seen()}
	default:
		return answer{Again: err.Error()}
	}
}

// pause waits a little longer after each attempt.
func (c *Client) pause(ctx context.Context, attempt int) error {
	d := min(pauseFirst<<min(attempt, 10), pauseMax)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

// Serve answers another node's request. It does not block; reply is called
// once, from any goroutine.
func (c *Client) Serve(payload []byte, reply func([]byte)) {
	var req request
	if err := json.Unmarshal(payload, &req); err != nil {
		send(reply, answer{Refusal: errGarbage})
		return
	}
	if why := c.admit(); why != "" {
		send(reply, answer{Again: why})
		return
	}
	go func() {
		defer c.wg.Done()
		defer func() { <-c.serving }()
		defer c.cfg.Panics.Catch("an order", func() { send(reply, answer{Again: errPanic.Error()}) })
		timeout := min(time.Duration(req.TimeoutMs)*time.Millisecond, serveTimeout)
		ctx, cancel := context.WithTimeout(c.ctx, timeout)
		defer cancel()
		send(reply, c.serve(ctx, req))
	}()
}

// admit reserves a place for one more request, or returns why there is none.
func (c *Client) admit() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return "the node is shutting down"
	}
	select {
	case c.serving <- struct{}{}:
		c.wg.Add(1)
		return ""
	default:
		return "too many requests at one time"
	}
}

func (c *Client) serve(ctx context.Context, req request) answer {
	addr, self := c.cfg.Leader(req.Group)
	switch {
	case self:
		return c.run(ctx, req)
	case addr == "":
		return answer{Again: "no leader is known"}
	case req.Relayed:
		return answer{Again: "the node that was asked does not lead; " + addr + " may"}
	}
	req.Relayed = true
	a, err := c.call(ctx, addr, req)
	if err != nil {
		return answer{Again: err.Error()}
	}
	return a
}

func send(reply func([]byte), a answer) {
	b, err := json.Marshal(a)
	if err != nil {
		b = []byte(`{"again":"unreadable result"}`)
	}
	reply(b)
}
