package identity

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep/cluster/meta"
)

func open(t *testing.T, dir string) *Folder {
	t.Helper()
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func reopen(t *testing.T, f *Folder) *Folder {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, f.Dir())
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says checks that an error has all these words in it.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Fatalf("error %v does not say %q", err, w)
		}
	}
}

func creation() meta.Creation {
	return meta.Creation{LockSlots: 16, HeartbeatMs: 1000, ElectionMs: 1000, Seeds: NewSeeds(2)}
}

func TestAFounderIsTheSameAfterRestart(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "a", "b"))
	if f.Identity() != nil {
		t.Fatal("an empty folder belongs to somebody")
	}
	ok(t, f.Found("n1", creation()))
	id := f.Identity()
	f = reopen(t, f)
	got := f.Identity()
	if got.ID() != id.ID() || got.ClusterID != id.ClusterID || got.Phase != Founding || got.Creation.Seeds[1] != id.Creation.Seeds[1] {
		t.Fatalf("%+v became %+v", id, got)
	}
	ok(t, f.MarkFounded())
	if got := reopen(t, f).Identity(); got.Phase != Settled {
		t.Fatalf("phase %s", got.Phase)
	}
}

// Shards remember the writes of a start by its number, so no other start may have it: neither the
// next one, nor one of a folder that was set back to an older copy.
func TestEveryStartHasItsOwnBoot(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, f.Found("n1", creation()))
	path := filepath.Join(f.Dir(), identityFile)
	before, err := os.ReadFile(path)
	ok(t, err)
	last := uint64(0)
	for n := range 6 {
		if n >= 3 {
			ok(t, os.WriteFile(path, before, 0o600))
			f = reopen(t, f)
		}
		boot, err := f.Started()
		if err != nil || boot <= last || f.Identity().Boot != boot {
			t.Fatalf("boot %d behind %d, %v", boot, last, err)
		}
		last = boot
		f = reopen(t, f)
	}
}

func TestAJoinThatCrashedIsTheSameJoin(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, f.BeginJoin("n2"))
	id := f.Identity().ID()
	f = reopen(t, f)
	ok(t, f.BeginJoin("n2"))
	if f.Identity().ID() != id {
		t.Fatal("another incarnation in the same folder")
	}
	says(t, f.BeginJoin("n3"), `belongs to node "n2", not "n3"`)
	says(t, f.Found("n2", creation()), "had begun to join", "--join")
	ok(t, f.Joined("c1", creation()))
	f = reopen(t, f)
	if got := f.Identity(); got.ID() != id || got.ClusterID != "c1" || got.Phase != Settled {
		t.Fatalf("%+v", got)
	}
	says(t, f.Joined("c2", creation()), "is not joining")
	says(t, f.BeginJoin("n2"), "of cluster c1")
	says(t, f.Found("n2", creation()), "of cluster c1")
}

func TestTwoFoldersAreTwoIncarnations(t *testing.T) {
	a, b := open(t, t.TempDir()), open(t, t.TempDir())
	ok(t, a.BeginJoin("n2"))
	ok(t, b.BeginJoin("n2"))
	if a.Identity().ID() == b.Identity().ID() {
		t.Fatal("one id for two folders")
	}
}

func TestTwoProcessesNeverShareAFolder(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	_, err := Open(dir)
	says(t, err, "in use by another lockstepd (process ", "--dir")
}

func TestDataWithoutIdentityIsRefused(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, os.MkdirAll(f.GroupDir(meta.GroupID), 0o755))
	ok(t, f.Close())
	_, err := Open(f.Dir())
	says(t, err, "holds Raft data but no identity.json", "join the node anew")
}

func TestAGroupThatWentMissingIsRefused(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, f.Found("n1", creation()))
	for _, g := range []uint32{meta.GroupID, 0} {
		ok(t, os.MkdirAll(f.GroupDir(g), 0o755))
		ok(t, os.WriteFile(filepath.Join(f.GroupDir(g), "log"), []byte("x"), 0o644))
		ok(t, f.Opened(g))
		ok(t, f.Opened(g))
	}
	f = reopen(t, f)
	if n := len(f.Identity().Groups); n != 2 {
		t.Fatalf("%d groups", n)
	}
	ok(t, f.Close())
	ok(t, os.Remove(filepath.Join(f.GroupDir(0), "log")))
	_, err := Open(f.Dir())
	says(t, err, "shard-0 is missing or empty", "vote twice")
	ok(t, os.RemoveAll(f.GroupDir(0)))
	_, err = Open(f.Dir())
	says(t, err, "shard-0 is missing or empty")
}

