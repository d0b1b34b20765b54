package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"lockstep/node"
	"lockstep/node/status"
)

// options are the flags that every verb has.
type options struct {
	addrs    []string
	password string
	timeout  time.Duration
}

func newRoot() *cobra.Command {
	opt := &options{}
	root := &cobra.Command{
		Use:           "clusterctl",
		Short:         "Look at and change a Lockstep cluster",
		Version:       node.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	f := root.PersistentFlags()
	f.StringSliceVarP(&opt.addrs, "addr", "a", []string{"127.0.0.1:6379"}, "client address of a node; several: the first that answers is asked")
	f.StringVar(&opt.password, "password", "", "password of the nodes (also from LOCKSTEP_PASSWORD)")
	f.DurationVar(&opt.timeout, "timeout", 5*time.Second, "how long a node may take to answer")
	root.AddCommand(newStatus(opt), newJoin(opt), newRemove(opt), newLeave(opt), newTransfer(opt), newSnapshot(opt), newDemo())
	return root
}

// errNoAnswer: no node at the given addresses answered.
var errNoAnswer = errors.New("no node answers")

// ask sends one command to the first node that answers.
func (o *options) ask(ctx context.Context, args ...any) (string, error) {
	var reasons []string
	for _, addr := range o.addrs {
		reply, err := askOne(ctx, addr, o.password, o.timeout, args...)
		if err == nil {
			return reply, nil
		}
		if isReply(err) {
			return "", err
		}
		reasons = append(reasons, fmt.Sprintf("%s: %v", addr, err))
	}
	return "", fmt.Errorf("%w (%s)", errNoAnswer, strings.Join(reasons, "; "))
}

// isReply tells an error reply of a node from a failure to reach it.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

func askOne(ctx context.Context, addr, password string, timeout time.Duration, args ...any) (string, error) {
	client := redis.NewClient(&redis.Options{
		Addr: addr, Password: password, DialTimeout: timeout, ReadTimeout: timeout, MaxRetries: -1,
		DisableIdentity: true, Protocol: 2,
	})
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return client.Do(ctx, args...).Text()
}

// status asks for the cluster's status.
func (o *options) status(ctx context.Context) (*status.Cluster, error) {
	text, err := o.ask(ctx, "LOCKSTEP", "STATUS")
	if err != nil {
		return nil, err
	}
	var c status.Cluster
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, fmt.Errorf("a node's status makes no sense: %w", err)
	}
	return &c, nil
}
