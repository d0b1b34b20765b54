package identity

import (
	"os"
	"path/filepath"
	"testing"
)

// removed makes a folder of a node called name that was removed from its cluster.
func removed(t *testing.T, dir, name string) string {
	t.Helper()
	f := open(t, dir)
	ok(t, f.BeginJoin(name))
	ok(t, f.Joined("c1", creation()))
	ok(t, os.MkdirAll(f.GroupDir(0), 0o755))
	ok(t, os.MkdirAll(f.JournalDir(), 0o755))
	ok(t, os.WriteFile(filepath.Join(dir, UsersFile), []byte("{}"), 0o600))
	ok(t, os.WriteFile(filepath.Join(dir, SecretFile), []byte("what-nobody-else-knows"), 0o600))
	ok(t, f.MarkRemoved("it was removed by an operator"))
	ok(t, f.Close())
	return string(f.Identity().ID())
}

func TestTheDataOfARemovedNodeIsSetAside(t *testing.T) {
	dir := t.TempDir()
	first := removed(t, dir, "n1")
	where, err := SetAside(dir)
	if err != nil || where != filepath.Join(dir, "removed", first) {
		t.Fatal(where, err)
	}
	for _, name := range []string{"raft/shard-0", "journal", "users.json", "cluster-secret", "identity.json"} {
		if _, err := os.Stat(filepath.Join(where, name)); err != nil {
			t.Error(err)
		}
	}
	// The next node in this folder must not use anything that the removed node knew.
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 || left[0].Name() != "LOCK" || left[1].Name() != "removed" {
		t.Errorf("%v, %v", left, err)
	}
	if where, err := SetAside(dir); where != "" || err != nil {
		t.Fatal("twice: ", where, err)
	}
	// A second node in the same folder is removed: only its data is kept.
	second := removed(t, dir, "n1")
	if _, err := SetAside(dir); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadDir(filepath.Join(dir, "removed"))
	if err != nil || len(kept) != 1 || kept[0].Name() != second {
		t.Fatal(kept, err)
	}
}

func TestASettingAsideThatWasCutShortIsFinished(t *testing.T) {
	dir := t.TempDir()
	id := removed(t, dir, "n1")
	target := filepath.Join(dir, "removed", id)
	ok(t, os.MkdirAll(target, 0o755))
	ok(t, os.Rename(filepath.Join(dir, "raft"), filepath.Join(target, "raft")))
	if where, err := SetAside(dir); where != target || err != nil {
		t.Fatal(where, err)
	}
	if open(t, dir).Identity() != nil {
		t.Fatal("the folder has an owner still")
	}
}

func TestOnlyRemovedNodesAreSetAside(t *testing.T) {
	dir := t.TempDir()
	if where, err := SetAside(dir); where != "" || err != nil {
		t.Fatal(where, err)
	}
	f := open(t, dir)
	ok(t, f.BeginJoin("n1"))
	ok(t, f.Close())
	if where, err := SetAside(dir); where != "" || err != nil {
		t.Fatal(where, err)
	}
	if open(t, dir).Identity() == nil {
		t.Fatal("a node that joins was set aside")
	}
}
