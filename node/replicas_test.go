package node

import (
	"errors"
	"os"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/cluster/meta/identity"
	"lockstep/node/member"
)

// A replica that could not be closed is not deleted, however often follow looks at it before the
// process ends: its promises would be lost.
func TestANodeThatDiesDeletesNothing(t *testing.T) {
	folder, err := identity.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	err = errors.Join(
		folder.Found("n1", meta.Creation{LockSlots: 1, HeartbeatMs: 300, ElectionMs: 300, Seeds: identity.NewSeeds(1)}),
		folder.Opened(0), os.MkdirAll(folder.GroupDir(0), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{Member: &member.Member{Folder: folder, Self: folder.Identity()}, lifetime: newLifetime()}
	n.MakeRoom()
	n.replicas = &replicas{n: n}
	view := &meta.View{Shards: []meta.Shard{{Going: []meta.Going{{Node: n.Self.ID(), Since: 7, LetGo: true}}}}}
	why := errors.New("it could not be closed")
	n.die(why)
	if err := n.replicas.follow(t.Context(), view, 0); !errors.Is(err, why) {
		t.Error(err)
	}
	if _, err := os.Stat(folder.GroupDir(0)); err != nil || folder.DroppedSince(0) != 0 {
		t.Errorf("it is dropped as of %d: %v", folder.DroppedSince(0), err)
	}
}
