package backup

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func readFull(in io.Reader, into []byte) (int, error) { return io.ReadFull(in, into) }

// loginAs runs clusterctl as a user.
func loginAs(t *testing.T, addr, user, password string, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), proc.Clusterctl(t), append([]string{"-a", addr, "--user", user}, args...)...)
	cmd.Env = append(os.Environ(), "LOCKSTEP_PASSWORD="+password)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestUsersAndSettingsComeBack: a restore brings back users and settings together with the keys.
// The backup holds passwords only as hashes. Users that the new cluster already has stay as they
// are.
func TestUsersAndSettingsComeBack(t *testing.T) {
	open, closed := backupsWithUsers(t)
	t.Run("into an empty cluster", func(t *testing.T) { usersIntoEmpty(t, closed) })
	t.Run("beside others", func(t *testing.T) { usersBesideOthers(t, open) })
}

const sesame = "open-sesame-7"

// linesOf returns ACL LIST of a cluster, after an AUTH with the password.
func linesOf(t *testing.T, addr string) string {
	t.Helper()
	c := proc.Dial(t, addr)
	proc.Do(t, c, "AUTH", sesame)
	return proc.Do(t, c, "ACL", "LIST")
}

// madeUsers is a backup of a cluster and the users that the cluster had then.
type madeUsers struct{ dir, lines string }

// backupsWithUsers makes two backups of a cluster: one before its default user got a password, and
// one after.
func backupsWithUsers(t *testing.T) (open, closed madeUsers) {
	t.Helper()
	source := proc.NewCluster(t, 3, proc.Options{Shards: 2})
	at := source.Nodes[1].Addr()
	for _, args := range [][]string{
		{"SET", "a", "1"},
		{"CONFIG", "SET", "notify-keyspace-events", "Kx"},
		{"CONFIG", "SET", "proto-max-bulk-len", "32mb"},
		{"ACL", "SETUSER", "ann", "on", ">" + sesame, "~app:*", "&news:*", "+@read", "-get", "+config|get", "(%R~x* +get)"},
		{"ACL", "SETUSER", "admin", "on", ">" + sesame, "allkeys", "allchannels", "+@all"},
	} {
		proc.MustAsk(t, at, args...)
	}
	far := proc.Dial(t, source.Nodes[2].Addr())
	proc.Wait(t, patience, "the other node lets the admin in", func() bool { return strings.Contains(proc.Do(t, far, "ACL", "USERS"), "admin") })
	proc.MustAsk(t, at, "ACL", "SETUSER", "off", "resetchannels")
	// The backup contains what another node has acknowledged, whichever node makes it.
	dir := filepath.Join(t.TempDir(), "b")
	if out, code := loginAs(t, source.Nodes[2].Addr(), "admin", sesame, "backup", "--to", dir); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	if out, code := loginAs(t, at, "ann", sesame, "backup", "--to", dir+"2"); code != 4 || !strings.Contains(out, "NOPERM") {
		t.Errorf("a backup by a user that may not: exit %d, %s", code, out)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(filepath.Join(dir, f.Name())); err != nil || strings.Contains(string(text), sesame) {
			t.Errorf("%s holds a password in words (%v)", f.Name(), err)
		}
	}
	proc.MustAsk(t, at, "ACL", "SETUSER", "default", ">"+sesame, "resetpass", ">"+sesame)
	later := filepath.Join(t.TempDir(), "closed")
	if out, code := loginAs(t, at, "admin", sesame, "backup", "--to", later); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	return madeUsers{dir: dir}, madeUsers{later, linesOf(t, at)}
}

func usersIntoEmpty(t *testing.T, made madeUsers) {
	one := proc.NewNode(t, proc.Options{})
	out := mustCtl(t, one.Addr(), "restore", "--from", made.dir)
	for _, want := range []string{"settings put into force: notify-keyspace-events, proto-max-bulk-len", "users put back, with their passwords: admin, ann, off, default"} {
		if !strings.Contains(out, want) {
			t.Errorf("restore does not say %q: %s", want, out)
		}
	}
	if got := linesOf(t, one.Addr()); got != made.lines {
		t.Errorf("users of the backup: %s\nand of the restored: %s", made.lines, got)
	}
	if out, code := proc.Ctl(t, one.Addr(), "status"); code != 4 || !strings.Contains(out, "NOAUTH") {
		t.Errorf("the restored cluster is open: exit %d, %s", code, out)
	}
}

