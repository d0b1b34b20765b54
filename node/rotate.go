package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/secret"
	"lockstep/cluster/transport"
	"lockstep/proto/client"
)

// kindSecret asks a member which secrets it accepts, or has it accept others.
// Payload: JSON of a secretQuestion. Answer: JSON of a secretAnswer.
const kindSecret uint8 = 41

// secretTimeout is how long a node may take to answer; it writes to its disk.
const secretTimeout = 5 * time.Second

// secretQuestion asks a member. An empty List only asks.
type secretQuestion struct {
	// Was are the prints of the secrets that the member must accept now: another
	// change may be under way.
	Was []string `json:"was,omitempty"`
	// List are those that it is to accept from now on (secret.List.Text).
	List string `json:"list,omitempty"`
}

// secretAnswer tells which secrets a member accepts.
type secretAnswer struct {
	Source secretSource `json:"source"`
	Prints []string     `json:"prints"`
	// Refusal says why nothing was changed.
	Refusal string `json:"refusal,omitempty"`
}

// serveSecret answers a member.
func (n *Node) serveSecret(_ transport.Peer, payload []byte, reply func([]byte)) {
	var q secretQuestion
	err := json.Unmarshal(payload, &q)
	if err == nil && q.List != "" {
		err = n.secrets.replace(q.Was, q.List)
	}
	a := n.secrets.answer()
	if err != nil {
		a.Refusal = err.Error()
	}
	data, _ := json.Marshal(a)
	reply(data)
}

// answer tells which secrets this node accepts.
func (sc *secrets) answer() secretAnswer {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return secretAnswer{Source: sc.source, Prints: sc.Known().Prints()}
}

// replace puts other secrets into the data folder and into force, if those with
// the given prints are accepted now.
func (sc *secrets) replace(was []string, text string) error {
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

// rotation is a change of the secret of the whole cluster, carried out by one node.
type rotation struct {
	n *Node
	// mu is held while one is under way.
	mu sync.Mutex
}

// secretOrder carries out LOCKSTEP SECRET ROTATE.
func (n *Node) secretOrder(ctx context.Context, args []string) (string, error) {
	if !strings.EqualFold(args[0], "ROTATE") {
		return "", errSyntax
	}
	r := &n.rotation
	if !r.mu.TryLock() {
		return "", errors.New("this node is changing the secret already")
	}
	defer r.mu.Unlock()
	r.n = n
	return r.run(ctx)
}

// run makes a new secret, has all nodes accept it beside the old one, and when
// all do, alone. A change that broke off goes on.
func (r *rotation) run(ctx context.Context) (string, error) {
	told, err := r.look(ctx)
	if err != nil {
		return "", err
	}
	step, err := planRotation(r.n.secrets.answer(), told)
	if err != nil {
		return "", err
	}
	known := r.n.secrets.Known()
	if step == rotateBegin {
		known = secret.List{secret.Make(), known[0]}
		if err := r.n.secrets.replace(r.n.secrets.answer().Prints, known.Text()); err != nil {
			return "", err
		}
	}
	if step != rotateFinish {
		if err := r.spread(ctx, told, known); err != nil {
			return "", err
		}
		// Nodes may have been taken in meanwhile.
		if told, err = r.look(ctx); err != nil {
			return "", fmt.Errorf("%w: both secrets are accepted; then: %w; this node has to be told again", client.ErrHalfDone, err)
		}
		if late := slices.IndexFunc(told, func(m memberSecrets) bool { return m.Prints[0] != known[0].Print() }); late >= 0 {
			return "", fmt.Errorf("%w: both secrets are accepted, and %s came meanwhile; this node has to be told again", client.ErrHalfDone, told[late].Name)
		}
	}
	if err := r.spread(ctx, told, known[:1]); err != nil {
		return "", err
	}
	if len(known) > 1 {
		if err := r.n.secrets.replace(known.Prints(), known[:1].Text()); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("all nodes (%d) have the new secret, and accept the old one no more", len(told)+1), nil
}

// memberSecrets is what another node has told.
type memberSecrets struct {
	meta.Node
	secretAnswer
}

// look asks all other nodes. All must answer: who is not there would be locked out.
func (r *rotation) look(ctx context.Context) ([]memberSecrets, error) {
	var told []memberSecrets
	for _, m := range r.n.Machine.View().Nodes {
		if m.ID != r.n.Self.ID() {
			told = append(told, memberSecrets{Node: m})
		}
	}
	errs := make([]error, len(told))
	var wait sync.WaitGroup
	for i := range told {
		wait.Go(func() { told[i].secretAnswer, errs[i] = r.ask(ctx, told[i].Node, secretQuestion{}) })
	}
	wait.Wait()
	for i, err := range errs {
		if err == nil && len(told[i].Prints) == 0 {
			err = errors.New("it tells of none")
		}
		if err != nil {
			return nil, fmt.Errorf("the secret is changed only where every node takes part, and %s does not: %w", told[i].Name, err)
		}
	}
	return told, nil
}

// spread has all other nodes accept these secrets that do not.
func (r *rotation) spread(ctx context.Context, told []memberSecrets, list secret.List) error {
	for _, m := range told {
		if slices.Equal(m.Prints, list.Prints()) {
			continue
		}
		a, err := r.ask(ctx, m.Node, secretQuestion{Was: m.Prints, List: list.Text()})
		if err != nil {
			// The connection may have been closed for what has come over it.
			a, err = r.ask(ctx, m.Node, secretQuestion{})
		}
		if err == nil && !slices.Equal(a.Prints, list.Prints()) {
			err = errors.New(a.Refusal)
		}
		if err != nil {
			return fmt.Errorf("%w: %s has not taken the new secret: %w; what the nodes accept they have in common, and this node has to be told again", client.ErrHalfDone, m.Name, err)
		}
	}
	return nil
}

func (r *rotation) ask(ctx context.Context, m meta.Node, q secretQuestion) (secretAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	payload, err := json.Marshal(q)
	if err != nil {
		return secretAnswer{}, err
	}
	answer, err := r.n.Transport.Call(ctx, transport.Target(string(m.ID), m.PeerAddr), kindSecret, payload)
	var a secretAnswer
	if err == nil {
		err = json.Unmarshal(answer, &a)
	}
	return a, err
}

// rotationStep is what is to be done next.
type rotationStep uint8

const (
	// rotateBegin: all nodes have the same secret, and no other.
	rotateBegin rotationStep = iota
	// rotateSpread: this node has a new secret and the old one, and others may have the
	// old one alone.
	rotateSpread
	// rotateFinish: this node has the new secret alone, and others have the old one, too.
	rotateFinish
)

// planRotation finds out how far a change of the secret has come. It goes on only
// where the node began it: another node does not know the new secret.
func planRotation(own secretAnswer, told []memberSecrets) (rotationStep, error) {
	all := append([]memberSecrets{{Node: meta.Node{Name: "this node"}, secretAnswer: own}}, told...)
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
