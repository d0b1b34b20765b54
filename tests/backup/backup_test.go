// Package backup makes backups of real clusters, restores them into other clusters, and lets
// redis-server load their files.
package backup

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/tests/kit/proc"
)

func TestMain(m *testing.M) { proc.Main(m) }

const patience = 60 * time.Second

func mustCtl(t *testing.T, addr string, args ...string) string {
	t.Helper()
	out, code := proc.Ctl(t, addr, args...)
	if code != 0 {
		t.Fatalf("clusterctl %q: exit %d: %s", args, code, out)
	}
	return out
}

// fill writes keys of all types in their small and large forms, some in another database, some with
// an expiry.
func fill(t *testing.T, addr string) {
	t.Helper()
	c := proc.Dial(t, addr)
	do := func(args ...string) {
		t.Helper()
		if v, err := c.Do(args...); err != nil || v.IsError() {
			t.Fatalf("%q: %v %v", args, v, err)
		}
	}
	for _, db := range []string{"0", "5"} {
		do("SELECT", db)
		for i := range 400 {
			n := strconv.Itoa(i)
			do("SET", "string"+n, strings.Repeat("v", i))
			do("RPUSH", "list"+strconv.Itoa(i%3), n, strings.Repeat("w", i%90))
			do("SADD", "numbers"+strconv.Itoa(i%3), n)
			do("SADD", "texts"+strconv.Itoa(i%3), "m"+n)
			do("HSET", "hash"+strconv.Itoa(i%2), "f"+n, n)
			do("ZADD", "scores"+strconv.Itoa(i%2), fmt.Sprint(float64(i)*0.37), "m"+n)
			do("XADD", "stream", n+"-1", "f", n)
		}
		do("RPUSH", "few", "1", "b")
		do("HSET", "small", "a", "1")
		do("ZADD", "short", "1", "a", "-inf", "b")
		do("XGROUP", "CREATE", "stream", "g", "0")
		do("XREADGROUP", "GROUP", "g", "c", "COUNT", "3", "STREAMS", "stream", ">")
		do("PFADD", "hll", "a", "b")
		do("SET", "later", "1", "PXAT", "4000000000000")
		do("SET", "soon", "1", "PX", "3000000")
		do("SET", "number", "-12345")
	}
	do("FUNCTION", "LOAD", "#!lua name=mine\nredis.register_function('f', function() return 7 end)")
}

// redisWith starts a redis-server that loads an RDB file.
func redisWith(t *testing.T, file string) *proc.Process {
	t.Helper()
	return proc.RedisServer(t, "--dir", filepath.Dir(file), "--dbfilename", filepath.Base(file))
}

// digest returns DEBUG DIGEST. It first deletes the functions, because Lockstep includes them in
// its digest.
func digest(t *testing.T, addr string) string {
	t.Helper()
	proc.MustAsk(t, addr, "FUNCTION", "FLUSH")
	return proc.MustAsk(t, addr, "DEBUG", "DIGEST")
}