// usersBesideOthers: a cluster that already has a user keeps it as it was, and clusterctl says so.
func usersBesideOthers(t *testing.T, made madeUsers) {
	dir := made.dir
	two := proc.NewNode(t, proc.Options{})
	proc.MustAsk(t, two.Addr(), "ACL", "SETUSER", "ann", "on", "nopass", "+ping")
	limit := func() string { return proc.Do(t, proc.Dial(t, two.Addr()), "CONFIG", "GET", "proto-max-bulk-len") }
	was := limit()
	out := mustCtl(t, two.Addr(), "restore", dir, "--no-settings")
	if !strings.Contains(out, "put back, with their passwords: admin, off") || !strings.Contains(out, "as they were: ann") {
		t.Error(out)
	}
	if got := limit(); got != was {
		t.Errorf("%s, was %s", got, was)
	}
	proc.MustAsk(t, two.Addr(), "FLUSHALL")
	proc.MustAsk(t, two.Addr(), "ACL", "DELUSER", "admin")
	if out := mustCtl(t, two.Addr(), "restore", dir, "--no-users"); strings.Contains(out, "users") || strings.Contains(proc.Do(t, proc.Dial(t, two.Addr()), "ACL", "USERS"), "admin") {
		t.Error("users came back: ", out)
	}
	damaged := filepath.Join(dir, "users.acl")
	text, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	write(t, damaged, []byte(strings.Replace(string(text), "-get", "+get", 1)))
	if out, code := proc.Ctl(t, two.Addr(), "restore", dir, "--force"); code != 4 || !strings.Contains(out, "users.acl has another content") {
		t.Errorf("users were changed on the way: exit %d, %s", code, out)
	}
}

// TestARestoreEndsWithItsMark: a restore ends when its mark is no longer in the cluster, because
// somebody has emptied the cluster or taken the mark. So it does not write over what others write
// next.
func TestARestoreEndsWithItsMark(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	source, target := proc.NewNode(t, proc.Options{}), proc.NewNode(t, proc.Options{})
	c := proc.Dial(t, source.Addr())
	for i := range 1000 {
		proc.Do(t, c, "SET", fmt.Sprint("k", i), "v")
	}
	dir := filepath.Join(t.TempDir(), "b")
	mustCtl(t, source.Addr(), "backup", dir)
	cmd := exec.CommandContext(t.Context(), proc.Clusterctl(t), "-a", target.Addr(), "restore", dir, "--rate", "100")
	var said output
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := proc.StartMortal(cmd); err != nil {
		t.Fatal(err)
	}
	proc.Wait(t, patience, "the restore has begun", func() bool { return proc.MustAsk(t, target.Addr(), "EXISTS", "lockstep:loading") == "1" })
	proc.MustAsk(t, target.Addr(), "FLUSHALL")
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 5 || !strings.Contains(said.String(), "is not this program's any more") {
		t.Errorf("exit %d, %s", code, said.String())
	}
	if got := proc.MustAsk(t, target.Addr(), "EXISTS", "lockstep:loading"); got != "0" {
		t.Error("the mark is there again")
	}
}