func TestAWrongNameIsSaid(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, f.CheckName("n1"))
	ok(t, f.Found("n1", creation()))
	ok(t, f.CheckName(""))
	ok(t, f.CheckName("n1"))
	says(t, f.CheckName("n2"), `belongs to node "n1", not "n2"`, "--node-name n1")
}

func TestARemovedNodeStaysRemoved(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, f.Found("n1", creation()))
	ok(t, f.MarkRemoved("it was replaced by n1.2"))
	ok(t, f.Close())
	_, err := Open(f.Dir())
	says(t, err, "no longer part of its cluster: it was replaced by n1.2", "join as a new node")
}

func TestUnreadableIdentityIsSaid(t *testing.T) {
	for content, words := range map[string]string{
		`{"format": 2, "shape": [1]}`: "newer version of lockstep (format 2",
		`{"format": 1, `:              "is damaged",
		`{"format": 1, "name": 7}`:    "is damaged",
		`{"format": 1, "name": "n1", "incarnation": "5", "phase": "settled"}`: "makes no sense: no cluster",
		`{"format": 1, "name": "n1", "incarnation": "5", "phase": "dancing"}`: "unknown phase",
		`{"format": 1, "name": "n1", "incarnation": "0", "phase": "joining"}`: "no incarnation",
		`{"name": "n1"}`: "makes no sense: format 0",
		`{"format": 1, "name": "n1", "incarnation": "5", "phase": "joining", "architecture": "pdp11"}`: "was made on pdp11",
		`{"format": 1, "name": "n1", "incarnation": "5", "phase": "joining"}`:                          "was made on , and this machine",
	} {
		dir := t.TempDir()
		ok(t, os.WriteFile(filepath.Join(dir, identityFile), []byte(content), 0o644))
		_, err := Open(dir)
		says(t, err, words)
		// A folder that was refused must not stay locked.
		ok(t, os.Remove(filepath.Join(dir, identityFile)))
		open(t, dir)
	}
}

func TestACrashWhileWritingLeavesTheOldIdentity(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, f.Found("n1", creation()))
	id := f.Identity().ID()
	ok(t, os.WriteFile(filepath.Join(f.Dir(), identityFile+".tmp"), []byte("{half"), 0o644))
	f = reopen(t, f)
	if f.Identity().ID() != id {
		t.Fatal("another identity")
	}
	_, err := f.Started()
	ok(t, err)
}

// A replica that was dropped is gone for good, whatever a crash leaves of it, and the folder
// remembers for which going that was.
func TestADroppedGroupIsGoneAndIsNotMissed(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, f.Found("n1", creation()))
	for _, g := range []uint32{meta.GroupID, 0, 1} {
		ok(t, os.MkdirAll(f.GroupDir(g), 0o755))
		ok(t, os.WriteFile(filepath.Join(f.GroupDir(g), "stable.db"), []byte("x"), 0o644))
		ok(t, f.Opened(g))
	}
	left := Pledge{Voted: 3, LastTerm: 2, LastIndex: 40}
	ok(t, f.Drop(1, 70, left))
	if _, err := os.Stat(f.GroupDir(1)); !os.IsNotExist(err) {
		t.Fatalf("the data is still there: %v", err)
	}
	f = reopen(t, f)
	if f.DroppedSince(1) != 70 || f.DroppedSince(0) != 0 || f.Pledged(1) != left || f.Pledged(0) != (Pledge{}) {
		t.Fatalf("%+v", f.Identity())
	}
	// A crash between the record and the deletion leaves this.
	ok(t, f.change(func(id *Identity) error {
		id.Groups, id.Dropping = []uint32{0, meta.GroupID}, []uint32{1}
		return nil
	}))
	ok(t, os.MkdirAll(f.GroupDir(1), 0o755))
	ok(t, os.WriteFile(filepath.Join(f.GroupDir(1), "log.db"), []byte("x"), 0o644))
	f = reopen(t, f)
	if _, err := os.Stat(f.GroupDir(1)); !os.IsNotExist(err) || len(f.Identity().Dropping) > 0 {
		t.Fatalf("what was to be deleted is still there: %v, %+v", err, f.Identity())
	}
	// The node may get a replica again, and drop it again.
	ok(t, os.MkdirAll(f.GroupDir(1), 0o755))
	ok(t, os.WriteFile(filepath.Join(f.GroupDir(1), "stable.db"), []byte("x"), 0o644))
	ok(t, f.Opened(1))
	ok(t, f.Drop(1, 90, Pledge{Voted: 4, LastTerm: 4, LastIndex: 41}))
	ok(t, f.Drop(1, 80, Pledge{}))
	if f.DroppedSince(1) != 90 || f.Pledged(1).LastIndex != 41 {
		t.Fatalf("%+v", f.Identity())
	}
}

