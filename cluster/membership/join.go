package membership

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/cluster/meta/leaderrpc"
	"lockstep/cluster/secret"
)

// Caller sends a request to another node, which may belong to another cluster or to none.
type Caller interface {
	Call(ctx context.Context, addr string, kind uint8, payload []byte) ([]byte, error)
}

// JoinRequest is what a node says about itself when it asks to join.
type JoinRequest struct {
	Node meta.Node `json:"node"`
	// Replace is true if the node takes the place of the one with the same name.
	Replace bool `json:"replace,omitempty"`
	// Knows is the newest cluster version that the node knows; Join fills it in.
	Knows int `json:"knows"`
	// Architecture is that of the node's processor (identity.Processor); Join fills it in.
	Architecture string `json:"architecture"`
}

// Welcome is the information that a joining node needs.
type Welcome struct {
	ClusterID string `json:"cluster_id"`
	// Version is the cluster's version.
	Version  int           `json:"cluster_version"`
	Creation meta.Creation `json:"creation"`
	Epoch    uint64        `json:"epoch"`
	Nodes    []meta.Node   `json:"nodes"`
	Shards   []meta.Shard  `json:"shards"`
	// Secret has the cluster's secrets (secret.List.Text), if the joining node came without one and
	// was let in.
	Secret string `json:"secret,omitempty"`
}

const (
	// joinTimeout bounds one attempt to join through one node.
	joinTimeout = 10 * time.Second
	joinPause   = 200 * time.Millisecond
	joinPauseMx = 3 * time.Second
	// joinSayEvery is how often a join without progress is logged.
	joinSayEvery = 5 * time.Second
)

// Join asks the nodes at addrs, in turn. It ends when a node lets this one in, a node refuses for
// good (a *leaderrpc.Refusal), none of addrs is a peer port (secret.ErrOtherPort), or ctx ends. A
// second Join, also after a crash, gets the same answer.
func Join(ctx context.Context, caller Caller, addrs []string, req JoinRequest, log *slog.Logger) (Welcome, error) {
	if len(addrs) == 0 {
		return Welcome{}, errors.New("nobody to join: no address was given")
	}
	req.Knows, req.Architecture = meta.KnownVersion(), identity.Processor()
	var said time.Time
	astray := map[string]bool{}
	for attempt := 0; ; attempt++ {
		addr := addrs[attempt%len(addrs)]
		w, err := knockToJoin(ctx, caller, addr, req)
		var refusal *leaderrpc.Refusal
		if err == nil {
			return w, nil
		}
		if errors.As(err, &refusal) && !errors.Is(err, meta.ErrNotCreated) {
			return Welcome{}, fmt.Errorf("%s refused: %w", addr, err)
		}
		astray[addr] = errors.Is(err, secret.ErrOtherPort)
		if allAstray(astray, addrs) {
			return Welcome{}, fmt.Errorf("of the addresses to join none is a peer port: %w", err)
		}
		if time.Since(said) >= joinSayEvery {
			said = time.Now()
			log.Info("not taken in yet, asking again", "asked", addr, "of", strings.Join(addrs, ","), "error", err)
		}
		pause := time.Duration(0)
		if round := attempt / len(addrs); attempt%len(addrs) == len(addrs)-1 {
			pause = min(joinPause<<min(round, 10), joinPauseMx)
		}
		if !sleep(ctx, pause) {
			return Welcome{}, fmt.Errorf("no node of %s took this one in: %w (last: %v)", strings.Join(addrs, ", "), ctx.Err(), err)
		}
	}
}

// allAstray reports whether the last answer at each address came from something that is not a peer
// port.
func allAstray(astray map[string]bool, addrs []string) bool {
	return !slices.ContainsFunc(addrs, func(addr string) bool { return !astray[addr] })
}

func knockToJoin(ctx context.Context, caller Caller, addr string, req JoinRequest) (Welcome, error) {
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	var w Welcome
	err := ask(ctx, caller, addr, knockJoin, req, &w)
	if err == nil && (w.ClusterID == "" || w.Creation.Validate() != nil) {
		err = fmt.Errorf("%s gave an unusable welcome", addr)
	}
	return w, err
}

// ask sends a knock and reads the answer.
func ask(ctx context.Context, caller Caller, addr, verb string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	payload, err := json.Marshal(knock{Verb: verb, Body: raw})
	if err != nil {
		return err
	}
	reply, err := caller.Call(ctx, addr, KindKnock, payload)
	if err != nil {
		return err
	}
	if len(reply) == 0 {
		return errors.New("the node is just starting, and takes nobody in yet")
	}
	var a knockAnswer
	if err := json.Unmarshal(reply, &a); err != nil {
		return fmt.Errorf("unreadable answer: %w", err)
	}
	switch {
	case a.Refusal != nil:
		return a.Refusal
	case a.Again != "":
		return errors.New(a.Again)
	}
	if err := json.Unmarshal(a.Body, into); err != nil {
		return fmt.Errorf("unreadable answer: %w", err)
	}
	return nil
}

// sleep waits for d, or returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return ctx.Err() == nil
	}
}
