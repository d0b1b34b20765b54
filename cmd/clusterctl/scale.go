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
		Short: "Remove the numbered nodes from N on, the highest first",
		Long: `Remove the numbered nodes from N on, the highest first, before their supervisor
stops them. Of the nodes NAME-0 to NAME-4, --to 3 removes NAME-4 and NAME-3. Nodes
with other names stay. The command never adds a node. If no node has to go, it
does nothing.

It is refused unless all nodes that stay answer and every group has a leader. It
removes one node after the other, and is refused at the first that would lose a
quorum.`,
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
	cmd.Flags().IntVar(&to, "to", 0, "number of nodes that stay")
	cmd.Flags().StringVar(&prefix, "prefix", "", "beginning of the nodes' names, before the number")
	sure.flag(cmd)
	wait.flag(cmd)
	return cmd
}

// scaleAttempts is how often in a row a node may fail to answer during a removal. The address often
// stands for all nodes and may lead to one that was just removed; the next attempt reaches another
// one.
const scaleAttempts = 5

// scaleDown removes nodes one after the other, and prints one result for all. After an order
// without an answer it asks which nodes are left, and continues from there. Once an order may have
// been carried out, it reports no error as a refusal.
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
		// The node that got the order may itself have been removed before it answered.
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
		// The node that answers may not know yet about the removal by another one.
		names = slices.DeleteFunc(names, func(name string) bool { return gone[name] })
	}
	return o.say(cmd, strings.Join(done, "; "))
}

// pause waits. It returns false if the program is to end.
func pause(cmd *cobra.Command, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-cmd.Context().Done():
		return false
	}
}

// surplus returns the names of the nodes to remove now.
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

// surplus returns the names of the numbered nodes from to on, the highest first. It
// returns an error if no node may be removed now.
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
