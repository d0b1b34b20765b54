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
)

// TestASnapshotOpensInRedis: snapshots are RDB files; redis-server loads one
// and holds what the machine held.
func TestASnapshotOpensInRedis(t *testing.T) {
	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("SKIPPED: redis-server is not installed (apt-get install redis-server); snapshots were not opened in Redis")
	}
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
	snap, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	var image bytes.Buffer
	if err := snap.Persist(&image); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dump.rdb"), image.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(server, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no")
	var log bytes.Buffer
	cmd.Stdout = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if got := askRedis(t, socket, "DBSIZE"); got != ":"+strconv.Itoa(len(want)) {
		t.Fatalf("redis-server holds %s keys, not %d; it said:\n%s", got, len(want), log.String())
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

// askRedis sends an inline command on a connection of its own, and waits for
// the server to be there.
func askRedis(t *testing.T, socket, command string) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
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
