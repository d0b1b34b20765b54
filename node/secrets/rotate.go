package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/secret"
	"lockstep/cluster/transport"
	"lockstep/node/member"
	"lockstep/proto/admin"
)

// Kind asks a member which secrets it accepts, or makes it accept others. The payload is JSON of a
// question, the answer JSON of a response.
const Kind uint8 = 41

// askTimeout is how long a node may take to answer. It writes to its disk meanwhile.
const askTimeout = 5 * time.Second

// question is a request to a member. With an empty List the member changes nothing.
type question struct {
	// Was are the fingerprints of the secrets that the member must accept now. If it accepts
	// others, another change may be under way.
	Was []string `json:"was,omitempty"`
	// List are the secrets that it is to accept from now on (secret.List.Text).
	List string `json:"list,omitempty"`
}

// response says which secrets a member accepts.
type response struct {
	Source origin   `json:"source"`
	Prints []string `json:"prints"`
	// Refusal says why the member changed nothing.
	Refusal string `json:"refusal,omitempty"`
}

// Serve answers another member's question (Kind).
func (sc *Secrets) Serve(payload []byte, reply func([]byte)) {
	var q question
	err := json.Unmarshal(payload, &q)
	if err == nil && q.List != "" {
		err = sc.replace(q.Was, q.List)
	}
	a := sc.answer()
	if err != nil {
		a.Refusal = err.Error()
	}
	data, _ := json.Marshal(a)
	reply(data)
}

// answer says which secrets this node accepts.
func (sc *Secrets) answer() response {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return response{Source: sc.source, Prints: sc.Known().Prints()}
}