func TestABackupComesBackInClustersOfOtherShapesAndInRedis(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	source := proc.NewNode(t, proc.Options{Shards: 3})
	fill(t, source.Addr())
	dir := filepath.Join(t.TempDir(), "made", "here")
	out := mustCtl(t, source.Addr(), "backup", "--to", dir)
	if !strings.Contains(out, "stream 2") {
		t.Error(out)
	}
	mustCtl(t, source.Addr(), "backup", "--verify", dir)
	if out, code := proc.Ctl(t, source.Addr(), "backup", "--to", dir); code == 0 || !strings.Contains(out, "not empty") {
		t.Errorf("a backup was overwritten: %s", out)
	}
	whole := filepath.Join(t.TempDir(), "whole.rdb")
	copied, err := exec.Command(proc.Tool(t, "redis-cli"), "-p", strconv.Itoa(source.Port), "--rdb", whole).CombinedOutput()
	if err != nil {
		t.Fatalf("redis-cli --rdb: %v: %s", err, copied)
	}
	redis := redisWith(t, whole)
	if got := proc.MustAsk(t, redis.Addr(), "FCALL", "f", "0"); got != "7" {
		t.Errorf("the function answers %q in redis-server", got)
	}
	for _, file := range []string{"shard-0000.rdb", "shard-0001.rdb", "shard-0002.rdb"} {
		part := redisWith(t, filepath.Join(dir, file))
		if proc.MustAsk(t, part.Addr(), "DBSIZE") == "0" {
			t.Errorf("redis-server found nothing in %s", file)
		}
	}
	for _, shards := range []int{1, 4} {
		other := proc.NewNode(t, proc.Options{Shards: shards})
		if out := mustCtl(t, other.Addr(), "restore", "--from", dir); !strings.Contains(out, "compared") {
			t.Error(out)
		}
		if got := proc.MustAsk(t, other.Addr(), "FCALL", "f", "0"); got != "7" {
			t.Errorf("the function answers %q in %d shards", got, shards)
		}
		if got := proc.MustAsk(t, other.Addr(), "PEXPIRETIME", "later"); got != "4000000000000" {
			t.Errorf("later expires at %s", got)
		}
		if out, code := proc.Ctl(t, other.Addr(), "restore", "--from", dir); code != 4 || !strings.Contains(out, "not empty") {
			t.Errorf("restored into a cluster that holds something: exit %d, %s", code, out)
		}
		mustCtl(t, other.Addr(), "restore", "--from", dir, "--force")
		if a, b := digest(t, other.Addr()), digest(t, redis.Addr()); a != b {
			t.Errorf("%d shards have the digest %s, redis-server %s", shards, a, b)
		}
	}
	if a, b := digest(t, source.Addr()), digest(t, redis.Addr()); a != b {
		t.Errorf("the source has the digest %s, redis-server %s", a, b)
	}
}

// TestABackupUnderLoadHasWhatWasAcknowledgedBefore: a backup contains every increment that was
// acknowledged before it began, and none that a client sent after it ended.
func TestABackupUnderLoadHasWhatWasAcknowledgedBefore(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: 2})
	const writers = 6
	var acked [writers]atomic.Int64
	var stop atomic.Bool
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop.Store(true)
	for w := range writers {
		conn := proc.Dial(t, c.Nodes[w%3].Addr())
		wait.Go(func() {
			for !stop.Load() {
				v, err := conn.Do("INCR", fmt.Sprint("count", w))
				if err != nil || v.IsError() {
					t.Errorf("writer %d: %v %v", w, v, err)
					return
				}
				acked[w].Add(1)
			}
		})
	}
	for round := range 3 {
		proc.Wait(t, patience, "all writers write", func() bool {
			for w := range writers {
				if acked[w].Load() < int64(20*(round+1)) {
					return false
				}
			}
			return true
		})
		var before [writers]int64
		for w := range writers {
			before[w] = acked[w].Load()
		}
		dir := filepath.Join(t.TempDir(), "b")
		mustCtl(t, c.Nodes[round].Addr(), "backup", "--to", dir)
		other := proc.NewNode(t, proc.Options{Shards: 1})
		mustCtl(t, other.Addr(), "restore", "--from", dir)
		for w := range writers {
			n, err := strconv.ParseInt(proc.MustAsk(t, other.Addr(), "GET", fmt.Sprint("count", w)), 10, 64)
			if after := acked[w].Load() + 1; err != nil || n < before[w] || n > after {
				t.Errorf("round %d: writer %d has %d in the backup, %d before, %d after (%v)", round, w, n, before[w], after, err)
			}
		}
	}
}

