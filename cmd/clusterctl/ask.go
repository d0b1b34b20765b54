package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"lockstep/node/status"
)

// errNoAnswer is returned if no node at the given addresses answers.
var errNoAnswer = errors.New("no node answers")

// ask sends one command to the first node that answers.
func (o *options) ask(ctx context.Context, args ...any) (string, error) {
	_, reply, err := o.askFirst(ctx, args...)
	return reply, err
}

// answering is the first address at which a node answers.
func (o *options) answering(ctx context.Context) (string, error) {
	addr, _, err := o.askFirst(ctx, "PING")
	return addr, err
}

// askFirst is ask, and also returns the address of the node that answered.
func (o *options) askFirst(ctx context.Context, args ...any) (addr, reply string, err error) {
	var reasons []string
	for _, addr := range o.addrs {
		reply, err := o.askOne(ctx, addr, args...)
		switch {
		case err == nil:
			return addr, reply, nil
		case isReply(err):
			return "", "", err
		case ctx.Err() != nil:
			return "", "", ctx.Err()
		}
		reasons = append(reasons, fmt.Sprintf("%s: %v", addr, explained(err)))
	}
	return "", "", fmt.Errorf("%w (%s)", errNoAnswer, strings.Join(reasons, "; "))
}

// explained adds a hint if a node's certificate has expired: an operator who looks for
// the reason must still be able to connect.
func explained(err error) error {
	var invalid x509.CertificateInvalidError
	if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return fmt.Errorf("%w; --insecure, without --cacert, connects all the same", err)
	}
	return err
}

// isReply reports whether an error is a reply of a node, and not a failure to reach
// one.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// client is a client of one node. It never retries.
func (o *options) client(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Username: o.user, Password: o.password, DialTimeout: o.timeout, ReadTimeout: o.timeout, MaxRetries: -1,
		DisableIdentity: true, Protocol: 2, TLSConfig: o.secure.config,
	})
}

// askOne asks one node. It returns as soon as ctx ends; the client library alone would
// wait for its own timeouts.
func (o *options) askOne(ctx context.Context, addr string, args ...any) (string, error) {
	client := o.client(addr)
	defer client.Close()
	asking, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := client.Do(asking, args...).Text()
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// orderTimeout is how long an order may take: nodes wait for a quorum, or
// write a snapshot.
const orderTimeout = 60 * time.Second

// order sends a command that changes something to one node, once, and returns the
// reply. A node that does not answer may have begun the work.
func (o *options) order(ctx context.Context, args ...any) (string, error) {
	addr, err := o.answering(ctx)
	if err != nil {
		return "", err
	}
	long := *o
	long.timeout = max(o.timeout, orderTimeout)
	reply, err := long.askOne(ctx, addr, args...)
	if err != nil && !isReply(err) {
		return "", uncertain{fmt.Errorf("it is not known whether this was done: %w", err)}
	}
	return reply, err
}

// said is the output of a verb whose result is a sentence.
type said struct {
	Said string `json:"said"`
}

// orderAndSay sends an order and prints the answer.
func (o *options) orderAndSay(cmd *cobra.Command, args ...any) error {
	reply, err := o.order(cmd.Context(), args...)
	if err != nil {
		return err
	}
	return o.say(cmd, reply)
}

func (o *options) say(cmd *cobra.Command, text string) error {
	return o.print(cmd, said{text}, func() { fmt.Fprintln(cmd.OutOrStdout(), text) })
}

// status asks for the cluster's status.
func (o *options) status(ctx context.Context) (*status.Cluster, error) {
	var c status.Cluster
	return &c, o.askJSON(ctx, &c, "LOCKSTEP", "STATUS")
}

func (o *options) askJSON(ctx context.Context, into any, args ...any) error {
	text, err := o.ask(ctx, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("a node's answer cannot be read: %w", err)
	}
	return nil
}

// nodeNames completes the name of a node.
func (o *options) nodeNames(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, err := o.status(cmd.Context())
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range c.Nodes {
		names = append(names, c.Nodes[i].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// nodeNamed finds a node by name or id.
func nodeNamed(c *status.Cluster, name string) *status.Node {
	for i := range c.Nodes {
		if n := &c.Nodes[i]; n.Name == name || n.ID == name {
			return n
		}
	}
	return nil
}