// TestARestoreThatWasKilledGoesOn: a restore that is killed leaves its mark in the cluster. Until
// the same restore has been run again to its end, the cluster refuses a backup and any other load.
func TestARestoreThatWasKilledGoesOn(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	source := proc.NewNode(t, proc.Options{})
	c := proc.Dial(t, source.Addr())
	// At 200 keys a second the restore takes 30 seconds. The checks while it runs take some seconds
	// on a busy machine.
	const keys = 6000
	all := []string{"MSET"}
	for i := range keys {
		all = append(all, fmt.Sprint("k", i), "v")
	}
	proc.Do(t, c, all...)
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	for _, dir := range dirs {
		mustCtl(t, source.Addr(), "backup", dir)
		proc.MustAsk(t, source.Addr(), "SET", "more", "1")
	}
	target := proc.NewNode(t, proc.Options{})
	cmd := exec.CommandContext(t.Context(), proc.Clusterctl(t), "-a", target.Addr(), "restore", dirs[0], "--rate", "200")
	if err := proc.StartMortal(cmd); err != nil {
		t.Fatal(err)
	}
	proc.Wait(t, patience, "some keys are there", func() bool { return len(proc.MustAsk(t, target.Addr(), "DBSIZE")) > 2 })
	for _, force := range []string{"--force=true", "--force=false"} {
		if out, code := proc.Ctl(t, target.Addr(), "restore", dirs[0], force); code != 4 || !strings.Contains(out, fmt.Sprintf("is being loaded into this cluster at this moment, by process %d", cmd.Process.Pid)) {
			t.Errorf("a second one beside it, %s: exit %d, %s", force, code, out)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	file := filepath.Join(dirs[0], "shard-0000.rdb")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"restore", dirs[1]}, "go on with that one"},
		{[]string{"import", "--rdb", file}, "go on with that one"},
		{[]string{"backup", filepath.Join(t.TempDir(), "half")}, "does not hold all of the backup of cluster"},
	} {
		if out, code := proc.Ctl(t, target.Addr(), c.args...); code != 4 || !strings.Contains(out, c.says) {
			t.Errorf("%v: exit %d, %s", c.args, code, out)
		}
	}
	// The comparison finds a key that a client has written meanwhile.
	proc.MustAsk(t, target.Addr(), "SET", "foreign", "1")
	if out, code := proc.Ctl(t, target.Addr(), "restore", dirs[0]); code != 5 || !strings.Contains(out, "does not hold what the files hold") {
		t.Errorf("exit %d, %s", code, out)
	}
	proc.MustAsk(t, target.Addr(), "DEL", "foreign")
	out := mustCtl(t, target.Addr(), "restore", dirs[0], "-o", "json")
	for _, want := range []string{`"resumed": true`, `"compared": true`, fmt.Sprintf(`"keys": %d`, keys)} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %s", want, out)
		}
	}
	if got := proc.MustAsk(t, target.Addr(), "DBSIZE"); got != fmt.Sprint(keys) {
		t.Errorf("%s keys", got)
	}
	if out, code := proc.Ctl(t, target.Addr(), "restore", dirs[0]); code != 4 || !strings.Contains(out, "not empty") {
		t.Errorf("a restore that ended begins again: exit %d, %s", code, out)
	}
	// A file that is damaged somewhere in the middle is refused before its first key is written.
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.rdb")
	write(t, bad, data[:len(data)-100])
	empty := proc.NewNode(t, proc.Options{})
	if out, code := proc.Ctl(t, empty.Addr(), "import", "--rdb", bad); code != 4 || !strings.Contains(out, "nothing was done") || proc.MustAsk(t, empty.Addr(), "DBSIZE") != "0" {
		t.Errorf("exit %d, %s", code, out)
	}
}

