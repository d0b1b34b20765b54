package raftio

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

func TestAPledgeIsKept(t *testing.T) {
	p := Pledge{Voted: 5, LastTerm: 4, LastIndex: 40}
	for _, c := range []struct {
		what                      string
		term, lastTerm, lastIndex uint64
		refused                   bool
	}{
		{"an empty log", 9, 0, 0, true}, {"a shorter log", 9, 4, 39, true}, {"a longer log of an older term", 9, 3, 90, true},
		{"the same log", 9, 4, 40, false}, {"a shorter log of a newer term", 9, 5, 7, false}, {"a term in which it voted", 5, 6, 60, true}, {"the next", 6, 6, 60, false},
	} {
		if err := p.check(c.term, c.lastTerm, c.lastIndex); errors.Is(err, errPledged) != c.refused || !c.refused && err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	if err := (Pledge{}).check(1, 0, 0); err != nil {
		t.Errorf("a replica that has promised nothing: %v", err)
	}
	if both, want := p.And(Pledge{Voted: 3, LastTerm: 5, LastIndex: 2}), (Pledge{5, 5, 2}); both != want {
		t.Errorf("both: %+v, not %+v", both, want)
	}
	if both, want := p.And(Pledge{Voted: 7, LastTerm: 4, LastIndex: 2}), (Pledge{7, 4, 40}); both != want {
		t.Errorf("both: %+v, not %+v", both, want)
	}
}

// No request for a vote reaches Raft, and Raft's own requests reach no node.
func TestWhoKeepsAPledgeHearsOfNoCandidateBelowIt(t *testing.T) {
	p := partiesOf(t)
	pledge := Pledge{Voted: 5, LastTerm: 4, LastIndex: 40}
	ask := func(from, to *Transport, addr raft.ServerAddress, id raft.ServerID, last uint64) {
		t.Helper()
		vote := &raft.RequestVoteRequest{RPCHeader: heartbeat(9).RPCHeader, Term: 9, LastLogTerm: 4, LastLogIndex: last}
		pre := &raft.RequestPreVoteRequest{RPCHeader: heartbeat(9).RPCHeader, Term: 9, LastLogTerm: 4, LastLogIndex: last}
		for what, err := range map[string]error{
			"a vote":     from.RequestVote(id, addr, vote, &raft.RequestVoteResponse{}),
			"a pre-vote": from.RequestPreVote(id, addr, pre, &raft.RequestPreVoteResponse{}),
		} {
			if refused := err != nil && strings.Contains(err.Error(), errPledged.Error()); refused != (last < 40) || err != nil && !refused {
				t.Errorf("%s with %d entries: %v", what, last, err)
			}
		}
	}
	for _, last := range []uint64{0, 39, 40} {
		p.hears.pledge, p.old.pledge = pledge, Pledge{}
		ask(p.newer, p.hears, p.hearerAddr, "c", last)
		p.hears.pledge, p.old.pledge = Pledge{}, pledge
		ask(p.old, p.hears, p.hearerAddr, "c", last)
	}
}

// The contents of a replica's stores are its promise.
func TestThePledgeOfStores(t *testing.T) {
	for _, kind := range bothKinds {
		t.Run(kind, func(t *testing.T) {
			s, _ := opened(t, t.TempDir(), kind)
			pledge := func(want Pledge) {
				t.Helper()
				if got, err := s.Pledge(); got != want || err != nil {
					t.Errorf("%+v, %v; not %+v", got, err, want)
				}
			}
			pledge(Pledge{})
			must(t, s.Stable.SetUint64([]byte(keyVoteTerm), 7))
			must(t, s.Stable.Set([]byte(keyVoteCand), []byte("a:1")))
			pledge(Pledge{Voted: 7})
			must(t, s.Log.StoreLogs([]*raft.Log{{Index: 1, Term: 2, Data: []byte("x")}, {Index: 2, Term: 3, Data: []byte("y")}}))
			pledge(Pledge{7, 3, 2})
			sink, err := s.Snapshots.Create(1, 9, 6, raft.Configuration{}, 1, nil)
			must(t, err)
			must(t, sink.Close())
			pledge(Pledge{7, 6, 9})
		})
	}
}
