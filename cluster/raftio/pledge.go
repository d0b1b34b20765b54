package raftio

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// Pledge is what a replica has promised by votes and acknowledgements. One that is
// deleted leaves it to the next replica of the group on the same node, which has the
// same id: where a server does not know yet that the id was taken out, that one votes
// in the former's place, and counts as one that has what the former acknowledged. Empty,
// it would elect anybody, and with the first part of a log, which names it as a voter,
// it would stand for election itself; so it does neither with a log that the former
// would not have voted for, nor in a term in which the former voted. And a leader of a
// term that the former had left, which was suspended meanwhile, would go on leading with
// what it acknowledges; so it begins in that term (Stores.Honour).
type Pledge struct {
	// Voted is the newest term it voted in; LastTerm and LastIndex are those of its
	// last entry.
	Voted, LastTerm, LastIndex uint64
}

// Keeps reports whether the replica that has given the pledge may vote for a log with that end.
func (p Pledge) Keeps(lastTerm, lastIndex uint64) bool {
	return cmp.Or(cmp.Compare(lastTerm, p.LastTerm), cmp.Compare(lastIndex, p.LastIndex)) >= 0
}

// And is both pledges.
func (p Pledge) And(other Pledge) Pledge {
	if p.Keeps(other.LastTerm, other.LastIndex) {
		p.LastTerm, p.LastIndex = other.LastTerm, other.LastIndex
	}
	p.Voted = max(p.Voted, other.Voted)
	return p
}

// term is the newest term for which something was promised: by a vote in it, or by
// what was acknowledged of its leader's.
func (p Pledge) term() uint64 { return max(p.Voted, p.LastTerm) }

// Honour lets a replica begin in the newest term for which a former one has promised
// something. Raft must not run.
func (s *Stores) Honour(p Pledge) error {
	term, err := s.Stable.GetUint64(keyTerm)
	if err != nil && !absent(err) {
		return err
	}
	if term >= p.term() {
		return nil
	}
	return s.Stable.SetUint64(keyTerm, p.term())
}

var errPledged = errors.New("a former replica of this node has promised otherwise")

// check tells why a candidate may not be voted for.
func (p Pledge) check(term, lastTerm, lastIndex uint64) error {
	if term <= p.Voted && p.Voted > 0 || !p.Keeps(lastTerm, lastIndex) {
		return fmt.Errorf("%w: it voted in term %d and had entry %d of term %d; the candidate of term %d has %d of %d",
			errPledged, p.Voted, p.LastIndex, p.LastTerm, term, lastIndex, lastTerm)
	}
	return nil
}

// checkCandidate is check for what arrives or is about to be sent; what is no request
// for a vote passes.
func (p Pledge) checkCandidate(command any) error {
	switch c := command.(type) {
	case *raft.RequestVoteRequest:
		return p.check(c.Term, c.LastLogTerm, c.LastLogIndex)
	case *raft.RequestPreVoteRequest:
		return p.check(c.Term, c.LastLogTerm, c.LastLogIndex)
	}
	return nil
}

// Pledge is what the group's replica in these stores has promised. Raft must not run.
func (s *Stores) Pledge() (Pledge, error) {
	var p Pledge
	voted, err := s.Stable.GetUint64([]byte(keyVoteTerm))
	if err != nil && !absent(err) {
		return p, err
	}
	p.Voted = voted
	p.LastTerm, p.LastIndex, err = s.End()
	return p, err
}

// End is the last entry that is in the log or a snapshot.
func (s *Stores) End() (term, index uint64, err error) {
	all, err := s.Snapshots.List()
	if err != nil {
		return 0, 0, err
	}
	if len(all) > 0 {
		term, index = all[0].Term, all[0].Index
	}
	if _, last := s.log.ends(); last > index {
		var l raft.Log
		if err := s.Log.GetLog(last, &l); err != nil {
			return 0, 0, err
		}
		term, index = l.Term, l.Index
	}
	return term, index, nil
}
