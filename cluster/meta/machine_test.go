package meta

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// log applies commands to a machine as a Raft group would.
type log struct {
	t       *testing.T
	m       *Machine
	entries [][]byte
}

func newLog(t *testing.T) *log { return &log{t: t, m: NewMachine()} }

// apply applies one command and returns its result.
func (l *log) apply(c Command) Result {
	l.t.Helper()
	id := uint64(len(l.entries) + 1)
	f, err := newFrame(c)
	if err != nil {
		l.t.Fatal(err)
	}
	f.ID = id
	data, err := f.encode()
	if err != nil {
		l.t.Fatal(err)
	}
	done, forget, err := l.m.expect(id)
	if err != nil {
		l.t.Fatal(err)
	}
	defer forget()
	l.entries = append(l.entries, data)
	if err := l.m.Apply(id, data); err != nil {
		l.t.Fatal(err)
	}
	return <-done
}

func (l *log) must(c Command) {
	l.t.Helper()
	if r := l.apply(c); r.Err != nil || !r.Changed {
		l.t.Fatalf("%T: changed %v, error %v", c, r.Changed, r.Err)
	}
}

// refused checks that the command is refused with the error why and these words, and changes
// nothing.
func (l *log) refused(c Command, why error, words string) {
	l.t.Helper()
	before := l.m.View()
	r := l.apply(c)
	if !errors.Is(r.Err, why) || !strings.Contains(r.Err.Error(), words) {
		l.t.Fatalf("%T: error %v, want %q", c, r.Err, words)
	}
	if after := l.m.View(); r.Changed || after.Epoch != before.Epoch || after.Index != r.Index {
		l.t.Fatalf("%T: refused, but epoch %d -> %d, index %d", c, before.Epoch, after.Epoch, after.Index)
	}
}

// same checks that the command is accepted and has nothing left to do.
func (l *log) same(c Command) {
	l.t.Helper()
	if r := l.apply(c); r.Err != nil || r.Changed {
		l.t.Fatalf("%T: changed %v, error %v", c, r.Changed, r.Err)
	}
}

func testNode(name string, incarnation uint64, port int) Node {
	return Node{
		ID: MakeNodeID(name, incarnation), Name: name, Incarnation: incarnation,
		PeerAddr: fmt.Sprintf("%s.example:%d", name, port), ClientAddr: fmt.Sprintf("%s.example:6379", name), Version: "1",
	}
}

func testCreation(shards int) Creation {
	return Creation{CreatedMs: 1, LockSlots: 1024, HeartbeatMs: 1000, ElectionMs: 1000, Seeds: make([]HashSeed, shards)}
}

// created returns the log of a fresh cluster of one node, n1.
func created(t *testing.T, shards int) *log {
	l := newLog(t)
	l.must(&CreateCluster{ClusterID: "c1", Creation: testCreation(shards), Founder: testNode("n1", 1, 7000)})
	return l
}

func TestCreationHappensOnce(t *testing.T) {
	l := newLog(t)
	l.refused(&AddNode{Node: testNode("n2", 2, 7000)}, ErrNotCreated, "not been created")
	create := &CreateCluster{ClusterID: "c1", Creation: testCreation(3), Founder: testNode("n1", 1, 7000)}
	l.must(create)
	l.same(create)
	l.refused(&CreateCluster{ClusterID: "c2", Creation: testCreation(3), Founder: testNode("n1", 1, 7000)},
		ErrOtherCluster, "exists already, with id c1")
	v := l.m.View()
	if n, ok := v.Lookup("n1"); !ok || n.State != Member {
		t.Fatalf("founder is %+v", n)
	}
}

