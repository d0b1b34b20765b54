package meta

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// as runs a test as a program that knows cluster versions up to one.
func as(t *testing.T, version string) {
	was := known
	known = version
	t.Cleanup(func() { known = was })
}

func TestThisProgramKnowsTheNewestVersion(t *testing.T) {
	if KnownVersion() != VersionPaid {
		t.Errorf("%d, and the newest is %d", KnownVersion(), VersionPaid)
	}
}

func TestCommandsWaitForTheirVersion(t *testing.T) {
	m := firstCluster(t)
	v := m.View()
	if v.Version() != VersionFirst {
		t.Fatalf("version %d", v.Version())
	}
	id := v.Nodes[0].ID
	newer := []Command{
		&MarkDrained{ID: id, Drained: true}, &PromoteNode{ID: id}, &AddNode{Node: Node{Learner: true}}, &SetReplicas{Count: 3},
	}
	for _, c := range newer {
		if err := checkNeeds(v, c); !errors.Is(err, ErrClusterVersion) || !strings.Contains(err.Error(), "needs version 2") {
			t.Errorf("%T: %v", c, err)
		}
	}
	for _, c := range []Command{&RaiseVersion{To: 2}, &RemoveNode{ID: id}, &SetSettings{}, &AddNode{}} {
		if err := checkNeeds(v, c); err != nil {
			t.Errorf("%T: %v", c, err)
		}
	}
	if err := checkNeeds(v, &RaiseVersion{To: KnownVersion() + 1}); !errors.Is(err, ErrClusterVersion) {
		t.Errorf("a version that nobody knows: %v", err)
	}
	if err := checkNeeds(v, &ChangeUsers{}); !errors.Is(err, ErrClusterVersion) || !strings.Contains(err.Error(), "needs version 3") {
		t.Errorf("users: %v", err)
	}
	depth := &SetSettings{Set: map[string]string{"maxmemory": "1", "script-max-call-depth": "100"}}
	if err := checkNeeds(v, depth); !errors.Is(err, ErrClusterVersion) || !strings.Contains(err.Error(), "needs version 8") {
		t.Errorf("a setting: %v", err)
	}
	raise := &RaiseVersion{To: 2}
	next := v.clone()
	if changed, err := raise.apply(next); !changed || err != nil || next.Version() != 2 {
		t.Fatalf("%v, %v, version %d", changed, err, next.Version())
	}
	if changed, err := raise.apply(next); changed || err != nil {
		t.Errorf("again: %v, %v", changed, err)
	}
	if changed, _ := (&RaiseVersion{To: 1}).apply(next); changed || next.Version() != 2 {
		t.Errorf("taken back to %d", next.Version())
	}
	for _, c := range newer {
		if err := checkNeeds(next, c); err != nil {
			t.Errorf("%T at version 2: %v", c, err)
		}
	}
}

// A program that does not know the version stops, whether it is told by the log
// or by a snapshot.
func TestAnUnknownVersionStopsTheNode(t *testing.T) {
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
	as(t, "1")
	const words = "the cluster is at version 2, this lockstepd knows versions up to 1"
	if err := NewMachine().Restore(&image); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), words) {
		t.Errorf("snapshot: %v", err)
	}
	old := firstCluster(t)
	if err := old.Apply(old.View().Index+1, entry); !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), words) {
		t.Errorf("entry: %v", err)
	}
}

// firstCluster is a machine with the cluster of the first format.
func firstCluster(t *testing.T) *Machine {
	t.Helper()
	m := NewMachine()
	for i, body := range oldLog[:2] {
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
	// Whoever has heard of it already is not told twice.
	if again, err := next.GiveUp([]NodeID{lost}); err != nil || len(again.Tombstones) != 1 {
		t.Errorf("%v, %+v", err, again)
	}
	if len(v.Nodes) != 2 {
		t.Error("the view before has changed")
	}
}
