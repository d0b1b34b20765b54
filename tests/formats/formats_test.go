package formats

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep/cluster/meta"
	"lockstep/tests/proc"
	"lockstep/tests/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

var record = flag.String("record", "", "write testdata/<name>.tar.gz and <name>.txt from the present code")

// stores are the log stores, by the end of the name of their folders.
var stores = map[string]string{"": "boltdb", "-wal": "wal"}

// TestRecord makes the folders of the present version, when it is asked to.
func TestRecord(t *testing.T) {
	if *record == "" {
		return
	}
	for end, store := range stores {
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
		name := filepath.Join("testdata", *record+end)
		if err := os.WriteFile(name+".txt", []byte(said.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := pack(n.DataDir(), name+".tar.gz"); err != nil {
			t.Fatal(err)
		}
	}
}

// reply is a reply in one line, with what JSON would call strings quoted.
func reply(t *testing.T, conn *respconn.Conn, line string) string {
	t.Helper()
	return proc.Do(t, conn, strings.Fields(line)...)
}

// Every folder that was kept opens, holds what was written, and takes writes
// that the next start finds.
func TestOldFoldersOpen(t *testing.T) {
	proc.NeedProcesses(t)
	kept, err := filepath.Glob("testdata/*.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	for version := meta.VersionFirst; version < meta.KnownVersion(); version++ {
		for end := range stores {
			if name := fmt.Sprintf("testdata/v%d%s.tar.gz", version, end); !slices.Contains(kept, name) {
				t.Errorf("no folder of cluster version %d is kept: %s", version, name)
			}
		}
	}
	for _, archive := range kept {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		t.Run(name, func(t *testing.T) { opens(t, archive, strings.TrimSuffix(archive, ".tar.gz")+".txt") })
	}
}

func opens(t *testing.T, archive, asked string) {
	t.Parallel()
	text, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) < 2*10 || len(lines)%2 != 0 {
		t.Fatalf("%s has %d lines", asked, len(lines))
	}
	store := stores[""]
	if strings.Contains(archive, "-wal.") {
		store = stores["-wal"]
	}
	n := proc.NewNode(t, proc.Options{LogStore: store, Shards: 2, Before: func(n *proc.Node) {
		if err := unpack(archive, n.DataDir()); err != nil {
			t.Fatal(err)
		}
	}})
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
	n.Start()
	n.WaitReady()
	conn = proc.Dial(t, n.Addr())
	for _, line := range []string{"GET text", "GET new"} {
		want := map[string]string{"GET text": "hello:world", "GET new": "value"}[line]
		if v, err := conn.Do(strings.Fields(line)...); err != nil || string(v.Bytes) != want {
			t.Errorf("%s: %s, %v after another start", line, v, err)
		}
	}
}
