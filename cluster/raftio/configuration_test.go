package raftio

import (
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

func follows(t *testing.T, c *Configurations, index uint64, voters string) {
	t.Helper()
	latest := c.Latest()
	var names []string
	for _, v := range latest.Voters() {
		names = append(names, string(v))
	}
	if got := strings.Join(names, ","); latest.Index != index || got != voters {
		t.Fatalf("the latest configuration is %d: %s, not %d: %s", latest.Index, got, index, voters)
	}
}

func TestConfigurationIsKnownWithItsIndex(t *testing.T) {
	for _, kind := range bothKinds {
		dir := t.TempDir()
		s, _ := opened(t, dir, kind)
		follows(t, s.Configurations, 0, "")
		must(t, s.Log.StoreLog(configurationEntry(1, 1, "a")))
		must(t, s.Log.StoreLogs(commands(2, 9, 1)))
		must(t, s.Log.StoreLog(configurationEntry(10, 1, "a", "b")))
		follows(t, s.Configurations, 10, "a,b")
		must(t, s.Log.StoreLogs(commands(11, 12, 1)))
		// A new leader takes the last one back.
		must(t, s.Log.DeleteRange(10, 12))
		follows(t, s.Configurations, 1, "a")
		must(t, s.Log.StoreLog(configurationEntry(10, 2, "a", "c")))
		follows(t, s.Configurations, 10, "a,c")
		must(t, s.Close())

		// Raft reads the log when it starts.
		s, _ = opened(t, dir, kind)
		for i := uint64(1); i <= 10; i++ {
			must(t, s.Log.GetLog(i, &raft.Log{}))
		}
		follows(t, s.Configurations, 10, "a,c")
		// Reading an old entry changes nothing.
		must(t, s.Log.GetLog(1, &raft.Log{}))
		follows(t, s.Configurations, 10, "a,c")
	}
}

// A node ends right after it has written a configuration, and another leader takes that
// configuration back after the node's restart. Raft reads the end of its log first, and then reads
// from the snapshot on.
func TestAConfigurationIsTakenBackAfterARestart(t *testing.T) {
	for _, kind := range bothKinds {
		dir := t.TempDir()
		s, _ := opened(t, dir, kind)
		must(t, s.Log.StoreLogs([]*raft.Log{configurationEntry(1, 1, "a"), configurationEntry(2, 1, "a", "b")}))
		must(t, s.Log.StoreLogs(commands(3, 8, 1)))
		snapshot(t, s, 1, 1, 1, "a")
		must(t, s.Log.StoreLogs([]*raft.Log{configurationEntry(9, 1, "a", "b", "c")}))
		must(t, s.Close())

		s, _ = opened(t, dir, kind)
		var stale raft.Log
		must(t, s.Log.GetLog(9, &stale))
		for i := uint64(1); i <= 9; i++ {
			must(t, s.Log.GetLog(i, &raft.Log{}))
		}
		follows(t, s.Configurations, 9, "a,b,c")
		must(t, s.Log.DeleteRange(9, 9))
		follows(t, s.Configurations, 2, "a,b")
		// A goroutine had read the configuration before, and records it late.
		s.Configurations.read(&stale)
		follows(t, s.Configurations, 2, "a,b")
	}
}

// The front of a log may be deleted up to its end while a configuration is appended.
func TestACutTakesBackWhatItHasCut(t *testing.T) {
	c := NewConfigurations(nil)
	for _, l := range []*raft.Log{configurationEntry(1, 1, "a"), configurationEntry(2, 1, "a", "b"), configurationEntry(9, 1, "b")} {
		c.wrote(l)
	}
	c.cut(1, 8)
	follows(t, c, 9, "b")
	c.cut(9, 9)
	follows(t, c, 2, "a,b")
}

func TestCompactionTakesNoConfigurationBack(t *testing.T) {
	for _, kind := range bothKinds {
		s, _ := opened(t, t.TempDir(), kind)
		must(t, s.Log.StoreLog(configurationEntry(1, 1, "a")))
		must(t, s.Log.StoreLog(configurationEntry(2, 1, "a", "b")))
		must(t, s.Log.StoreLogs(commands(3, 5, 1)))
		snapshot(t, s, 5, 1, 2, "a", "b")
		must(t, s.Log.DeleteRange(1, 5))
		follows(t, s.Configurations, 2, "a,b")
		must(t, s.Log.StoreLogs(commands(6, 7, 1)))
		follows(t, s.Configurations, 2, "a,b")
	}
}

func TestSnapshotBringsItsConfiguration(t *testing.T) {
	for _, kind := range bothKinds {
		dir := t.TempDir()
		s, _ := opened(t, dir, kind)
		must(t, s.Log.StoreLog(configurationEntry(1, 1, "a")))
		// This entry was never committed.
		must(t, s.Log.StoreLog(configurationEntry(90, 1, "x")))
		snapshot(t, s, 100, 2, 50, "a", "b")
		follows(t, s.Configurations, 50, "a,b")
		must(t, s.Log.StoreLogs(commands(101, 102, 2)))
		follows(t, s.Configurations, 50, "a,b")
		must(t, s.Close())
		s, _ = opened(t, dir, kind)
		follows(t, s.Configurations, 50, "a,b")
	}
}

func TestOwnSnapshotDoesNotHideANewerConfiguration(t *testing.T) {
	s, _ := opened(t, t.TempDir(), StoreBolt)
	must(t, s.Log.StoreLog(configurationEntry(1, 1, "a")))
	must(t, s.Log.StoreLogs(commands(2, 5, 1)))
	must(t, s.Log.StoreLog(configurationEntry(6, 1, "a", "b")))
	snapshot(t, s, 4, 1, 1, "a")
	follows(t, s.Configurations, 6, "a,b")
}
