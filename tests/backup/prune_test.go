package backup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
)

// made is the JSON output of a backup with --keep.
type made struct {
	Older struct{ Deleted, Kept, Damaged []string }
}

// tellsOlder compares what the output says of older backups, by the last element of their paths.
func (m *made) tellsOlder(t *testing.T, out string, deleted, kept, damaged string) {
	t.Helper()
	*m = made{}
	if err := json.Unmarshal([]byte(out), m); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for what, c := range map[string]struct {
		got  []string
		want string
	}{"deleted": {m.Older.Deleted, deleted}, "kept": {m.Older.Kept, kept}, "damaged": {m.Older.Damaged, damaged}} {
		var names []string
		for _, place := range c.got {
			names = append(names, filepath.Base(place))
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

// TestOnlyOlderBackupsOfTheSameClusterAreDeleted: --keep deletes older backups of the same cluster
// and nothing else. It keeps the backups of another cluster, backups with a missing or an unknown
// file, and everything that is not a backup.
func TestOnlyOlderBackupsOfTheSameClusterAreDeleted(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	node, other := proc.NewNode(t, proc.Options{Shards: 2}), proc.NewNode(t, proc.Options{})
	proc.MustAsk(t, node.Addr(), "SET", "a", "1")
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	var m made
	mustCtl(t, other.Addr(), "backup", in("foreign"))
	for _, name := range []string{"a", "b", "c", "lacks", "strange"} {
		mustCtl(t, node.Addr(), "backup", in(name))
	}
	if err := os.Remove(filepath.Join(in("lacks"), "shard-0001.rdb")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(in("strange"), "notes.txt"), []byte("mine"))
	if err := os.Mkdir(in("no-backup"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(in("no-backup"), "shard-0000.rdb"), []byte("half"))
	write(t, in("file"), nil)
	if err := os.Symlink(in("a"), in("link")); err != nil {
		t.Fatal(err)
	}
	m.tellsOlder(t, mustCtl(t, node.Addr(), "backup", in("d"), "--keep", "3", "-o", "json"), "a", "c b", "lacks strange")
	m.tellsOlder(t, mustCtl(t, node.Addr(), "backup", in("e"), "--keep", "1", "-o", "json"), "d c b", "", "lacks strange")
	mustCtl(t, node.Addr(), "backup", "--verify", in("e"))
	left, err := filepath.Glob(in("*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	slices.Sort(left)
	if got := strings.Join(left, " "); got != "e file foreign lacks link no-backup strange" {
		t.Error(got)
	}
	if out, code := proc.Ctl(t, node.Addr(), "backup", in("e"), "--keep", "1"); code != 4 || !strings.Contains(out, "not empty") {
		t.Errorf("a backup that failed: exit %d, %s", code, out)
	}
	mustCtl(t, node.Addr(), "backup", "--verify", in("e"))
	t.Run("in a bucket", func(t *testing.T) { bucketIsPruned(t, node.Addr(), other.Addr()) })
}

func bucketIsPruned(t *testing.T, addr, other string) {
	s := newStorage(t)
	const where = "s3://" + bucketName + "/site/"
	must := func(at string, args ...string) string {
		t.Helper()
		out, code := s.run(t, at, args...)
		if code != 0 {
			t.Fatalf("%v: exit %d, %s", args, code, out)
		}
		return out
	}
	must(other, "backup", where+"foreign")
	must(addr, "backup", "s3://"+bucketName+"/site-two")
	for _, name := range []string{"a", "b", "lacks"} {
		must(addr, "backup", where+name)
	}
	if _, err := s.held.DeleteObject(bucketName, "site/lacks/users.acl"); err != nil {
		t.Fatal(err)
	}
	var m made
	m.tellsOlder(t, must(addr, "backup", where+"c", "--keep", "2", "-o", "json"), "a", "b", "lacks")
	must(addr, "backup", "--verify", where+"b")
	for _, name := range s.names(t) {
		if strings.HasPrefix(name, "site/a/") {
			t.Errorf("%s was left", name)
		}
	}
	if names := strings.Join(s.names(t), " "); !strings.Contains(names, "site/foreign/manifest.json") || !strings.Contains(names, "site-two/manifest.json") || !strings.Contains(names, "site/lacks/manifest.json") {
		t.Error(names)
	}
}