func TestAWipedNodeIsNotTakenForTheOldOne(t *testing.T) {
	l := created(t, 1)
	old, fresh := testNode("n2", 2, 7000), testNode("n2", 3, 7000)
	l.must(&AddNode{Node: old})
	l.same(&AddNode{Node: old})
	l.refused(&AddNode{Node: fresh}, ErrNameTaken,
		"a node named n2 is already a member with another data folder; if its data is gone, remove it first or join with --replace")
	l.must(&AddNode{Node: fresh, Replace: true})
	v := l.m.View()
	if n, _ := v.Node(old.ID); n.State != Leaving || n.ReplacedBy != fresh.ID {
		t.Fatalf("old node is %+v", n)
	}
	if n, _ := v.Lookup("n2"); n.ID != fresh.ID {
		t.Fatalf("the name means %s", n.ID)
	}
	if n, _ := v.ByPeerAddr(fresh.PeerAddr); n.ID != fresh.ID {
		t.Fatalf("the address means %s", n.ID)
	}
	l.refused(&AddNode{Node: old}, ErrRemoved, "was replaced by "+string(fresh.ID))
	l.refused(&MarkMember{ID: old.ID}, ErrRemoved, "cannot be used again")
	l.must(&Detach{ID: old.ID, Group: 0})
	l.must(&Detach{ID: old.ID, Group: GroupID})
	l.refused(&AddNode{Node: old, Replace: true}, ErrRemoved, "was replaced by "+string(fresh.ID))
}

func TestANodeIsRemovedWhenItsLastGroupHasLetGo(t *testing.T) {
	l := created(t, 3)
	n2 := testNode("n2", 2, 7000)
	l.must(&AddNode{Node: n2})
	l.must(&MarkMember{ID: n2.ID})
	l.same(&MarkMember{ID: n2.ID})
	l.refused(&Detach{ID: n2.ID, Group: 0}, ErrInvalid, "not leaving")
	l.must(&RemoveNode{ID: n2.ID})
	l.same(&RemoveNode{ID: n2.ID})
	l.must(&RemoveNode{ID: n2.ID, Force: true})
	l.must(&Detach{ID: n2.ID, Group: 2})
	held := l.m.View()
	l.must(&Detach{ID: n2.ID, Group: 0})
	l.same(&Detach{ID: n2.ID, Group: 0})
	l.refused(&Detach{ID: n2.ID, Group: 3}, ErrInvalid, "no shard 3")
	if n, _ := held.Node(n2.ID); len(n.DetachedFrom) != 1 || n.DetachedFrom[0] != 2 {
		t.Fatalf("an old view changed: %+v", n)
	}
	if n, _ := l.m.View().Node(n2.ID); n.State != Leaving || l.m.View().HasLeftShards(n) {
		t.Fatalf("removed too early: %+v", n)
	}
	l.must(&Detach{ID: n2.ID, Group: 1})
	if n, _ := l.m.View().Node(n2.ID); n.State != Leaving || !l.m.View().HasLeftShards(n) {
		t.Fatalf("removed before the meta group let go: %+v", n)
	}
	l.must(&Detach{ID: n2.ID, Group: GroupID})
	if n, _ := l.m.View().Node(n2.ID); n.State != Removed || len(l.m.View().Nodes) != 1 {
		t.Fatalf("not removed: %+v", n)
	}
	l.same(&Detach{ID: n2.ID, Group: 1})
	l.same(&RemoveNode{ID: n2.ID})
	l.refused(&AddNode{Node: n2}, ErrRemoved, "was removed from the cluster")
	l.refused(&RemoveNode{ID: "n9.0"}, ErrUnknownNode, "no node n9.0")
	l.refused(&RemoveNode{ID: testNode("n1", 1, 0).ID}, ErrLastNode, "n1 is the last node")
}

func TestANodeLeavesInFavourOfALiveOne(t *testing.T) {
	l := created(t, 1)
	n2, n3 := testNode("n2", 2, 7000), testNode("n3", 3, 7000)
	l.must(&AddNode{Node: n2})
	l.refused(&RemoveNode{ID: n2.ID, InFavourOf: n3.ID}, ErrUnknownNode, "no node "+string(n3.ID))
	l.refused(&RemoveNode{ID: n2.ID, InFavourOf: n2.ID}, ErrInvalid, "its own place")
	l.must(&AddNode{Node: n3})
	l.must(&RemoveNode{ID: n2.ID, InFavourOf: n3.ID})
	if n, _ := l.m.View().Node(n2.ID); n.ReplacedBy != n3.ID {
		t.Fatalf("%+v", n)
	}
}

