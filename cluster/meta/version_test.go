package meta

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// as runs the rest of a test as a program that knows cluster versions up to newest. brought lists
// commands and settings with the later version that introduced each.
func as(t *testing.T, newest int, brought map[string]int) {
	was, cameBefore := known, cameWith
	known, cameWith = newest, func(name string) int { return brought[name] }
	t.Cleanup(func() { known, cameWith = was, cameBefore })
}

// A command or setting is refused until the cluster has the version that introduced it.
func TestCommandsWaitForTheirVersion(t *testing.T) {
	as(t, 3, map[string]int{"mark-drained": 2, "change-users": 3, "script-max-call-depth": 3})
	m := firstCluster(t)
	v := m.View()
	if v.ClusterVersion != 1 {
		t.Fatalf("version %d", v.ClusterVersion)
	}
	refused := func(v *View, c Command, words string) {
		t.Helper()
		if err := checkNeeds(v, c); !errors.Is(err, ErrClusterVersion) || !strings.Contains(err.Error(), words) {
			t.Errorf("%T: %v", c, err)
		}
	}
	taken := func(v *View, commands ...Command) {
		t.Helper()
		for _, c := range commands {
			if err := checkNeeds(v, c); err != nil {
				t.Errorf("%T: %v", c, err)
			}
		}
	}
	id := v.Nodes[0].ID
	drain, users := &MarkDrained{ID: id, Drained: true}, &ChangeUsers{}
	depth := &SetSettings{Set: map[string]string{"maxmemory": "1", "script-max-call-depth": "100"}}
	raise := &RaiseVersion{To: 2}
	refused(v, drain, "the cluster is at version 1 and this needs version 2; upgrade every node")
	refused(v, users, "needs version 3")
	refused(v, depth, "needs version 3")
	refused(v, &RaiseVersion{To: 4}, "the meta group's leader knows cluster versions up to 3, not 4")
	taken(v, raise, &RemoveNode{ID: id}, &SetSettings{Set: map[string]string{"maxmemory": "1"}}, &AddNode{}, &SetReplicas{Count: 3})
	next := v.clone()
	if changed, err := raise.apply(next); !changed || err != nil || next.ClusterVersion != 2 {
		t.Fatalf("%v, %v, version %d", changed, err, next.ClusterVersion)
	}
	if changed, err := raise.apply(next); changed || err != nil {
		t.Errorf("again: %v, %v", changed, err)
	}
	if changed, _ := (&RaiseVersion{To: 1}).apply(next); changed || next.ClusterVersion != 2 {
		t.Errorf("taken back to %d", next.ClusterVersion)
	}
	taken(next, drain)
	refused(next, users, "the cluster is at version 2 and this needs version 3")
	refused(next, depth, "needs version 3")
}

// A program that does not know the cluster's version stops, whether it learns of the version from
// the log or from a snapshot.
func TestAnUnknownVersionStopsTheNode(t *testing.T) {
	as(t, 2, nil)
	m := firstCluster(t)
	f, err := newFrame(&RaiseVersion{To: 2})
	if err != nil {
		t.Fatal(err)
	}
	entry, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Apply(m.View().Index+1, entry); err != nil {
		t.Fatal(err)
	}
	var image bytes.Buffer
	s, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Persist(&image); err != nil {
		t.Fatal(err)
	}
	as(t, 1, nil)
	const words = "the cluster is at version 2, this lockstepd knows versions up to 1"
	if err := NewMachine().Restore(&image); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), words) {
		t.Errorf("snapshot: %v", err)
	}
	old := firstCluster(t)
	if err := old.Apply(old.View().Index+1, entry); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), words) {
		t.Errorf("entry: %v", err)
	}
}

// firstCluster is a machine that has a cluster of the first version.
func firstCluster(t *testing.T) *Machine {
	t.Helper()
	m := NewMachine()
	for i, body := range writtenLog[:2] {
		if err := m.Apply(uint64(i+1), seal(commandMagic, []byte(body))); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func TestNodesAreGivenUp(t *testing.T) {
	m := firstCluster(t)
	v := m.View()
	if _, err := v.GiveUp([]NodeID{v.Nodes[0].ID, v.Nodes[1].ID}); !errors.Is(err, ErrLastNode) {
		t.Errorf("everybody: %v", err)
	}
	if _, err := v.GiveUp([]NodeID{"n9.0000000000000009"}); !errors.Is(err, ErrUnknownNode) {
		t.Errorf("a stranger: %v", err)
	}
	lost, stays := v.Nodes[1].ID, v.Nodes[0].ID
	if err := m.GiveUp([]NodeID{lost}); err != nil {
		t.Fatal(err)
	}
	next := m.View()
	n, _ := next.Node(lost)
	if n.State != Removed || !n.Forced || len(next.Live()) != 1 || next.Epoch != v.Epoch+1 {
		t.Errorf("%+v of %+v", n, next)
	}
	for _, s := range next.Shards {
		if len(s.Replicas) != 1 || s.Replicas[0] != stays {
			t.Errorf("shard %d is on %v", s.ID, s.Replicas)
		}
	}
	// A node that is already given up is not given up twice.
	if again, err := next.GiveUp([]NodeID{lost}); err != nil || len(again.Tombstones) != 1 {
		t.Errorf("%v, %+v", err, again)
	}
	if len(v.Nodes) != 2 {
		t.Error("the view before has changed")
	}
}
