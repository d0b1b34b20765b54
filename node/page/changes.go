package page

import (
	"cmp"
	"slices"
	"sync"
)

// Change is a change of a group's leader.
type Change struct {
	// AtMs is when the change was noticed, in Unix time.
	AtMs int64 `json:"at_ms"`
	// Group is "meta" or the shard's number.
	Group string `json:"group"`
	Term  uint64 `json:"term"`
	// From is the previous leader, if known, and To the new one; both are names of nodes. They are
	// equal if a leader was elected again.
	From string `json:"from,omitempty"`
	To   string `json:"to"`
}

// changesKept bounds the changes that are kept and shown.
const changesKept = 64

// Changes holds the newest changes of leaders that a node has noticed. Its zero value is ready, and
// any goroutine may use it.
type Changes struct {
	mu    sync.Mutex // guards known, list
	known map[string]Change
	list  []Change
}

// See reports who leads a group. The first report on a group is no change, because the node may
// have led for a long time.
func (c *Changes) See(atMs int64, group string, term uint64, leader string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.known[group]
	if known && term <= before.Term {
		return
	}
	if c.known == nil {
		c.known = map[string]Change{}
	}
	now := Change{AtMs: atMs, Group: group, Term: term, From: before.To, To: leader}
	c.known[group] = now
	if known {
		c.list = append(c.list[max(0, len(c.list)-changesKept+1):], now)
	}
}

// All returns the changes, oldest first.
func (c *Changes) All() []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// merge combines the changes that several nodes noticed into one list, newest first. A term has one
// leader, so two reports with the same term are the same change, and the earliest of them is the
// most accurate. The previous leader is the leader of the latest earlier term that any node has
// reported.
func merge(lists [][]Change) []Change {
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Term, b.Term), cmp.Compare(a.AtMs, b.AtMs))
	})
	all = slices.CompactFunc(all, func(a, b Change) bool { return a.Group == b.Group && a.Term == b.Term })
	for i := 1; i < len(all); i++ {
		if all[i].Group == all[i-1].Group {
			all[i].From = all[i-1].To
		}
	}
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.AtMs, a.AtMs), cmp.Compare(a.Group, b.Group), cmp.Compare(b.Term, a.Term))
	})
	return all[:min(len(all), changesKept)]
}
