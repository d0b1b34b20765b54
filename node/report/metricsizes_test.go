package report

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The files of every log store count as the log.
func TestDataSizesByKind(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{
		"raft/shard-0/log.db", "raft/shard-1/wal/0001.wal", "raft/journal/1", "raft/meta/stable.db",
		"raft/shard-0/snapshots/1-2-3/state.bin", "raft/shard-0/snapshots/1-2-3/meta.json", "identity.json",
	} {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, make([]byte, 100_000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sizes := dataSizes(dir)
	if got := slices.Sorted(maps.Keys(sizes)); !slices.Equal(got, slices.Sorted(slices.Values(dataKinds))) {
		t.Fatal(got)
	}
	for kind, files := range map[string]int64{"log": 3, "snapshots": 2, "votes": 1, "other": 1} {
		if sizes[kind] < files*100_000 || sizes[kind] > files*200_000 {
			t.Errorf("%s: %d bytes of %d files", kind, sizes[kind], files)
		}
	}
}
