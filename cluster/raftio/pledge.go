package raftio

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// Pledge is the promise that a replica has made by votes and acknowledgements. A replica
// that is deleted leaves it to the next replica of the group on the same node, which has
// the same id. A server that does not know yet that the id was removed lets the new
// replica vote in place of the old one, and counts on it to have the entries that the old
// one acknowledged. An empty replica would vote for any candidate, and with the first
// part of a log, which names it as a voter, it would stand for election itself. So it
// does neither with a log for which the old one would not have voted, nor in a term in
// which the old one voted. And a leader of a term that the old one had left, which was
// suspended meanwhile, would go on leading with the new one's acknowledgements. So the
// new one starts in the old one's term (Stores.Honour).
type Pledge struct {
	// Voted is the newest term in which it voted. LastTerm and LastIndex are those of its
	// last entry.
	Voted, LastTerm, LastIndex uint64
}

// Keeps reports whether a vote for a log with that end keeps the promise.
func (p Pledge) Keeps(lastTerm, lastIndex uint64) bool {
	return cmp.Or(cmp.Compare(lastTerm, p.LastTerm), cmp.Compare(lastIndex, p.LastIndex)) >= 0
}

// And returns a pledge that holds both promises.
func (p Pledge) And(other Pledge) Pledge {
	if p.Keeps(other.LastTerm, other.LastIndex) {
		p.LastTerm, p.LastIndex = other.LastTerm, other.LastIndex
	}
	p.Voted = max(p.Voted, other.Voted)
	return p
}

// term is the newest term of the promise: the term of a vote, or of an entry that was
// acknowledged.
func (p Pledge) term() uint64 { return max(p.Voted, p.LastTerm) }

// Honour makes a replica start in the newest term in which a former one has promised
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

// check says why the replica may not vote for a candidate.
func (p Pledge) check(term, lastTerm, lastIndex uint64) error {
	if term <= p.Voted && p.Voted > 0 || !p.Keeps(lastTerm, lastIndex) {
		return fmt.Errorf("%w: it voted in term %d and had entry %d of term %d; the candidate of term %d has %d of %d",
			errPledged, p.Voted, p.LastIndex, p.LastTerm, term, lastIndex, lastTerm)
	}
	return nil
}

// checkCandidate is check for a request that arrives or is about to be sent. It accepts
// any other command.
func (p Pledge) checkCandidate(command any) error {
	switch c := command.(type) {
	case *raft.RequestVoteRequest:
		return p.check(c.Term, c.LastLogTerm, c.LastLogIndex)
	case *raft.RequestPreVoteRequest:
		return p.check(c.Term, c.LastLogTerm, c.LastLogIndex)
	}
	return nil
}

// Pledge is the promise of the group's replica in these stores. Raft must not run.
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
