package identity

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// says wants an error with all these words in it.
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
	ok(t, f.Settle())
	if got := reopen(t, f).Identity(); got.Phase != Settled {
		t.Fatalf("phase %s", got.Phase)
	}
}

func TestEveryStartHasItsOwnBoot(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, f.Found("n1", creation()))
	for want := uint64(1); want <= 3; want++ {
		boot, err := f.Started()
		if err != nil || boot != want || f.Identity().Boot != want {
			t.Fatalf("boot %d, %v; want %d", boot, err, want)
		}
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
		ok(t, f.Opened([]uint32{g, g}))
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

func TestWrongNameAndWrongClusterAreSaid(t *testing.T) {
	f := open(t, t.TempDir())
	ok(t, f.CheckName("n1"))
	ok(t, f.CheckCluster("c9", "x"))
	ok(t, f.Found("n1", creation()))
	ok(t, f.CheckName(""))
	ok(t, f.CheckName("n1"))
	says(t, f.CheckName("n2"), `belongs to node "n1", not "n2"`, "--node-name n1")
	ok(t, f.CheckCluster(f.Identity().ClusterID, "x"))
	says(t, f.CheckCluster("c9", "host:7"), "holds data of cluster "+f.Identity().ClusterID, "host:7 belongs to cluster c9")
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
	} {
		dir := t.TempDir()
		ok(t, os.WriteFile(filepath.Join(dir, identityFile), []byte(content), 0o644))
		_, err := Open(dir)
		says(t, err, words)
		// A folder that was refused is not left locked.
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
