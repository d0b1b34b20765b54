package shard

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"lockstep/cluster/raftio"
	"lockstep/cluster/transport"
	"lockstep/tests/kit/ports"
	"lockstep/tests/kit/ring"
)

// founded returns a group that its first node has founded alone and that now has three nodes; the
// first does not lead. A busy machine causes no election.
func founded(t *testing.T, store string) (w *world, founder, leader *testNode) {
	w = newWorld(t, 1, store, steady)
	founder = w.nodes[0]
	w.write(5)
	for _, id := range []string{"n2", "n3"} {
		n := w.add(id, store, steady)
		n.start()
		w.until(id+" votes", func() bool {
			_ = founder.group.Changes().AddVoter(w.ctx(), n.id, raft.ServerAddress(n.door.addr), 0)
			return n.group.Votes()
		})
	}
	w.until("another leads", func() bool {
		if founder.group.IsLeader() {
			_ = founder.group.TransferTo(w.ctx(), "")
		}
		return !founder.group.IsLeader()
	})
	w.write(5)
	return w, founder, w.leader()
}

// removed removes a node and deletes its data. It returns the beginning of the node's log, in which
// the node is the only voter, and the promise that it left.
func (w *world) removed(n *testNode) (begin []*raft.Log, left raftio.Pledge) {
	w.t.Helper()
	w.agree()
	w.until("it is out", func() bool {
		leader := w.leader()
		if leader == n {
			_ = n.group.TransferTo(w.ctx(), "")
			return false
		}
		_ = leader.group.Changes().Remove(w.ctx(), n.id, 0)
		return !leader.group.latest.has(n.id)
	})
	w.write(5, w.others(n)...)
	for i := uint64(1); i <= 4; i++ {
		l := &raft.Log{}
		w.must(n.group.parts.stores.Log.GetLog(i, l))
		begin = append(begin, l)
	}
	n.stop()
	left = n.group.Left()
	n.dir = w.t.TempDir()
	return begin, left
}

// A replica was deleted and comes again. Its leader has sent it the first part of the log, and then
// falls silent: that part names the replica as the only voter. It must not lead. When the leader
// continues, the replica follows and votes again.
func TestAReplicaThatCameAgainDoesNotLeadWithAPartOfTheLog(t *testing.T) {
	t.Parallel()
	for _, store := range bothStores {
		t.Run(store, func(t *testing.T) {
			w, founder, _ := founded(t, store)
			w.unequal = true
			begin, left := w.removed(founder)
			stores, err := raftio.OpenStores(&raftio.StoresConfig{
				Dir: founder.dir, Kind: store, Log: raftio.NewLogger(founder.log(), "test"),
				Guards: raftio.Guards{StallLimit: time.Minute, Fatal: founder.fatal},
			})
			w.must(err)
			w.must(stores.Stable.SetUint64([]byte("CurrentTerm"), begin[len(begin)-1].Term))
			w.must(stores.Log.StoreLogs(begin))
			w.must(stores.Close())
			founder.set = func(c *GroupConfig) { c.Pledge = left }
			founder.start()
			if voters := founder.group.Voters(); voters != 1 || !founder.group.Votes() {
				t.Fatalf("it has %d voters in its part of the log", voters)
			}
			const elections = 6
			silent := time.After(elections * ms(testHeartbeatMs))
			<-silent
			if founder.group.IsLeader() || founder.group.Term() > max(left.Voted, left.LastTerm) {
				t.Fatalf("it leads %v, in term %d", founder.group.IsLeader(), founder.group.Term())
			}
			w.until("it votes again", func() bool {
				leader := w.leader(w.others(founder)...).group
				_ = leader.Changes().AddVoter(w.ctx(), founder.id, raft.ServerAddress(founder.door.addr), 0)
				return founder.group.Votes() && founder.group.Voters() == 3
			})
			w.write(3)
			w.agree()
			// It has its timers again and can lead.
			w.until("it leads", func() bool {
				leader := w.leader()
				if leader != founder {
					w.caughtUp(leader, founder)
					_ = leader.group.TransferTo(w.ctx(), founder.id)
				}
				return founder.group.IsLeader()
			})
			w.until("its heartbeat timeout", func() bool {
				return founder.group.raft.Load().ReloadableConfig().HeartbeatTimeout == ms(testHeartbeatMs)
			})
		})
	}
}

