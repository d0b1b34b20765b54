package fsm

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/engine/rdb"
)

// openInRedis starts a redis-server on a file, and returns its socket and its log.
func openInRedis(t *testing.T, image []byte) (socket string, log *bytes.Buffer) {
	t.Helper()
	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("SKIPPED: redis-server is not installed (apt-get install redis-server); snapshots were not opened in Redis")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dump.rdb"), image, 0o600); err != nil {
		t.Fatal(err)
	}
	socket, log = filepath.Join(dir, "s"), &bytes.Buffer{}
	cmd := exec.Command(server, "--enable-debug-command", "yes", "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no")
	cmd.Stdout = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return socket, log
}

// TestFunctionsOfASnapshotAreThereInRedis: redis-server loads a snapshot's functions, except those
// for which it would refuse the whole file. A file of redis-server brings its libraries here.
func TestFunctionsOfASnapshotAreThereInRedis(t *testing.T) {
	m := testMachine(t, nil)
	theirs := "#!lua name=theirs\nredis.register_function('f', function(keys) return redis.call('get', keys[1]) end)" + strings.Repeat("\n-- a comment", 100)
	apply := Bundle{Txns: []Txn{txnOf(0, "function", "load", theirs), loadLibrary(lockKeys, incrKey), txnOf(0, "set", "k", "v")}}
	if err := m.Apply(1, entryOf(1, apply)); err != nil {
		t.Fatal(err)
	}
	socket, log := openInRedis(t, imageOf(t, m))
	if got := askRedis(t, socket, "FCALL f 1 k"); got != "$1v" {
		t.Errorf("a function of ours says %q in redis-server, which said:\n%s", got, log.String())
	}
	if got := askRedis(t, socket, "FCALL f0 1 k"); got != "-ERR Function not found" {
		t.Errorf("a function with a flag that Redis does not know says %q", got)
	}
	if got := askRedis(t, socket, "SAVE"); got != "+OK" {
		t.Fatal(got)
	}
	file, err := os.Open(filepath.Join(filepath.Dir(socket), "dump.rdb"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in, err := rdb.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := in.Next()
		if err != nil || e.EOF || e.Key != nil {
			t.Fatalf("no library in redis-server's file: %v", err)
		}
		if e.Function != nil {
			if string(e.Function) != theirs {
				t.Errorf("the library came back as %q", e.Function)
			}
			return
		}
	}
}

// TestASnapshotOpensInRedis: snapshots are RDB files. redis-server loads one and has the content of
// the machine.
func TestASnapshotOpensInRedis(t *testing.T) {
	m := testMachine(t, nil)
	want := map[string]string{}
	var txns []Txn
	for i := range 1500 {
		key, value := fmt.Sprintf("{t%d}key:%d", i%40, i), strings.Repeat(strconv.Itoa(i), 1+i%50)
		want[key] = value
		txns = append(txns, txnOf(0, "set", key, value))
	}
	if err := m.Apply(1, entryOf(1, Bundle{Txns: txns})); err != nil {
		t.Fatal(err)
	}
	if err := m.Apply(2, entryOf(2, Bundle{Txns: []Txn{txnOf(3, "set", "other", "3"), txnOf(0, "set", "later", "x", "pxat", "4000000000000"), txnOf(0, "del", "{t1}key:1")}})); err != nil {
		t.Fatal(err)
	}
	delete(want, "{t1}key:1")
	want["later"] = "x"
	sets := applySets(t, m)
	socket, log := openInRedis(t, imageOf(t, m))
	if got := askRedis(t, socket, "DBSIZE"); got != ":"+strconv.Itoa(len(want)+len(sets)) {
		t.Fatalf("redis-server holds %s keys, not %d; it said:\n%s", got, len(want)+len(sets), log.String())
	}
	for key := range sets {
		ours := readText(t, m, "lockstep.digest-value", key)
		if got := "*1\r\n+" + strings.TrimPrefix(askRedis(t, socket, "DEBUG DIGEST-VALUE "+key), "*1+") + "\r\n"; got != ours {
			t.Errorf("the digest of set %s is %q in redis-server, not %q", key, got, ours)
		}
	}
	for key, value := range want {
		if got := askRedis(t, socket, "GET "+key); got != "$"+strconv.Itoa(len(value))+value {
			t.Fatalf("%s is %.60q in redis-server, not %.60q", key, got, value)
		}
	}
	if got := askRedis(t, socket, "PEXPIRETIME later"); got != ":4000000000000" {
		t.Errorf("the expiry is %s", got)
	}
}

// applySets makes sets of every form and returns the encodings by key.
func applySets(t *testing.T, m *Machine) map[string]string {
	t.Helper()
	sets := map[string]string{"ints": "intset", "words": "listpack", "large": "hashtable", "left": "hashtable"}
	add := map[string][]string{"ints": {"3", "-70000", "1"}, "words": {"b", "1", "a", ""}}
	for i := range 300 {
		add["large"] = append(add["large"], fmt.Sprint("member", i))
	}
	add["left"] = add["large"]
	index := uint64(3)
	apply := func(args ...string) {
		if err := m.Apply(index, entryOf(index, Bundle{FirstSeq: 10_000 + index, Txns: []Txn{txnOf(0, args...)}})); err != nil {
			t.Fatal(err)
		}
		index++
	}
	for _, key := range []string{"ints", "words", "large", "left"} {
		apply(append([]string{"sadd", key}, add[key]...)...)
	}
	apply(append([]string{"srem", "left"}, add["left"][3:]...)...)
	if err := m.WaitExecuted(t.Context(), index-1); err != nil {
		t.Fatal(err)
	}
	for key, form := range sets {
		if got := readText(t, m, "object", "encoding", key); !strings.Contains(got, form) {
			t.Fatalf("%s is %q, not %s", key, got, form)
		}
	}
	return sets
}

// TestSnapshotsKeepTheFormsOfSets: sets in a loaded snapshot have the same form, order and random
// members.
func TestSnapshotsKeepTheFormsOfSets(t *testing.T) {
	m := testMachine(t, nil)
	for i := range uint64(2) {
		if err := m.Apply(i+1, entryOf(i+1, Bundle{FirstSeq: i, Txns: []Txn{txnOf(0, "set", "k", "v")}})); err != nil {
			t.Fatal(err)
		}
	}
	sets := applySets(t, m)
	other := testMachine(t, nil)
	if err := other.Restore(bytes.NewReader(imageOf(t, m))); err != nil {
		t.Fatal(err)
	}
	for key := range sets {
		for _, command := range []string{"object encoding", "smembers", "srandmember", "dump"} {
			args := append(strings.Fields(command), key)
			if got, want := readText(t, other, args...), readText(t, m, args...); got != want {
				t.Errorf("%s %s: %.200q after a restore, %.200q before", command, key, got, want)
			}
		}
	}
}

// askRedis sends an inline command on a connection of its own, and waits until the server accepts
// connections.
func askRedis(t *testing.T, socket, command string) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			<-time.After(5 * time.Millisecond)
			continue
		}
		_ = conn.SetDeadline(deadline)
		fmt.Fprintf(conn, "%s\r\nQUIT\r\n", command)
		var reply bytes.Buffer
		_, err = reply.ReadFrom(conn)
		conn.Close()
		if err == nil && !strings.HasPrefix(reply.String(), "-LOADING") {
			return strings.ReplaceAll(strings.TrimSuffix(reply.String(), "+OK\r\n"), "\r\n", "")
		}
	}
	t.Fatalf("redis-server does not answer %s", command)
	return ""
}