func TestNodesAreToldApart(t *testing.T) {
	l := created(t, 1)
	n2 := testNode("n2", 2, 7000)
	l.must(&AddNode{Node: n2})
	n3 := testNode("n3", 3, 7000)
	n3.PeerAddr = n2.PeerAddr
	l.refused(&AddNode{Node: n3}, ErrAddrTaken, "belongs to node "+string(n2.ID))
	n3.PeerAddr = "n3.example:7000"
	l.must(&AddNode{Node: n3})
	l.refused(&UpdateNode{ID: n3.ID, PeerAddr: n2.PeerAddr, ClientAddr: "x:1"}, ErrAddrTaken, "n2.example:7000")
	move := &UpdateNode{ID: n3.ID, PeerAddr: "elsewhere:1", ClientAddr: "x:1", AdminAddr: "y:2", Version: "2"}
	l.must(move)
	l.same(move)
	if n, ok := l.m.View().ByPeerAddr("elsewhere:1"); !ok || n.ID != n3.ID || n.Version != "2" {
		t.Fatalf("moved node is %+v", n)
	}
}

func TestNonsenseIsRefusedInWords(t *testing.T) {
	l := created(t, 1)
	for words, spoil := range map[string]func(*Node){
		"1 to 128 characters":              func(n *Node) { n.Name = "" },
		"may only hold letters":            func(n *Node) { n.Name = "a b" },
		"does not belong to name":          func(n *Node) { n.Incarnation++ },
		`peer address "x" is not`:          func(n *Node) { n.PeerAddr = "x" },
		"cannot be dialled by other nodes": func(n *Node) { n.PeerAddr = "0.0.0.0:1" },
		`client address ":1" is not`:       func(n *Node) { n.ClientAddr = ":1" },
		`admin address "a:0" is not`:       func(n *Node) { n.AdminAddr = "a:0" },
		"version's text":                   func(n *Node) { n.Version = strings.Repeat("v", 200) },
	} {
		n := testNode("n2", 2, 7000)
		spoil(&n)
		l.refused(&AddNode{Node: n}, ErrInvalid, words)
	}
	for words, spoil := range map[string]func(*Creation){
		"shards, not 0":     func(c *Creation) { c.Seeds = nil },
		"lock slots, not 0": func(c *Creation) { c.LockSlots = 0 },
		"election time":     func(c *Creation) { c.ElectionMs = 0 },
	} {
		fresh, c := newLog(t), testCreation(1)
		spoil(&c)
		fresh.refused(&CreateCluster{ClusterID: "c", Creation: c, Founder: testNode("n1", 1, 1)}, ErrInvalid, words)
	}
}

func TestSettingsChangeTogetherOrNotAtAll(t *testing.T) {
	l := created(t, 1)
	l.must(&SetSettings{Set: map[string]string{"a": "1", "b": "2"}})
	held := l.m.View()
	l.same(&SetSettings{Set: map[string]string{"a": "1"}, Unset: []string{"zz"}})
	l.must(&SetSettings{Set: map[string]string{"a": "3"}, Unset: []string{"b"}})
	if got := l.m.View().Settings; len(got) != 1 || got["a"] != "3" {
		t.Fatalf("settings %v", got)
	}
	if held.Settings["a"] != "1" || held.Settings["b"] != "2" {
		t.Fatal("an old view changed")
	}
	l.refused(&SetSettings{Set: map[string]string{"c": "1", "": "x"}}, ErrInvalid, "needs a name")
	l.refused(&SetSettings{Set: map[string]string{"c": strings.Repeat("x", MaxSettingBytes+1)}}, ErrTooMany, "too long")
	if _, there := l.m.View().Settings["c"]; there {
		t.Fatal("half a command was applied")
	}
}

func TestTombstonesAreBounded(t *testing.T) {
	l := created(t, 1)
	for i := range maxTombstones + 10 {
		n := testNode("n2", uint64(i+100), 7000)
		l.must(&AddNode{Node: n})
		l.must(&RemoveNode{ID: n.ID})
		l.must(&Detach{ID: n.ID, Group: 0})
		l.must(&Detach{ID: n.ID, Group: GroupID})
	}
	if n := len(l.m.View().Tombstones); n != maxTombstones {
		t.Fatalf("%d tombstones", n)
	}
	if _, known := l.m.View().Node(MakeNodeID("n2", 100)); known {
		t.Fatal("the oldest is still known")
	}
}