// replace writes other secrets into the data folder and puts them into force, if the secrets with
// the given fingerprints are in force now.
func (sc *Secrets) replace(was []string, text string) error {
	list, err := secret.Parse(text)
	if err != nil {
		return err
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	switch {
	case sc.source != fromFolder:
		return fmt.Errorf("it has its secret from %s", sc.source)
	case !slices.Equal(was, sc.Known().Prints()):
		return errors.New("it accepts other secrets meanwhile")
	}
	if err := sc.mayFollow(list); err != nil {
		return err
	}
	return sc.keep(list)
}

// Rotation changes the secret of the whole cluster. One node carries it out.
type Rotation struct {
	Secrets *Secrets
	Member  *member.Member
	// mu is held while a change is under way.
	mu sync.Mutex
}

// Rotate gives the cluster a new secret, and returns a text about it.
func (r *Rotation) Rotate(ctx context.Context) (string, error) {
	if !r.mu.TryLock() {
		return "", errors.New("this node is changing the secret already")
	}
	defer r.mu.Unlock()
	return r.run(ctx)
}

// run makes a new secret, makes all nodes accept it in addition to the old one, and, once all do,
// makes them accept only the new one. It continues a change that was interrupted.
func (r *Rotation) run(ctx context.Context) (string, error) {
	told, err := r.askAll(ctx)
	if err != nil {
		return "", err
	}
	step, err := planRotation(r.Secrets.answer(), told)
	if err != nil {
		return "", err
	}
	known := r.Secrets.Known()
	if step == rotateBegin {
		known = secret.List{secret.Make(), known[0]}
		if err := r.Secrets.replace(r.Secrets.answer().Prints, known.Text()); err != nil {
			return "", err
		}
	}
	if step != rotateFinish {
		if err := r.spread(ctx, told, known); err != nil {
			return "", err
		}
		// Nodes may have joined meanwhile.
		if told, err = r.askAll(ctx); err != nil {
			return "", fmt.Errorf("%w: both secrets are accepted; then: %w; this node has to be told again", admin.ErrHalfDone, err)
		}
		if late := slices.IndexFunc(told, func(m memberSecrets) bool { return m.Prints[0] != known[0].Print() }); late >= 0 {
			return "", fmt.Errorf("%w: both secrets are accepted, and %s came meanwhile; this node has to be told again", admin.ErrHalfDone, told[late].Name)
		}
	}
	if err := r.spread(ctx, told, known[:1]); err != nil {
		return "", err
	}
	if len(known) > 1 {
		if err := r.Secrets.replace(known.Prints(), known[:1].Text()); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("all nodes (%d) have the new secret, and accept the old one no more", len(told)+1), nil
}

// memberSecrets is the response of another node.
type memberSecrets struct {
	meta.Node
	response
}

// askAll asks all other nodes. All must answer, because a node without the new secret would be locked
// out.
func (r *Rotation) askAll(ctx context.Context) ([]memberSecrets, error) {
	var told []memberSecrets
	for _, m := range r.Member.Machine.View().Nodes {
		if m.ID != r.Member.Self.ID() {
			told = append(told, memberSecrets{Node: m})
		}
	}
	errs := make([]error, len(told))
	var wait sync.WaitGroup
	for i := range told {
		wait.Go(func() { told[i].response, errs[i] = r.ask(ctx, told[i].Node, question{}) })
	}
	wait.Wait()
	for i, err := range errs {
		if err == nil && len(told[i].Prints) == 0 {
			err = errors.New("it has none")
		}
		if err != nil {
			return nil, fmt.Errorf("the secret is changed only where every node takes part, and %s does not: %w", told[i].Name, err)
		}
	}
	return told, nil
}

// spread makes all other nodes accept these secrets, unless they do already.
func (r *Rotation) spread(ctx context.Context, told []memberSecrets, list secret.List) error {
	for _, m := range told {
		if slices.Equal(m.Prints, list.Prints()) {
			continue
		}
		a, err := r.ask(ctx, m.Node, question{Was: m.Prints, List: list.Text()})
		if err != nil {
			// The node may have closed the connection because of the change that came over it.
			a, err = r.ask(ctx, m.Node, question{})
		}
		if err == nil && !slices.Equal(a.Prints, list.Prints()) {
			err = errors.New(a.Refusal)
		}
		if err != nil {
			return fmt.Errorf("%w: %s has not taken the new secret: %w; what the nodes accept they have in common, and this node has to be told again", admin.ErrHalfDone, m.Name, err)
		}
	}
	return nil
}

func (r *Rotation) ask(ctx context.Context, m meta.Node, q question) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	payload, err := json.Marshal(q)
	if err != nil {
		return response{}, err
	}
	answer, err := r.Member.Transport.Call(ctx, transport.Target(string(m.ID), m.PeerAddr), Kind, payload)
	var a response
	if err == nil {
		err = json.Unmarshal(answer, &a)
	}
	return a, err
}

// rotationStep is the next step of a change.
type rotationStep uint8

const (
	// rotateBegin means that all nodes have the same single secret.
	rotateBegin rotationStep = iota
	// rotateSpread means that this node has a new secret and the old one, and others may have only
	// the old one.
	rotateSpread
	// rotateFinish means that this node has only the new secret, and others also have the old one.
	rotateFinish
)

// planRotation finds out how far a change of the secret has come. Only the node that began a change
// can continue it, because no other node knows the new secret.
func planRotation(own response, told []memberSecrets) (rotationStep, error) {
	all := append([]memberSecrets{{Node: meta.Node{Name: "this node"}, response: own}}, told...)
	for _, m := range all {
		if m.Source != fromFolder {
			return 0, fmt.Errorf("%s has its secret from %s: change it there, on all nodes; first to the next secret and behind it the one in force, "+
				"and when all have both, to the next one alone", m.Name, m.Source)
		}
	}
	step := rotateBegin
	if len(own.Prints) > 1 {
		step = rotateSpread
	}
	for _, m := range told {
		switch p := m.Prints; {
		case slices.Equal(p, own.Prints):
		case step == rotateSpread && len(p) == 1 && slices.Contains(own.Prints, p[0]):
		case step != rotateSpread && len(p) > 1 && p[0] == own.Prints[0]:
			step = rotateFinish
		case len(p) > 1:
			return 0, fmt.Errorf("a change of the secret was begun at another node, such as %s, and has not come to its end: tell that node to go on", m.Name)
		default:
			return 0, fmt.Errorf("%s accepts another secret than this node", m.Name)
		}
	}
	return step, nil
}
