package powercut

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
)

// contents is the content of the stores: the log, the newest snapshot, the term and the vote.
type contents struct {
	// first and last are the ends of the log, 0 when it is empty.
	first, last    uint64
	records        map[uint64]record
	snap, snapTerm uint64
	term           uint64
	vote           vote
}

// observe reads the whole content of the stores, and checks every byte that can be checked without
// knowing the expected content.
func observe(s *stores) (c contents, err error) {
	if c.first, err = s.Log.FirstIndex(); err != nil {
		return c, err
	}
	if c.last, err = s.Log.LastIndex(); err != nil {
		return c, err
	}
	c.records = map[uint64]record{}
	for i := c.first; i <= c.last && c.last > 0; i++ {
		var l raft.Log
		if err := s.Log.GetLog(i, &l); err != nil {
			return c, fmt.Errorf("entry %d of %d to %d: %w", i, c.first, c.last, err)
		}
		if l.Index != i {
			return c, fmt.Errorf("under index %d stands entry %d", i, l.Index)
		}
		if c.records[i], err = recordOf(&l); err != nil {
			return c, err
		}
	}
	if err := c.observeSnapshot(s.Snapshots); err != nil {
		return c, err
	}
	return c, c.observeStable(s.Stable)
}

func (c *contents) observeSnapshot(s *raftio.Snapshots) error {
	all, err := s.List()
	if err != nil || len(all) == 0 {
		return err
	}
	c.snap, c.snapTerm = all[0].Index, all[0].Term
	_, r, err := s.Open(all[0].ID)
	if err != nil {
		return err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err == nil && string(text) != snapshotText(c.snap) {
		err = fmt.Errorf("the snapshot of %d has another content", c.snap)
	}
	return err
}

func (c *contents) observeStable(s raft.StableStore) (err error) {
	var absent error
	get := func(n uint64, err error) uint64 {
		if err != nil && err.Error() != "not found" {
			absent = err
		}
		return n
	}
	c.term = get(s.GetUint64(keyTerm))
	c.vote.Term = get(s.GetUint64(keyVoteTerm))
	candidate, err := s.Get(keyCandidate)
	get(0, err)
	c.vote.Candidate = string(candidate)
	return absent
}

// history holds the acknowledged content, and the operations under way.
type history struct {
	// base is the content without the operations under way.
	base   contents
	flying []op
}

func newHistory(c contents) *history { return &history{base: c} }

// take processes a line of the worker, and returns the op that the line acknowledges.
func (h *history) take(text []byte) (acked *op, err error) {
	var o op
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, err
	}
	if o.Verb == verbOpened {
		return nil, h.opened(o)
	}
	if !o.Acked {
		h.flying = append(h.flying, o)
		return nil, nil
	}
	i := slices.IndexFunc(h.flying, func(f op) bool { return f.ID == o.ID })
	if i < 0 {
		return nil, fmt.Errorf("%d was acknowledged and never begun", o.ID)
	}
	o = h.flying[i]
	h.base.apply(o)
	h.flying = slices.Delete(h.flying, i, i+1)
	return &o, nil
}

// apply applies an acknowledged op.
func (c *contents) apply(o op) {
	switch o.Verb {
	case verbAppend:
		if c.last == 0 {
			c.first, c.records = o.Records[0].Index, map[uint64]record{}
		}
		for _, r := range o.Records {
			c.records[r.Index], c.last = r, r.Index
		}
	case verbCut:
		c.within(c.first, o.Index-1)
	case verbTrim:
		c.within(o.Index+1, c.last)
	case verbSnapshot:
		c.snap, c.snapTerm = o.Index, o.Term
		if o.Index > c.last {
			// A log that ends before its snapshot is deleted.
			c.within(1, 0)
		}
	case verbTerm:
		c.term = o.Term
	case verbVote:
		c.vote = o.Vote
	}
}

// within deletes all entries outside a range.
func (c *contents) within(first, last uint64) {
	for i := range c.records {
		if i < first || i > last {
			delete(c.records, i)
		}
	}
	c.first, c.last = first, last
	if first > last {
		c.first, c.last = 0, 0
	}
}

