package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/node/status"
)

func newScale(opt *options) *cobra.Command {
	var to int
	var prefix string
	var sure confirmation
	var wait patience
	cmd := &cobra.Command{
		Use:   "scale --to N --prefix NAME-",
		Short: "Take out the numbered nodes from N on, the highest first",
		Long: `Take out the numbered nodes from N on, the highest first, before whoever runs
them stops them: of nodes called NAME-0 to NAME-4, --to 3 removes NAME-4 and
NAME-3. Nodes with other names are left alone. It never adds a node, and where
nothing is surplus it does nothing.

It is refused unless all nodes that are to stay answer and every group has a
leader. Each removal is waited for before the next one, and is refused where a
quorum would be lost.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to < 1 || prefix == "" {
				return errors.New("say --to N, at least 1, and the --prefix of the nodes' names")
			}
			names, err := opt.surplus(cmd, prefix, to)
			if err != nil {
				return err
			}
			if len(names) == 0 {
				return opt.say(cmd, fmt.Sprintf("no node %s%d or above belongs to the cluster: nothing to remove", prefix, to))
			}
			if err := sure.ask(cmd, fmt.Sprintf("Remove %s? Their data folders will never be accepted again.", strings.Join(names, ", "))); err != nil {
				return err
			}
			return opt.scaleDown(cmd, &wait, prefix, to, names)
		},
	}
	cmd.Flags().IntVar(&to, "to", 0, "number of nodes that are to stay")
	cmd.Flags().StringVar(&prefix, "prefix", "", "what the nodes' names begin with, before the number")
	sure.flag(cmd)
	wait.flag(cmd)
	return cmd
}

// scaleAttempts is how often in a row a node may fail to answer while others are
// removed. The address is often that of all nodes, and one that was just removed
// may be asked: who asks again meets another.
const scaleAttempts = 5

// scaleDown removes nodes one after the other, and prints what became of them as
// one. After an order without an answer it looks who is there, and goes on from
// that. An error behind the first order that may have been done is no refusal.
func (o *options) scaleDown(cmd *cobra.Command, wait *patience, prefix string, to int, names []string) error {
	var done []string
	gone, unsure := map[string]bool{}, ""
	for failed := 0; len(names) > 0; {
		reply, err := o.letGo(cmd, wait, departure{node: names[0]})
		if reply != "" {
			done = append(done, reply)
		}
		if err == nil {
			gone[names[0]], failed = true, 0
			names = names[1:]
			continue
		}
		// The node that was asked may be the one that went, before it could answer.
		var unknown uncertain
		again := reply == "" && errors.As(err, &unknown)
		if again {
			unsure = names[0] + " may have been removed"
		}
		for failed++; (again || errors.Is(err, errNoAnswer)) && failed < scaleAttempts && pause(cmd, followEvery); failed++ {
			fmt.Fprintln(stderr(cmd), "...", err)
			again = false
			if names, err = o.surplus(cmd, prefix, to); err == nil {
				break
			}
		}
		switch {
		case err != nil && len(done) > 0:
			return uncertain{fmt.Errorf("%s; then: %w", strings.Join(done, "; "), err)}
		case err != nil && unsure != "":
			return uncertain{fmt.Errorf("%s; then: %w", unsure, err)}
		case err != nil:
			return err
		}
		// Who answers may not have heard yet of what another has done.
		names = slices.DeleteFunc(names, func(name string) bool { return gone[name] })
	}
	return o.say(cmd, strings.Join(done, "; "))
}

// pause waits; false: the program is to end.
func pause(cmd *cobra.Command, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-cmd.Context().Done():
		return false
	}
}

// surplus are the names of the nodes that are to go now.
func (o *options) surplus(cmd *cobra.Command, prefix string, to int) ([]string, error) {
	c, err := o.status(cmd.Context())
	if err != nil {
		return nil, err
	}
	names, err := surplus(c, prefix, to)
	if err != nil {
		return nil, refused{err}
	}
	return names, nil
}

// surplus are the names of numbered nodes from to on, the highest first; an
// error if it is not the time to remove one.
func surplus(c *status.Cluster, prefix string, to int) ([]string, error) {
	ordinals := map[string]int{}
	var names, silent []string
	for i := range c.Nodes {
		n := &c.Nodes[i]
		number, ours := strings.CutPrefix(n.Name, prefix)
		ordinal, err := strconv.Atoi(number)
		if ours && err == nil && strconv.Itoa(ordinal) == number && ordinal >= to {
			ordinals[n.Name] = ordinal
			names = append(names, n.Name)
			continue
		}
		if !n.Reachable {
			silent = append(silent, n.Name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return ordinals[b] - ordinals[a] })
	switch {
	case len(names) == 0:
		return nil, nil
	case len(names) == len(c.Nodes):
		return nil, fmt.Errorf("no node would be left: all are called %s%d or above", prefix, to)
	case c.Health == status.NoQuorum:
		return nil, errors.New("a group has no leader; nothing can be removed before it has one")
	case len(silent) > 0:
		return nil, fmt.Errorf("%s, to stay, does not answer; bring it back first, or remove it by itself", strings.Join(silent, ", "))
	}
	return names, nil
}