// settled is the folder of a node that belongs to a cluster.
func settled(t *testing.T) *Folder {
	t.Helper()
	f := open(t, t.TempDir())
	ok(t, f.Found("n1", creation()))
	ok(t, f.MarkFounded())
	return f
}

// The folder remembers the newest cluster version that its node has seen. A program that does not
// know that version refuses the folder.
func TestTheFolderRemembersTheClustersVersion(t *testing.T) {
	f := settled(t)
	known := meta.KnownVersion()
	ok(t, f.SawVersion(known))
	ok(t, f.SawVersion(known-1))
	f = reopen(t, f)
	if got := f.Identity().ClusterVersion; got != known {
		t.Errorf("cluster version %d, not %d", got, known)
	}
	ok(t, f.SawVersion(known+1))
	ok(t, f.Close())
	_, err := Open(f.Dir())
	says(t, err, "cannot be opened by this version of lockstep", fmt.Sprintf("the cluster is at version %d", known+1))
}

func TestARecoveryThatWasCutShortIsRemembered(t *testing.T) {
	f := settled(t)
	ok(t, f.CheckRecovered())
	ok(t, f.BeginRecovery([]meta.NodeID{"n3.3", "n2.2"}))
	f = reopen(t, f)
	says(t, f.CheckRecovered(), "has not come to its end; run it again", "--lost n2.2,n3.3")
	ok(t, f.BeginRecovery([]meta.NodeID{"n2.2"}))
	ok(t, f.EndRecovery())
	f = reopen(t, f)
	ok(t, f.CheckRecovered())
	if id := f.Identity(); len(id.Lost) != 2 || id.Recovering {
		t.Errorf("%+v", id)
	}
}

func TestTheRightToFoundIsGivenOnceAndOutlivesACrash(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, f.BeginJoin("n1"))
	id := f.Identity().ID()
	says(t, f.FoundPromised(creation()), "no right to found")
	if before, err := f.Expects(3); before != 0 || err != nil {
		t.Fatal(before, err)
	}
	ok(t, f.Promise("n1"))
	f = reopen(t, f)
	if before, err := f.Expects(5); before != 3 || err != nil || f.Promised() != "n1" {
		t.Fatal(before, err, f.Promised())
	}
	says(t, f.Promise("n0"), "nothing to promise")
	ok(t, f.FoundPromised(creation()))
	f = reopen(t, f)
	if got := f.Identity(); got.ID() != id || got.Phase != Founding || got.ClusterID == "" {
		t.Fatalf("%+v", got)
	}
	says(t, f.FoundPromised(creation()), "no right to found")
	says(t, f.Promise("n1"), "nothing to promise")
}

func TestWhoPromisedAnotherDoesNotFound(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, f.BeginJoin("n2"))
	ok(t, f.Promise("n1"))
	says(t, f.FoundPromised(creation()), "no right to found")
}

// TestANewStartIsBehindAllThatWereBefore: whatever the clock says, and whatever number a shard
// knows.
func TestANewStartIsBehindAllThatWereBefore(t *testing.T) {
	now := time.UnixMicro(1_800_000_000_000_000)
	for _, c := range []struct {
		last uint64
		now  time.Time
		want uint64
	}{
		{5, now, 1_800_000_000_000_000},
		{1_900_000_000_000_000, now, 1_900_000_000_000_001},
		{5, time.UnixMicro(-7), 6},
		{5, time.UnixMicro(wallMaxUs), wallMaxUs},
		{5, time.UnixMicro(wallMaxUs + 1), 6},
	} {
		if got := nextBoot(c.last, c.now); got != c.want {
			t.Errorf("behind %d at %v: %d, want %d", c.last, c.now, got, c.want)
		}
	}
}