// opened handles a line that says that the worker was killed, or closed the stores, and has opened
// them again. The content that it found must be allowed, and becomes the new base, because Raft
// would rely on all of it.
func (h *history) opened(o op) error {
	found := contents{first: o.First, last: o.Last, records: map[uint64]record{}, snap: o.Index, term: o.Term, vote: o.Vote}
	h.land(found.snap)
	known := h.known()
	for i := o.First; i <= o.Last && o.Last > 0; i++ {
		found.records[i] = known[i]
	}
	found.snapTerm = h.base.snapTerm
	if err := h.allows(found); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	h.base, h.flying = found, nil
	return nil
}

// land records that a snapshot under way has been completed.
func (h *history) land(snap uint64) {
	i := slices.IndexFunc(h.flying, func(f op) bool { return f.Verb == verbSnapshot && f.Index == snap })
	if i < 0 {
		return
	}
	c := h.base
	c.records = maps.Clone(c.records)
	c.apply(h.flying[i])
	h.base, h.flying = c, slices.Delete(slices.Clone(h.flying), i, i+1)
}

// known are the records that may exist.
func (h *history) known() map[uint64]record {
	all := maps.Clone(h.base.records)
	for _, f := range h.flying {
		for _, r := range f.Records {
			all[r.Index] = r
		}
	}
	return all
}

// span says where the ends of the log may be. If emptied is set, the log may also be empty.
type span struct {
	firstMin, firstMax, lastMin, lastMax uint64
	emptied                              bool
}

func (h *history) span() span {
	b := &h.base
	s := span{b.first, b.first, b.last, b.last, b.last == 0}
	for _, f := range h.flying {
		switch f.Verb {
		case verbTrim:
			s.firstMax = f.Index + 1
			s.emptied = s.emptied || f.Index >= b.last
		case verbCut:
			s.lastMin = f.Index - 1
			s.emptied = s.emptied || f.Index <= b.first
		case verbAppend:
			index := f.Records[0].Index
			end := f.Records[len(f.Records)-1].Index
			if b.last == 0 {
				s = span{index, index, index, end, true}
			} else {
				s.lastMax = end
			}
		}
	}
	return s
}

// allows checks that the content that was found has all acknowledged data, and beyond that only a
// first part of the operations under way.
func (h *history) allows(found contents) error {
	h = &history{h.base, h.flying}
	h.land(found.snap)
	s := h.span()
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if found.last == 0 {
		if !s.emptied {
			bad("the log is empty, not %d to %d", s.firstMin, s.lastMin)
		}
	} else if found.first < s.firstMin || found.first > s.firstMax || found.last < s.lastMin || found.last > s.lastMax {
		bad("the log is %d to %d, not %d..%d to %d..%d", found.first, found.last, s.firstMin, s.firstMax, s.lastMin, s.lastMax)
	}
	known := h.known()
	for i, r := range found.records {
		if r != known[i] {
			bad("entry %d is %+v, not %+v", i, r, known[i])
		}
	}
	h.allowsRest(found, bad)
	if len(errs) > 0 {
		errs = append(errs, fmt.Errorf("under way: %s", h.describe()))
	}
	return errors.Join(errs...)
}

// allowsRest checks everything except the log.
func (h *history) allowsRest(found contents, bad func(string, ...any)) {
	term, vote := found.term == h.base.term, found.vote == h.base.vote
	for _, f := range h.flying {
		term = term || f.Verb == verbTerm && found.term == f.Term
		vote = vote || f.Verb == verbVote && found.vote == f.Vote
	}
	if found.snap != h.base.snap {
		bad("the snapshot is of %d, not %d", found.snap, h.base.snap)
	}
	if !term {
		bad("the term is %d, not %d", found.term, h.base.term)
	}
	if !vote {
		bad("the vote is %v, not %v", found.vote, h.base.vote)
	}
}

func (h *history) describe() string {
	var all []string
	for _, f := range h.flying {
		f.Records = nil
		all = append(all, strings.TrimSpace(string(f.line())))
	}
	return fmt.Sprint(all)
}
