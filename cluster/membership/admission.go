package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/leaderrpc"
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
	Body    json.RawMessage    `json:"body,omitempty"`
	Refusal *leaderrpc.Refusal `json:"refusal,omitempty"`
	Again   string             `json:"again,omitempty"`
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

// AdmissionConfig is the configuration of an Admission.
type AdmissionConfig struct {
	// Self is this node.
	Self meta.NodeID
	// ClusterID is the cluster that this node belongs to, even before its view shows the cluster.
	ClusterID string
	Meta      Meta
	LeaderRPC *leaderrpc.Client
	// LearnAddress is called with the address of another node of the cluster; it may be nil.
	LearnAddress func(id meta.NodeID, addr string)
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

// Admission answers nodes that knock from outside.
type Admission struct {
	cfg  AdmissionConfig
	ctx  context.Context
	stop context.CancelFunc
	// mu keeps waiting from growing once Close waits for it. It guards closed and open.
	mu      sync.Mutex
	closed  bool
	open    int
	waiting sync.WaitGroup
}

// NewAdmission returns the admission of a node.
func NewAdmission(cfg AdmissionConfig) *Admission {
	a := &Admission{cfg: cfg}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a
}

// Close cancels the requests that are being answered and waits for their end.
func (a *Admission) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.stop()
	a.waiting.Wait()
}

// Serve answers a request of KindKnock. It does not block; reply is called once,
// from any goroutine.
func (a *Admission) Serve(from Visitor, payload []byte, reply func([]byte)) {
	var k knock
	if err := json.Unmarshal(payload, &k); err != nil {
		answerKnock(reply, knockAnswer{Refusal: ErrBadRequest})
		return
	}
	switch k.Verb {
	case knockStanding:
		answerKnock(reply, a.standing(from.Member, k.Body))
	case knockJoin:
		a.join(from, k.Body, reply)
	case knockPresence:
		answerKnock(reply, bodyOf(Presence{ID: a.cfg.Self, Name: string(a.cfg.Self), ClusterID: a.cfg.ClusterID}))
	default:
		answerKnock(reply, knockAnswer{Refusal: ErrBadRequest.With(fmt.Sprintf("this node does not know the request %q; it runs another version", k.Verb))})
	}
}

func (a *Admission) join(from Visitor, body []byte, reply func([]byte)) {
	secret := ""
	if from.Unproved {
		if a.cfg.Secret != nil {
			secret = a.cfg.Secret()
		}
		if secret == "" {
			answerKnock(reply, knockAnswer{Again: "this node takes in nobody who does not know the cluster's secret"})
			return
		}
	}
	a.mu.Lock()
	if a.closed || a.open >= knocksMax {
		a.mu.Unlock()
		answerKnock(reply, knockAnswer{Again: "this node has no time for joins now"})
		return
	}
	a.open++
	a.waiting.Add(1)
	a.mu.Unlock()
	go func() {
		defer a.waiting.Done()
		defer a.release()
		defer a.cfg.Panics.Catch("a join", func() {
			answerKnock(reply, knockAnswer{Again: "this node met a fault of its program; its log has the details"})
		})
		ctx, cancel := context.WithTimeout(a.ctx, knockTimeout)
		defer cancel()
		answer := knockAnswer{}
		var refusal *leaderrpc.Refusal
		var err error
		answer.Body, err = a.cfg.LeaderRPC.Do(ctx, meta.GroupID, verbJoin, json.RawMessage(body))
		if err == nil && secret != "" {
			answer.Body, err = handed(answer.Body, secret)
		}
		if errors.As(err, &refusal) {
			answer.Refusal = refusal
		} else if err != nil {
			answer.Again = err.Error()
		}
		answerKnock(reply, answer)
	}()
}

// release frees the place of a join.
func (a *Admission) release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open--
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
func (a *Admission) standing(member meta.NodeID, body []byte) knockAnswer {
	var q standingQuestion
	if err := json.Unmarshal(body, &q); err != nil || q.Node == "" {
		return knockAnswer{Refusal: ErrBadRequest}
	}
	if member == q.Node && q.PeerAddr != "" && a.cfg.LearnAddress != nil {
		a.cfg.LearnAddress(member, q.PeerAddr)
	}
	v := a.cfg.Meta.View()
	n, _ := v.Node(q.Node)
	return bodyOf(Standing{By: a.cfg.Self, ClusterID: v.ClusterID, Epoch: v.Epoch, State: n.State, ReplacedBy: n.ReplacedBy})
}

func answerKnock(reply func([]byte), a knockAnswer) {
	b, err := json.Marshal(a)
	if err != nil {
		b = []byte(`{"again":"unreadable result"}`)
	}
	reply(b)
}
