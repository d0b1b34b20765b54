package shard

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"

	"lockstep/cluster"
)

// Only of an entry that never reached a log does the error say that it was not proposed.
func TestWhatAnErrorSaysOfAProposal(t *testing.T) {
	for _, c := range []struct {
		err     error
		unknown bool
	}{
		{raft.ErrNotLeader, false},
		{raft.ErrEnqueueTimeout, false},
		{raft.ErrLeadershipTransferInProgress, false},
		{raft.ErrLeadershipLost, true},
		{raft.ErrRaftShutdown, true},
		{raft.ErrAbortedByRestore, true},
		{errors.New("no space left on device"), true},
	} {
		err := classify(c.err)
		if errors.Is(err, ErrNotProposed) == c.unknown || errors.Is(err, ErrOutcomeUnknown) != c.unknown || !errors.Is(err, c.err) {
			t.Errorf("%v: %v", c.err, err)
		}
		want := cluster.ErrNotLeader
		if c.unknown {
			want = cluster.ErrUnknown
		}
		if got := proposeError(err); !errors.Is(got, want) {
			t.Errorf("%v: the gateway is told %v", c.err, got)
		}
	}
	if classify(nil) != nil {
		t.Error("what is committed has failed")
	}
	if got := proposeError(ErrEntryTooLong); !errors.Is(got, cluster.ErrTooLarge) {
		t.Errorf("an entry that is too long: %v", got)
	}
}
