package shard

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// recover makes the remaining nodes the servers of a stopped node's replica.
func (n *testNode) recover(remain ...*testNode) {
	n.w.t.Helper()
	var servers []Member
	for _, m := range remain {
		servers = append(servers, Member{ID: m.id, Addr: raft.ServerAddress(m.door.addr), Voter: true})
	}
	n.w.must(RecoverGroup(n.stopped(&counter{}), servers, nil))
}

// stopped is the configuration for reading the folder of a node that does not run.
func (n *testNode) stopped(sm StateMachine) GroupConfig {
	return GroupConfig{
		ID: 3, Dir: n.dir, LogStore: n.store, LocalID: n.id, LocalAddr: raft.ServerAddress(n.door.addr), SM: sm,
		HeartbeatMs: testHeartbeatMs, ElectionMs: testHeartbeatMs, SnapshotEntries: 1 << 20, Fatal: n.fatal, Log: n.log(),
	}
}

// One of the two remaining nodes once led and accepted entries that no other node got: its log is
// longer, the other's is newer. They continue with the newer one.
func TestTwoThatRemainGoOnThoughTheirLogsDiffer(t *testing.T) {
	t.Parallel()
	for _, store := range bothStores {
		t.Run(store, func(t *testing.T) {
			w := newWorld(t, 5, store, nil)
			w.write(10)
			w.agree()
			const alone = 20
			var longer *testNode
			var others []*testNode
			w.until("entries that nobody gets", func() bool {
				longer = w.leader()
				others = w.others(longer)
				last := longer.group.Stats().LastIndex
				cutOff([]*testNode{longer}, others, true)
				for i := range alone {
					longer.group.Propose(fmt.Appendf(nil, "alone %d", i), func(error) {})
				}
				w.until("it has them, or leads no more", func() bool {
					return longer.group.Stats().LastIndex >= last+alone || !longer.group.IsLeader()
				})
				if longer.group.Stats().LastIndex >= last+alone {
					return true
				}
				cutOff([]*testNode{longer}, others, false)
				return false
			})
			for _, n := range w.nodes {
				n.stop()
			}
			cutOff([]*testNode{longer}, others, false)
			for _, n := range others {
				n.start()
			}
			w.write(3, others...)
			w.agree(others...)
			for _, n := range others {
				n.stop()
			}
			newer := others[0]
			before := newer.sm.entries()
			for _, n := range []*testNode{longer, newer} {
				n.recover(longer, newer)
			}
			w.nodes = []*testNode{longer, newer}
			longer.start()
			newer.start()
			w.write(3)
			w.agree()
			// A write with an unknown outcome is repeated.
			if got := longer.sm.entries(); got < before+3 || got >= before+alone {
				t.Errorf("%d entries after %d, and %d that nobody got", got, before, alone)
			}
			// Everything that other nodes know of the lost nodes is older than what comes now.
			if at := newer.group.Stats(); at.Term <= eraTerms || at.CommitIndex <= eraEntries {
				t.Errorf("they go on at %+v", at)
			}
		})
	}
}

// An interrupted recovery is judged by the servers in the snapshot, so the term must belong to the
// next era before the snapshot exists.
func TestARecoveryRaisesTheTermBeforeAllElse(t *testing.T) {
	for _, store := range bothStores {
		w := newWorld(t, 1, store, nil)
		w.write(3)
		n := w.nodes[0]
		n.stop()
		cfg := n.stopped(&counter{})
		cut := errors.New("cut short")
		members := []Member{{ID: n.id, Addr: raft.ServerAddress(n.door.addr), Voter: true}}
		if err := RecoverGroup(cfg, members, func() error { return cut }); err == nil || !strings.Contains(err.Error(), cut.Error()) {
			t.Fatal(err)
		}
		stores, err := openStopped(&cfg)
		w.must(err)
		term, err := stores.Stable.GetUint64(keyTerm)
		w.must(errors.Join(err, stores.Close()))
		if term <= eraTerms {
			t.Errorf("%s: it is in term %d", store, term)
		}
	}
}