// randomCommand returns a random command; many of these commands are refused.
func randomCommand(r *rand.Rand) Command {
	id := func() NodeID { return MakeNodeID(fmt.Sprintf("n%d", 1+r.IntN(4)), uint64(1+r.IntN(3))) }
	switch r.IntN(7) {
	case 0, 1:
		n := testNode(fmt.Sprintf("n%d", 1+r.IntN(4)), uint64(1+r.IntN(3)), 7000+r.IntN(2))
		return &AddNode{Node: n, Replace: r.IntN(2) == 0}
	case 2:
		return &RemoveNode{ID: id(), Force: r.IntN(2) == 0}
	case 3:
		return &Detach{ID: id(), Group: []uint32{0, 1, 2, GroupID}[r.IntN(4)]}
	case 4:
		return &MarkMember{ID: id()}
	case 5:
		return &UpdateNode{ID: id(), PeerAddr: fmt.Sprintf("n%d.example:7000", r.IntN(5)), ClientAddr: "c:1"}
	default:
		return &SetSettings{Set: map[string]string{fmt.Sprint(r.IntN(5)): fmt.Sprint(r.IntN(3)), "z": "1"}, Unset: []string{fmt.Sprint(r.IntN(5))}}
	}
}

func TestSameLogSameStateWithSnapshotsAnywhere(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	l := created(t, 2)
	for range 2000 {
		l.apply(randomCommand(r))
	}
	want := stateOf(t, l.m)
	other := NewMachine()
	for i, data := range l.entries {
		if err := other.Apply(uint64(i+1), data); err != nil {
			t.Fatal(err)
		}
		if r.IntN(20) == 0 {
			other = throughSnapshot(t, other)
		}
	}
	if got := stateOf(t, other); got != want {
		t.Fatalf("states differ:\n%s\n%s", want, got)
	}
	if a, b := l.m.View(), throughSnapshot(t, l.m).View(); *a.shardOfSlot != *b.shardOfSlot {
		t.Fatal("slot tables differ")
	}
}

func stateOf(t *testing.T, m *Machine) string {
	b, err := json.Marshal(m.View())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func throughSnapshot(t *testing.T, m *Machine) *Machine {
	t.Helper()
	s, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := s.Persist(&file); err != nil {
		t.Fatal(err)
	}
	s.Release()
	fresh := NewMachine()
	if err := fresh.Restore(&file); err != nil {
		t.Fatal(err)
	}
	return fresh
}

func TestDamageAndTheFutureStopTheNode(t *testing.T) {
	l := created(t, 1)
	good := l.entries[0]
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if err := NewMachine().Apply(1, bad); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("byte %d flipped: %v", i, err)
		}
		if VerifyCommand(bad) == nil {
			t.Fatalf("byte %d flipped: verified", i)
		}
		if err := NewMachine().Apply(1, good[:i]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
	if err := VerifyCommand(good); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"id":1,"kind":"grow-wings","args":{}}`, `{"id":1,"kind":"mark-member","args":{"id":"a","x":1}}`} {
		if err := NewMachine().Apply(1, seal(commandMagic, []byte(body))); !errors.Is(err, ErrVersion) {
			t.Fatalf("%s: %v", body, err)
		}
	}
	if err := NewMachine().Restore(strings.NewReader("LSN")); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("short snapshot: %v", err)
	}
}

func TestWaitersSeeTheViewTheyWaitFor(t *testing.T) {
	l := created(t, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	changes := 0
	l.m.OnChange(func(*View) { changes++ })
	got := make(chan error, 1)
	go func() {
		_, err := l.m.Wait(ctx, func(v *View) bool { return v.Settings["a"] == "9" })
		got <- err
	}()
	for i := range 10 {
		l.must(&SetSettings{Set: map[string]string{"a": fmt.Sprint(i)}})
		l.same(&SetSettings{Set: map[string]string{"a": fmt.Sprint(i)}})
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if changes != 10 {
		t.Fatalf("%d changes were told", changes)
	}
	cancel()
	if _, err := l.m.Wait(ctx, func(*View) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