// A node that was cut off does not know that a replica was moved away and came back empty. The new
// replica must not help that node to lead beside the others.
func TestAReplicaThatCameAgainElectsNobodyBelowTheFormer(t *testing.T) {
	t.Parallel()
	w, x, leader := founded(t, raftio.StoreBolt)
	var cut *testNode
	for _, n := range w.others(x) {
		if n != leader {
			cut = n
		}
	}
	// The node should stand for election often.
	w.unequal = true
	cut.set = nil
	cut.stop()
	cut.start()
	d := w.add("n4", raftio.StoreBolt, steady)
	d.start()
	w.must(leader.group.Changes().AddNonvoter(w.ctx(), d.id, raft.ServerAddress(d.door.addr), 0))
	w.agree()
	cutOff([]*testNode{cut}, []*testNode{leader, d}, true)
	w.until("n4 votes", func() bool {
		_ = leader.group.Changes().AddVoter(w.ctx(), d.id, raft.ServerAddress(d.door.addr), 0)
		return d.group.Votes()
	})
	w.until("the other is out", func() bool {
		_ = leader.group.Changes().Remove(w.ctx(), x.id, 0)
		return !leader.group.latest.has(x.id)
	})
	w.write(5, leader, d)
	x.stop()
	left := x.group.Left()
	x.dir = t.TempDir()
	x.set = func(c *GroupConfig) { c.Pledge = left }
	x.start()
	const elections = 8
	<-time.After(elections * ms(testHeartbeatMs))
	if cut.group.IsLeader() {
		t.Fatal(fmt.Sprint(cut.id, " leads with ", x.id, " beside ", leader.id))
	}
	w.write(5, leader, d)
	cutOff([]*testNode{cut}, []*testNode{leader, d}, false)
	w.until("all agree", func() bool { return cut.sm.state() == leader.sm.state() || !leader.group.IsLeader() })
}

// A leader that was suspended does not know what has happened since: there was a later leader, and
// a replica was moved away and came back empty. The new replica must not let the old leader
// continue.
func TestAReplicaThatCameAgainTakesNothingFromALeaderThatTheFormerHadLeft(t *testing.T) {
	t.Parallel()
	for _, store := range bothStores {
		t.Run(store, func(t *testing.T) {
			w := newWorld(t, 3, store, nil)
			w.write(3)
			suspended := w.leader()
			old := suspended.group.Term()
			w.until("another leads", func() bool {
				if suspended.group.IsLeader() {
					_ = suspended.group.TransferTo(w.ctx(), "")
				}
				return w.leader() != suspended
			})
			w.write(3)
			var x *testNode
			leader := w.leader()
			for _, n := range w.others(suspended) {
				if n != leader {
					x = n
				}
			}
			_, left := w.removed(x)
			x.set = func(c *GroupConfig) { c.Pledge = left }
			x.start()
			addr := ports.FreeAddr(t)
			back, err := transport.Listen(transport.Config{
				Ring: ring.Shared(), Listen: []string{addr}, Advertise: addr, NodeID: string(suspended.id), ClusterID: func() string { return "test" }, Log: x.log(),
			})
			w.must(err)
			defer back.Close()
			trans := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{Stream: back.StreamLayer(3), Timeout: patience})
			defer trans.Close()
			var answer raft.AppendEntriesResponse
			w.must(trans.AppendEntries(x.id, raft.ServerAddress(transport.Target(string(x.id), x.door.addr)), &raft.AppendEntriesRequest{
				RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(suspended.id), Addr: []byte(suspended.door.addr)}, Term: old,
			}, &answer))
			if answer.Success || answer.Term <= old {
				t.Errorf("the leader of term %d is answered %+v; left: %+v", old, answer, left)
			}
		})
	}
}