// TestADamagedBackupIsRefused: when a byte of a backup is changed or a part of it is missing,
// restore refuses it with a message and writes nothing.
func TestADamagedBackupIsRefused(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	source := proc.NewNode(t, proc.Options{Shards: 1})
	for i := range 50 {
		proc.MustAsk(t, source.Addr(), "SET", fmt.Sprint("k", i), strings.Repeat("v", i))
	}
	dir := filepath.Join(t.TempDir(), "b")
	mustCtl(t, source.Addr(), "backup", "--to", dir)
	file, manifest := filepath.Join(dir, "shard-0000.rdb"), filepath.Join(dir, "manifest.json")
	rdb, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	target := proc.NewNode(t, proc.Options{Shards: 1})
	flipped := bytes.Clone(rdb)
	flipped[len(flipped)/2] ^= 1
	for what, damage := range map[string]func(){
		"a bit":         func() { write(t, file, flipped) },
		"cut off":       func() { write(t, file, rdb[:len(rdb)-9]) },
		"longer":        func() { write(t, file, append(bytes.Clone(rdb), 0)) },
		"empty":         func() { write(t, file, nil) },
		"a file":        func() { remove(t, file) },
		"no manifest":   func() { remove(t, manifest) },
		"half manifest": func() { write(t, manifest, text[:len(text)/2]) },
		"other format":  func() { write(t, manifest, bytes.Replace(text, []byte(`"format": 1`), []byte(`"format": 9`), 1)) },
		"other slots":   func() { write(t, manifest, bytes.Replace(text, []byte("16383"), []byte("16000"), 1)) },
		"other counts":  func() { write(t, manifest, bytes.ReplaceAll(text, []byte(`"keys": 50`), []byte(`"keys": 49`))) },
	} {
		write(t, file, rdb)
		write(t, manifest, text)
		damage()
		out, code := proc.Ctl(t, target.Addr(), "restore", "--from", dir)
		if code != 4 || !strings.Contains(out, "nothing was done") || !strings.Contains(out, "damaged") && !strings.Contains(out, "no backup") && !strings.Contains(out, "format") {
			t.Errorf("%s: exit %d: %s", what, code, out)
		}
		if proc.MustAsk(t, target.Addr(), "DBSIZE") != "0" {
			t.Fatalf("%s: something was restored", what)
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// TestAFullDiskLeavesNoBackup: a backup that fails because the disk is full leaves no file behind.
// A limit on the file size stands in for the full disk.
func TestAFullDiskLeavesNoBackup(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	source := proc.NewNode(t, proc.Options{Shards: 2})
	for i := range 40 {
		proc.MustAsk(t, source.Addr(), "SET", fmt.Sprint("k", i), strings.Repeat("v", 100_000))
	}
	dir := filepath.Join(t.TempDir(), "b")
	line := fmt.Sprintf("trap '' XFSZ; ulimit -f 200; exec %s -a %s backup --to %s", proc.Clusterctl(t), source.Addr(), dir)
	out, err := exec.Command("bash", "-c", line).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no backup was made") || !strings.Contains(string(out), "file too large") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there (%v)", err)
	}
	mustCtl(t, source.Addr(), "backup", "--to", dir)
}

func TestAnRDBFileOfRedisIsImported(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	redis := proc.RedisServer(t)
	fill(t, redis.Addr())
	proc.MustAsk(t, redis.Addr(), "SAVE")
	node := proc.NewNode(t, proc.Options{Shards: 3})
	if out := mustCtl(t, node.Addr(), "import", "--rdb", filepath.Join(redis.Dir, "dump.rdb")); !strings.Contains(out, "compared") {
		t.Error(out)
	}
	if got := proc.MustAsk(t, node.Addr(), "FCALL", "f", "0"); got != "7" {
		t.Errorf("the function answers %q", got)
	}
	if a, b := digest(t, node.Addr()), digest(t, redis.Addr()); a != b {
		t.Errorf("the cluster has the digest %s, redis-server %s", a, b)
	}
	if out, code := proc.Ctl(t, proc.NewNode(t, proc.Options{}).Addr(), "import", "--rdb", os.Args[0]); code == 0 || !strings.Contains(out, "no header") {
		t.Errorf("what is no RDB file: exit %d: %s", code, out)
	}
}

// TestABackupIsMadeThroughNodesThatRedirect: every node makes a backup, also when it redirects
// clients to the leader. Every node also refuses to back up a cluster that a load has filled only
// in part.
func TestABackupIsMadeThroughNodesThatRedirect(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Args: []string{"--routing", "redirect"}})
	leader := c.WaitLeader()
	proc.MustAsk(t, leader.Addr(), "SET", "a", "1")
	for _, n := range c.Nodes {
		mustCtl(t, n.Addr(), "backup", filepath.Join(t.TempDir(), n.Name))
	}
	proc.MustAsk(t, leader.Addr(), "SET", "lockstep:loading", `{"id":"x","what":"something"}`)
	for _, n := range c.Nodes {
		dir := filepath.Join(t.TempDir(), n.Name)
		if out, code := proc.Ctl(t, n.Addr(), "backup", dir); code != 4 || !strings.Contains(out, "no backup was made") || !strings.Contains(out, "lockstep:loading") {
			t.Errorf("%s: exit %d, %s", n.Name, code, out)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s left something: %v", n.Name, err)
		}
	}
}
