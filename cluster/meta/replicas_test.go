package meta

import (
	"bytes"
	"slices"
	"testing"
)

// placed returns the log of a cluster of n1, n2 and n3 whose shards should have two replicas and
// have one, on n1.
func placed(t *testing.T, shards int) (*log, []NodeID) {
	l := newLog(t)
	creation := testCreation(shards)
	creation.Replicas = 2
	l.must(&CreateCluster{ClusterID: "c1", Creation: creation, Founder: testNode("n1", 1, 7000)})
	ids := []NodeID{testNode("n1", 1, 7000).ID}
	for _, name := range []string{"n2", "n3"} {
		n := testNode(name, 1, 7000)
		l.must(&AddNode{Node: n})
		l.must(&MarkMember{ID: n.ID})
		ids = append(ids, n.ID)
	}
	return l, ids
}

func TestAReplicaIsAddedAndDroppedOnlyWhereThePlannerLooked(t *testing.T) {
	l, id := placed(t, 2)
	shard := func() Shard { return l.m.View().Shards[1] }
	if got := shard().Replicas; !slices.Equal(got, id[:1]) {
		t.Fatalf("a new node has replicas by itself: %v", got)
	}
	first := l.m.View()
	add := &PlaceReplica{Shard: 1, Was: id[:1], Add: id[1]}
	l.must(add)
	l.same(add)
	l.refused(&PlaceReplica{Shard: 1, Was: id[:1], Add: id[2]}, ErrStale, "not")
	l.refused(&PlaceReplica{Shard: 1, Was: id[:2], Add: id[2], Drop: id[0]}, ErrInvalid, "one replica")
	l.refused(&PlaceReplica{Shard: 9, Was: id[:2], Add: id[2]}, ErrInvalid, "no shard 9")
	l.refused(&PlaceReplica{Shard: 1, Was: id[:2], Add: "n9.0000000000000009"}, ErrUnknownNode, "n9")
	drop := &PlaceReplica{Shard: 1, Was: id[:2], Drop: id[0]}
	l.must(drop)
	l.same(drop)
	if s := shard(); !slices.Equal(s.Replicas, id[1:2]) || len(s.Going) != 1 || s.Going[0].Node != id[0] || s.Going[0].LetGo {
		t.Fatalf("%+v", s)
	}
	l.refused(&PlaceReplica{Shard: 1, Was: id[1:2], Drop: id[1]}, ErrInvalid, "last replica")
	if s := first.Shards[1]; !slices.Equal(s.Replicas, id[:1]) || len(s.Going) > 0 {
		t.Fatalf("an earlier view has changed: %+v", s)
	}
}

// A node that still has data of a former replica gets no new one: it might mistake the old data for
// the new replica's.
func TestAReplicaComesBackOnlyWhenTheFormerIsDeleted(t *testing.T) {
	l, id := placed(t, 1)
	l.must(&PlaceReplica{Was: id[:1], Add: id[1]})
	l.must(&PlaceReplica{Was: id[:2], Drop: id[0]})
	again := &PlaceReplica{Was: id[1:2], Add: id[0]}
	l.refused(again, ErrStale, "former replica")
	since := l.m.View().Shards[0].Going[0].Since
	l.refused(&Dropped{Node: id[0], Since: since}, ErrInvalid, "has not let go")
	l.same(&LetGo{Node: id[0], Since: since - 1}) // of an earlier removal
	l.must(&LetGo{Node: id[0], Since: since})
	l.same(&LetGo{Node: id[0], Since: since})
	l.refused(again, ErrStale, "former replica")
	l.same(&Dropped{Node: id[0], Since: since - 1})
	l.must(&Dropped{Node: id[0], Since: since})
	l.must(again)
	l.must(&PlaceReplica{Was: id[:2], Drop: id[0]})
	if next := l.m.View().Shards[0].Going[0]; next.Since <= since || next.LetGo {
		t.Fatalf("%+v is not told from the one before, %d", next, since)
	}
}

func TestARemovedNodeIsForgottenByItsShards(t *testing.T) {
	l, id := placed(t, 1)
	l.must(&PlaceReplica{Was: id[:1], Add: id[1]})
	l.must(&RemoveNode{ID: id[0]})
	l.refused(&Detach{ID: id[0], Group: 0}, ErrStale, "still wants")
	l.must(&PlaceReplica{Was: id[:2], Drop: id[0]})
	l.must(&Detach{ID: id[0], Group: 0})
	l.must(&Detach{ID: id[0], Group: GroupID})
	if s := l.m.View().Shards[0]; len(s.Going) > 0 {
		t.Fatalf("%+v", s)
	}
}

// A cluster that was created with `replicas 0` stays as it is until an operator sets the number of
// replicas.
func TestEveryNodeHasEveryShardUntilTheNumberIsSet(t *testing.T) {
	l := created(t, 2)
	n2, n3 := testNode("n2", 2, 7000), testNode("n3", 3, 7000)
	l.must(&AddNode{Node: n2})
	all := []NodeID{testNode("n1", 1, 7000).ID, n2.ID}
	if v := l.m.View(); v.Placed() || !slices.Equal(v.Shards[1].Replicas, all) {
		t.Fatalf("%v %+v", v.Placed(), v.Shards)
	}
	l.refused(&PlaceReplica{Was: all, Drop: n2.ID}, ErrNotPlaced, "set the number")
	l.refused(&SetReplicas{Count: MaxReplicas + 1}, ErrInvalid, "1 to 7")
	l.must(&SetReplicas{Count: 3})
	l.same(&SetReplicas{Count: 3})
	l.must(&AddNode{Node: n3})
	if v := l.m.View(); !v.Placed() || !slices.Equal(v.Shards[0].Replicas, all) {
		t.Fatalf("%v %+v", v.Placed(), v.Shards)
	}
	l.must(&PlaceReplica{Was: all, Drop: n2.ID})
	if got := l.m.View().Shards[1].Replicas; !slices.Equal(got, all) {
		t.Fatalf("another shard has changed, too: %v", got)
	}
	var image bytes.Buffer
	if err := (snapshot{l.m.View()}).Persist(&image); err != nil {
		t.Fatal(err)
	}
	restored := NewMachine()
	if err := restored.Restore(&image); err != nil {
		t.Fatal(err)
	}
	if got, want := stateOf(t, restored), stateOf(t, l.m); got != want {
		t.Fatalf("restored\n%s, not\n%s", got, want)
	}
}

func TestDrainingIsAMark(t *testing.T) {
	l, id := placed(t, 1)
	l.must(&MarkDrained{ID: id[1], Drained: true})
	l.same(&MarkDrained{ID: id[1], Drained: true})
	if n, _ := l.m.View().Node(id[1]); !n.Drained || !n.State.Live() {
		t.Fatalf("%+v", n)
	}
	l.must(&MarkDrained{ID: id[1]})
}
