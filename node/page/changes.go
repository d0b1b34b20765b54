package page

import (
	"cmp"
	"slices"
	"sync"
)

// Change is a change of a group's leader.
type Change struct {
	// AtMs is when it was noticed, in Unix time.
	AtMs int64 `json:"at_ms"`
	// Group is "meta" or the shard's number.
	Group string `json:"group"`
	Term  uint64 `json:"term"`
	// From led before, as far as is known, and To leads since: names of nodes. They
	// are the same where a leader was elected again.
	From string `json:"from,omitempty"`
	To   string `json:"to"`
}

// changesKept bounds the changes that are kept and shown.
const changesKept = 64

// Changes are the newest changes of leaders that a node has noticed. Its zero
// value is ready, and any goroutine may use it.
type Changes struct {
	mu    sync.Mutex // guards known, list
	known map[string]Change
	list  []Change
}

// See tells who leads a group. The first that is heard of a group is no change: it
// may have been so for long.
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

// All are the changes, oldest first.
func (c *Changes) All() []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// merge makes one list, newest first, of what several nodes noticed. A term has
// one leader, so what two tell of one term is the same change, and who noticed
// it first is nearest to the truth. Who led before is who led in the term before
// that anybody has noticed.
func merge(told [][]Change) []Change {
	all := slices.Concat(told...)
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