// TestAHashComesBackWithoutTheFieldsThatAreDue: a restore leaves out the fields of a hash that have
// expired by then, as it leaves out keys that have expired. The comparison still succeeds.
func TestAHashComesBackWithoutTheFieldsThatAreDue(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	source, target := proc.NewNode(t, proc.Options{}), proc.NewNode(t, proc.Options{Shards: 2})
	many, due := []string{"HSET", "large"}, []string{"HPEXPIRE", "large", "1", "FIELDS", "300"}
	for i := range 600 {
		many = append(many, fmt.Sprint("f", i), "v")
		if i%2 == 0 {
			due = append(due, fmt.Sprint("f", i))
		}
	}
	c := proc.Dial(t, source.Addr())
	for _, args := range [][]string{
		// Without the active expiry the expired fields stay in memory, and so in the backup.
		{"DEBUG", "SET-ACTIVE-EXPIRE", "0"},
		{"HSET", "small", "stays", "1", "later", "2", "goes", "3"}, {"HPEXPIRE", "small", "1", "FIELDS", "1", "goes"}, {"HPEXPIRE", "small", "9000000", "FIELDS", "1", "later"},
		{"HSET", "gone", "goes", "1"}, {"HPEXPIRE", "gone", "1", "FIELDS", "1", "goes"},
		many, due,
	} {
		if v, err := c.Do(args...); err != nil || v.IsError() {
			t.Fatalf("%q: %v, %v", args[:2], v, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "b")
	if out := mustCtl(t, source.Addr(), "backup", dir); !strings.Contains(out, "3 keys (hash 3)") {
		t.Fatalf("the backup holds nothing that is due: %s", out)
	}
	if out := mustCtl(t, target.Addr(), "restore", dir); !strings.Contains(out, "compared: 2 keys (hash 2)") {
		t.Error(out)
	}
	proc.Wait(t, patience, "the key of which nothing is left goes", func() bool { return proc.MustAsk(t, target.Addr(), "DBSIZE") == "2" })
	for _, ask := range [][]string{{"HLEN small", ":2"}, {"HLEN large", ":300"}, {"EXISTS gone", ":0"}} {
		if got := proc.Do(t, proc.Dial(t, target.Addr()), strings.Fields(ask[0])...); got != ask[1] {
			t.Errorf("%s is %s, want %s", ask[0], got, ask[1])
		}
	}
}

// TestALargeStreamComesBack: a restore also brings back a stream that is too large for one command,
// with its groups, its pending entries and the ids that it keeps of deleted entries.
func TestALargeStreamComesBack(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	source, target := proc.NewNode(t, proc.Options{}), proc.NewNode(t, proc.Options{Shards: 2})
	c := proc.Dial(t, source.Addr())
	do := func(args ...string) {
		t.Helper()
		if v, err := c.Do(args...); err != nil || v.IsError() {
			t.Fatalf("%q: %v, %v", args[:2], v, err)
		}
	}
	for i := range 24 {
		do("XADD", "s", fmt.Sprintf("%d-7", i+1), "f", strings.Repeat(string(rune('a'+i)), 1<<20), "g", fmt.Sprint(i))
	}
	do("XGROUP", "CREATE", "s", "readers", "0")
	do("XGROUP", "CREATE", "s", "late", "5-0", "ENTRIESREAD", "4")
	do("XREADGROUP", "GROUP", "readers", "one", "COUNT", "3", "STREAMS", "s", ">")
	do("XREADGROUP", "GROUP", "readers", "two", "COUNT", "2", "STREAMS", "s", ">")
	do("XDEL", "s", "2-7", "24-7")
	do("PEXPIREAT", "s", "9999999999999")
	dir := filepath.Join(t.TempDir(), "b")
	mustCtl(t, source.Addr(), "backup", dir)
	if out := mustCtl(t, target.Addr(), "restore", dir); !strings.Contains(out, "compared: 1 keys (stream 1)") {
		t.Error(out)
	}
	ours := proc.Dial(t, target.Addr())
	for _, ask := range []string{"XRANGE s - +", "XINFO GROUPS s", "XPENDING s readers - + 100 one", "XPENDING s readers - + 100 two", "PEXPIRETIME s", "XADD s 24-8 f v"} {
		got, want := withoutIdle(proc.Do(t, ours, strings.Fields(ask)...)), withoutIdle(proc.Do(t, c, strings.Fields(ask)...))
		if got != want {
			t.Errorf("%s is %.300s, want %.300s", ask, got, want)
		}
	}
	for _, field := range []string{"last-generated-id", "max-deleted-entry-id", "entries-added", "recorded-first-entry-id"} {
		if got, want := fieldOf(t, ours, field), fieldOf(t, c, field); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
}

// withoutIdle returns an answer of XPENDING without the idle times.
func withoutIdle(answer string) string {
	return regexp.MustCompile(`("(?:one|two)") :\d+`).ReplaceAllString(answer, "$1 ")
}

// fieldOf returns a field of XINFO STREAM.
func fieldOf(t *testing.T, c *respconn.Conn, field string) string {
	t.Helper()
	v, err := c.Do("XINFO", "STREAM", "s")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(v.Elems); i += 2 {
		if string(v.Elems[i].Bytes) == field {
			return v.Elems[i+1].String()
		}
	}
	t.Fatalf("XINFO STREAM has no %s", field)
	return ""
}
