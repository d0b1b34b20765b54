package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockstep/cluster/meta"
	"lockstep/cluster/shard"
	"lockstep/node/status"
)

// kindStatus asks a node for its own status, between nodes. Answer: JSON of a
// status.Node.
const kindStatus uint8 = 32

// statusTimeout is how long a node may take to tell how it is.
const statusTimeout = 700 * time.Millisecond

// Status asks all nodes how they are and judges the whole.
func (n *Node) Status(ctx context.Context) *status.Cluster {
	view := n.machine.View()
	c := &status.Cluster{ClusterID: n.self.ClusterID, Shards: len(n.shards), Seen: n.self.Name}
	c.Nodes = make([]status.Node, len(view.Nodes))
	var wait sync.WaitGroup
	for i, known := range view.Nodes {
		wait.Go(func() { c.Nodes[i] = n.statusOf(ctx, known) })
	}
	wait.Wait()
	c.Judge()
	return c
}

func (n *Node) statusOf(ctx context.Context, known meta.Node) status.Node {
	var s status.Node
	if known.ID == n.self.ID() {
		s = n.ownStatus()
	} else {
		ctx, cancel := context.WithTimeout(ctx, statusTimeout)
		defer cancel()
		answer, err := n.transport.Call(ctx, known.PeerAddr, kindStatus, nil)
		if err == nil {
			err = json.Unmarshal(answer, &s)
		}
		if err != nil || s.ID != string(known.ID) {
			s = status.Node{}
		}
	}
	s.ID, s.Name, s.Membership = string(known.ID), known.Name, string(known.State)
	s.ClientAddr, s.PeerAddr = known.ClientAddr, known.PeerAddr
	return s
}

func (n *Node) serveStatus(reply func([]byte)) {
	if !n.serving.Load() {
		reply(nil)
		return
	}
	s := n.ownStatus()
	data, err := json.Marshal(&s)
	if err != nil {
		data = nil
	}
	reply(data)
}

// ownStatus is how this node is.
func (n *Node) ownStatus() status.Node {
	s := status.Node{
		ID: string(n.self.ID()), Name: n.self.Name, Reachable: true, Version: Version, PID: os.Getpid(),
		UptimeSec: int64(time.Since(n.started).Seconds()), RSSBytes: residentBytes(),
	}
	n.front.fill(&s)
	for _, sh := range n.shards {
		ks := sh.Machine().Keyspace()
		for db := range 16 {
			s.Keys += int64(ks.Keys(db))
		}
		s.UsedBytes += ks.MemoryBytes()
		s.Groups = append(s.Groups, n.groupStatus(strconv.Itoa(int(sh.ID())), sh.Group(), sh))
	}
	s.Groups = append(s.Groups, n.groupStatus("meta", n.metaGroup, nil))
	return s
}

func (n *Node) groupStatus(name string, g *shard.Group, s *shard.Shard) status.Group {
	st := g.Stats()
	out := status.Group{
		Name: name, Role: st.Role, Term: st.Term, Committed: st.CommitIndex, LastIndex: st.LastIndex,
		Queued: st.Applied, Executed: st.Applied, Voters: st.Voters,
	}
	if leader, ok := n.machine.View().Node(meta.NodeID(st.LeaderID)); ok {
		out.Leader = leader.Name
	}
	if s != nil {
		// Raft's own entries pass the state machine by; what it was given and has
		// not run is what it is behind.
		out.Executed = st.Applied - min(st.Applied, s.Machine().Queued()-s.Machine().Executed())
	}
	out.Lag = st.CommitIndex - min(st.CommitIndex, out.Executed)
	return out
}

// residentBytes is the process's resident memory.
func residentBytes() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// Order carries out an operator's LOCKSTEP TRANSFER, REMOVE, LEAVE or SNAPSHOT
// and says in words what was done.
func (n *Node) Order(ctx context.Context, args []string) (string, error) {
	verb := strings.ToUpper(args[0])
	m := n.manager.Load()
	switch {
	case verb == "TRANSFER" && len(args) <= 3:
		return n.transferOrder(ctx, args[1:])
	case verb == "REMOVE" && (len(args) == 2 || (len(args) == 3 && strings.EqualFold(args[2], "FORCE"))):
		id, err := m.Remove(ctx, args[1], len(args) == 3)
		if err != nil {
			return "", err
		}
		return n.awaitGone(ctx, id)
	case verb == "LEAVE" && len(args) == 1:
		if err := m.Leave(ctx); err != nil {
			return "", err
		}
		return "this node is leaving; it ends when it has left every group", nil
	case verb == "SNAPSHOT" && len(args) == 1:
		return n.snapshotOrder()
	}
	return "", fmt.Errorf("syntax error; LOCKSTEP HELP lists the orders")
}

// awaitGone waits until every group has let go of a node.
func (n *Node) awaitGone(ctx context.Context, id meta.NodeID) (string, error) {
	_, err := n.machine.Wait(ctx, func(v *meta.View) bool {
		node, known := v.Node(id)
		return !known || node.State == meta.Removed
	})
	if err != nil {
		return fmt.Sprintf("%s is leaving; not every group has let go of it yet", id), nil
	}
	return fmt.Sprintf("%s was removed", id), nil
}

func (n *Node) transferOrder(ctx context.Context, args []string) (string, error) {
	which, to := "0", ""
	if len(args) > 0 {
		which = args[0]
	}
	if len(args) > 1 {
		to = args[1]
	}
	groups, err := n.groupsNamed(which)
	if err != nil {
		return "", err
	}
	var said []string
	for _, g := range groups {
		id, err := n.manager.Load().Transfer(ctx, g, to)
		if err != nil {
			return "", err
		}
		said = append(said, fmt.Sprintf("%s is led by %s now", status.GroupTitle(groupName(g)), id))
	}
	return strings.Join(said, "; "), nil
}

func groupName(g uint32) string {
	if g == meta.GroupID {
		return "meta"
	}
	return strconv.FormatUint(uint64(g), 10)
}

func (n *Node) groupsNamed(which string) ([]uint32, error) {
	switch {
	case which == "meta":
		return []uint32{meta.GroupID}, nil
	case which == "all":
		groups := []uint32{meta.GroupID}
		for _, s := range n.shards {
			groups = append(groups, s.ID())
		}
		return groups, nil
	}
	i, err := strconv.ParseUint(which, 10, 31)
	if err != nil || int(i) >= len(n.shards) {
		return nil, fmt.Errorf("there is no shard %q; there are %d, and \"meta\", and \"all\"", which, len(n.shards))
	}
	return []uint32{uint32(i)}, nil
}

func (n *Node) snapshotOrder() (string, error) {
	for _, s := range n.shards {
		if err := s.Group().TakeSnapshot(); err != nil {
			return "", fmt.Errorf("shard %d: %w", s.ID(), err)
		}
	}
	if err := n.metaGroup.TakeSnapshot(); err != nil {
		return "", fmt.Errorf("the meta group: %w", err)
	}
	return fmt.Sprintf("%d shards and the meta group were written out", len(n.shards)), nil
}
