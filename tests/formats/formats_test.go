package formats

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep/cluster/meta/identity"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

var record = flag.Bool("record", false, "make testdata anew, with the present program")

// stores are the log stores. There is one folder for each.
var stores = []string{"boltdb", "wal"}

// TestFoldersOpen: every kept folder opens, holds the values that were written, and takes writes
// that the next start finds.
func TestFoldersOpen(t *testing.T) {
	proc.NeedProcesses(t)
	for _, store := range stores {
		t.Run(store, func(t *testing.T) {
			if *record {
				makeAnew(t, store)
			}
			opens(t, store)
		})
	}
}

// makeAnew writes a store's folder, with the commands that read it and their replies, into
// testdata.
func makeAnew(t *testing.T, store string) {
	n := proc.NewNode(t, proc.Options{Shards: 2, LogStore: store})
	conn := proc.Dial(t, n.Addr())
	var said strings.Builder
	for part, lines := range writes {
		for _, line := range lines {
			proc.Do(t, conn, strings.Fields(line)...)
		}
		if part == 0 {
			proc.Do(t, conn, "LOCKSTEP", "SNAPSHOT")
		}
	}
	for _, line := range reads {
		fmt.Fprintf(&said, "%s\n%s\n", line, reply(t, conn, line))
	}
	n.Kill9()
	name := filepath.Join("testdata", store)
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".txt", []byte(said.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := pack(n.DataDir(), name+".tar.gz"); err != nil {
		t.Fatal(err)
	}
}

// reply returns a reply as one line, with strings quoted.
func reply(t *testing.T, conn *respconn.Conn, line string) string {
	t.Helper()
	return proc.Do(t, conn, strings.Fields(line)...)
}

func opens(t *testing.T, store string) {
	t.Parallel()
	name := filepath.Join("testdata", store)
	asked, archive := name+".txt", name+".tar.gz"
	text, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) < 2*10 || len(lines)%2 != 0 {
		t.Fatalf("%s has %d lines", asked, len(lines))
	}
	// A folder keeps its log store, whatever the setting says.
	other := stores[1-slices.Index(stores, store)]
	n := proc.NewNode(t, proc.Options{LogStore: other, Shards: 2, Before: func(n *proc.Node) {
		if err := unpack(archive, n.DataDir()); err != nil {
			t.Fatal(err)
		}
		needsProcessor(t, n.DataDir())
	}})
	keeps := func() {
		t.Helper()
		if got := proc.Info(n.Addr(), "persistence")["raft_log_store"]; got != store {
			t.Errorf("its logs are kept in %q", got)
		}
	}
	keeps()
	if want := fmt.Sprintf("the data folder was made with another value, and keeps it\" setting=raft-log-store given=%s holds=%s", other, store); !strings.Contains(n.Log(), want) {
		t.Errorf("the node does not say %s", want)
	}
	conn := proc.Dial(t, n.Addr())
	for i := 0; i < len(lines); i += 2 {
		if got := reply(t, conn, lines[i]); got != lines[i+1] {
			t.Errorf("%s: %s, it was %s", lines[i], got, lines[i+1])
		}
	}
	proc.Do(t, conn, "SET", "new", "value")
	if code := n.Stop(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	n.Flags("--raft-log-store", store)
	n.Start()
	n.WaitReady()
	keeps()
	conn = proc.Dial(t, n.Addr())
	for _, line := range []string{"GET text", "GET new"} {
		want := map[string]string{"GET text": "hello:world", "GET new": "value"}[line]
		if v, err := conn.Do(strings.Fields(line)...); err != nil || string(v.Bytes) != want {
			t.Errorf("%s: %s, %v after another start", line, v, err)
		}
	}
}

// needsProcessor skips the test on a machine whose kind of processor differs from the one on which
// the folder was made, because a node refuses such a folder.
func needsProcessor(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "identity.json"))
	var made identity.Identity
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		t.Fatal(err)
	}
	if made.Architecture != identity.Processor() {
		proc.Skip(t, "the folder was made on "+made.Architecture)
	}
}
