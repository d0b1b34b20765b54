package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/courier"
	"lockstep/ground/caught"
)

// KindKnock is the request kind for nodes that may not belong to the cluster, or no longer do. It
// is the only kind that is served on connections without a cluster id.
const KindKnock uint8 = 17

const (
	knockJoin     = "join"
	knockStanding = "standing"

	// knocksMax bounds the knocks answered at one time: any stranger that reaches the peer
	// port can knock.
	knocksMax = 16
	// knockTimeout bounds one answer. It is a little less than the caller waits.
	knockTimeout = joinTimeout - time.Second
)

type knock struct {
	Verb string          `json:"verb"`
	Body json.RawMessage `json:"body"`
}

type knockAnswer struct {
	Body    json.RawMessage  `json:"body,omitempty"`
	Refusal *courier.Refusal `json:"refusal,omitempty"`
	Again   string           `json:"again,omitempty"`
}

// standingQuestion is what a node says about itself when it asks about its membership.
type standingQuestion struct {
	Node meta.NodeID `json:"node"`
	// PeerAddr is where the node is reached now; the view may have an older address.
	PeerAddr string `json:"peer_addr"`
}

// Standing is the membership of a node as another node sees it.
type Standing struct {
	// By is the node that answers.
	By        meta.NodeID `json:"by"`
	ClusterID string      `json:"cluster_id"`
	Epoch     uint64      `json:"epoch"`
	// State is empty if the node is not known.
	State meta.NodeState `json:"state,omitempty"`
	// ReplacedBy is the node that took the asking node's place.
	ReplacedBy meta.NodeID `json:"replaced_by,omitempty"`
}

// DoorConfig is the configuration of a Door.
type DoorConfig struct {
	// Self is this node.
	Self meta.NodeID
	// ClusterID is the cluster that this node belongs to, even before its view shows the cluster.
	ClusterID string
	Meta      Meta
	Courier   *courier.Courier
	// Met is called with the address of another node of the cluster; it may be nil.
	Met func(id meta.NodeID, addr string)
	// Secret returns the cluster's secret for a node that has none. If it is nil or returns "",
	// such a node is not let in.
	Secret func() string
	// Panics catches the panics of requests; it may be nil.
	Panics *caught.Panics
}

// Visitor is a node that knocks.
type Visitor struct {
	// Member is its id in this cluster, or empty if it is not a member.
	Member meta.NodeID
	// Unproved is true if the node has not proved that it knows the cluster's secret. It gets the
	// secret when it is let in.
	Unproved bool
}

// Door answers nodes that knock from outside.
type Door struct {
	cfg  DoorConfig
	ctx  context.Context
	stop context.CancelFunc
	// mu keeps waiting from growing once Close waits for it. It guards closed and open.
	mu      sync.Mutex
	closed  bool
	open    int
	waiting sync.WaitGroup
}

// NewDoor returns the door of a node.
func NewDoor(cfg DoorConfig) *Door {
	d := &Door{cfg: cfg}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

// Close cancels the requests that are being answered and waits for their end.
func (d *Door) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.stop()
	d.waiting.Wait()
}

// Serve answers a request of KindKnock. It does not block; reply is called once,
// from any goroutine.
func (d *Door) Serve(from Visitor, payload []byte, reply func([]byte)) {
	var k knock
	if err := json.Unmarshal(payload, &k); err != nil {
		answerKnock(reply, knockAnswer{Refusal: ErrBadRequest})
		return
	}
	switch k.Verb {
	case knockStanding:
		answerKnock(reply, d.standing(from.Member, k.Body))
	case knockJoin:
		d.join(from, k.Body, reply)
	case knockMuster:
		answerKnock(reply, bodyOf(Present{ID: d.cfg.Self, Name: string(d.cfg.Self), ClusterID: d.cfg.ClusterID}))
	default:
		answerKnock(reply, knockAnswer{Refusal: ErrBadRequest.With(fmt.Sprintf("this node does not know the request %q; it runs another version", k.Verb))})
	}
}

func (d *Door) join(from Visitor, body []byte, reply func([]byte)) {
	secret := ""
	if from.Unproved {
		if d.cfg.Secret != nil {
			secret = d.cfg.Secret()
		}
		if secret == "" {
			answerKnock(reply, knockAnswer{Again: "this node takes in nobody who does not know the cluster's secret"})
			return
		}
	}
	d.mu.Lock()
	if d.closed || d.open >= knocksMax {
		d.mu.Unlock()
		answerKnock(reply, knockAnswer{Again: "this node has no time for joins now"})
		return
	}
	d.open++
	d.waiting.Add(1)
	d.mu.Unlock()
	go func() {
		defer d.waiting.Done()
		defer d.leave()
		defer d.cfg.Panics.Catch("a join", func() {
			answerKnock(reply, knockAnswer{Again: "this node met a fault of its program; its log has the details"})
		})
		ctx, cancel := context.WithTimeout(d.ctx, knockTimeout)
		defer cancel()
		a := knockAnswer{}
		var refusal *courier.Refusal
		var err error
		a.Body, err = d.cfg.Courier.Do(ctx, meta.GroupID, verbJoin, json.RawMessage(body))
		if err == nil && secret != "" {
			a.Body, err = handed(a.Body, secret)
		}
		if errors.As(err, &refusal) {
			a.Refusal = refusal
		} else if err != nil {
			a.Again = err.Error()
		}
		answerKnock(reply, a)
	}()
}

// leave frees the place of a join.
func (d *Door) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
}

// handed returns the welcome with the cluster's secret in it.
func handed(welcome json.RawMessage, secret string) (json.RawMessage, error) {
	var w Welcome
	if err := json.Unmarshal(welcome, &w); err != nil {
		return nil, err
	}
	w.Secret = secret
	return json.Marshal(w)
}

// standing answers from this node's own view, so that it works without a leader.
func (d *Door) standing(member meta.NodeID, body []byte) knockAnswer {
	var q standingQuestion
	if err := json.Unmarshal(body, &q); err != nil || q.Node == "" {
		return knockAnswer{Refusal: ErrBadRequest}
	}
	if member == q.Node && q.PeerAddr != "" && d.cfg.Met != nil {
		d.cfg.Met(member, q.PeerAddr)
	}
	v := d.cfg.Meta.View()
	n, _ := v.Node(q.Node)
	return bodyOf(Standing{By: d.cfg.Self, ClusterID: v.ClusterID, Epoch: v.Epoch, State: n.State, ReplacedBy: n.ReplacedBy})
}

func answerKnock(reply func([]byte), a knockAnswer) {
	b, err := json.Marshal(a)
	if err != nil {
		b = []byte(`{"again":"unreadable result"}`)
	}
	reply(b)
}
