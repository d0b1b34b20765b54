package grow

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/cluster/placement"
	"lockstep/node/status"
	"lockstep/tests/kit/proc"
	"lockstep/tests/narrow"
)

const (
	// narrowBytesPerSec is the bandwidth to the node, for all its connections together.
	narrowBytesPerSec = 2 << 20
	// narrowHeartbeat is how long a follower waits for its leader. The copies take several times as
	// long.
	narrowHeartbeat = 3 * time.Second
	narrowValues    = 400
	narrowValueSize = 64 << 10
)

// terms returns the terms of all groups that have a replica on a node.
func terms(n *proc.Node) map[string]uint64 {
	text, err := proc.Ask(n.Addr(), "LOCKSTEP", "STATUS")
	s := &status.Cluster{}
	if err != nil || json.Unmarshal([]byte(text), s) != nil {
		return nil
	}
	all := map[string]uint64{}
	for i := range s.Nodes {
		if s.Nodes[i].Name == n.Name {
			for _, g := range s.Nodes[i].Groups {
				all[g.Name] = g.Term
			}
		}
	}
	return all
}

// TestACopyOnANarrowWayDelaysNoHeartbeat: all shards are copied at the same time to a node with a
// slow connection. That takes many times as long as a follower waits for its leader. Meanwhile the
// node votes in the meta group, and in each shard as soon as its copy is complete. It must not lose
// sight of a leader, and the clients must notice nothing.
func TestACopyOnANarrowWayDelaysNoHeartbeat(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	way := narrow.NewWay(t)
	way.Narrow(narrowBytesPerSec)
	o := proc.Options{Shards: shards, Args: []string{
		"--raft-snapshot-entries", "64", "--raft-trailing-entries", "8",
		"--raft-heartbeat-ms", fmt.Sprint(narrowHeartbeat.Milliseconds()), "--raft-election-ms", fmt.Sprint(narrowHeartbeat.Milliseconds()),
	}}
	c := proc.NewCluster(t, 3, o)
	n1, n3 := c.Nodes[0], c.Nodes[2]
	proc.MustAsk(t, n1.Addr(), "CONFIG", "SET", "rebalance", "no")
	proc.Wait(t, patience, "n1 leads everything", func() bool {
		_, err := proc.Ask(n1.Addr(), "LOCKSTEP", "TRANSFER", "all", "n1")
		return err == nil
	})
	fillAtRandom(t, n1)

	o.Args = append(slices.Clone(o.Args), "--peer-address", way.Addr().String())
	o.Before = func(n *proc.Node) { way.To = n.PeerAddr() }
	n4 := c.Join(o)
	proc.Wait(t, patience, "n4 votes in the meta group", func() bool { _, voters := metaRoles(n1); return voters == 4 })
	proc.Wait(t, patience, "n4 takes clients", func() bool { return proc.Ping(n4.Addr()) })
	logged, before := len(n4.Log()), terms(n1)
	l := &load{t: t}
	l.begin(n1, 3)
	l.begin(n4, 1)
	l.advance(5)
	l.pause()

	began, passed := time.Now(), way.Passed()
	proc.MustAsk(t, n1.Addr(), "LOCKSTEP", "DRAIN", n3.Name)
	proc.Wait(t, patience, "all replicas of n3 have moved to n4", func() bool {
		for _, client := range l.all {
			l.check(client)
		}
		r := proc.Placement(n1)
		return r != nil && r.Nodes[2].Replicas == 0 && r.Nodes[3].Replicas == shards && !slices.ContainsFunc(r.Shards, moves)
	})
	took, bytes := time.Since(began), way.Passed()-passed
	l.advance(2)
	t.Logf("%d MB were copied in %v; longest wait of a client %v", bytes>>20, took.Round(time.Millisecond), l.pause().Round(time.Millisecond))
	if took < 3*narrowHeartbeat || bytes < narrowValues*narrowValueSize {
		t.Errorf("%d bytes in %v: that was no bulk transfer", bytes, took)
	}
	if after := terms(n1); len(after) != shards+1 || !maps.Equal(before, after) {
		t.Errorf("the terms were %v and are %v", before, after)
	}
	if log := n4.Log()[logged:]; strings.Contains(log, "heartbeat timeout reached") {
		t.Errorf("n4 missed a leader:\n%s", log)
	}
	l.end(nil)
	l.verify(n4)
}

// moves reports whether a replica of a shard is being moved.
func moves(s placement.ShardReport) bool {
	return slices.ContainsFunc(s.Replicas, func(r placement.ReplicaReport) bool { return r.State != placement.StateVoter })
}

// fillAtRandom writes values that cannot be compressed.
func fillAtRandom(t *testing.T, n *proc.Node) {
	t.Helper()
	conn := proc.Dial(t, n.Addr())
	draw := rand.NewChaCha8([32]byte{1})
	value := make([]byte, narrowValueSize)
	for i := range narrowValues {
		_, _ = draw.Read(value)
		if got := proc.Do(t, conn, "SET", fmt.Sprint("bulk:", i), string(value)); got != "+OK" {
			t.Fatal(got)
		}
	}
}
