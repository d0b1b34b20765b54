package corpus

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/tests/proc"
)

var rewrite = flag.Bool("rewrite", false, "write redis-server's answers into the scripts (TestRedisServerAnswersTheCorpus)")

func TestMain(m *testing.M) { proc.Main(m) }

// scripts are all of testdata.
func scripts(t *testing.T) []*Script {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var all []*Script
	for _, path := range paths {
		s, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func runAll(t *testing.T, target Target) {
	t.Helper()
	for _, s := range scripts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(s.Path), ".txt"), func(t *testing.T) { s.Run(t, target) })
	}
}

func TestRedisServerAnswersTheCorpus(t *testing.T) {
	target := TCP(proc.RedisServer(t).Addr(), false)
	if *rewrite {
		for _, s := range scripts(t) {
			s.Rewrite(t, target)
		}
		return
	}
	runAll(t, target)
}

func TestOneNodeAnswersTheCorpus(t *testing.T) {
	runAll(t, TCP(proc.NewNode(t, proc.Options{}).Addr(), true))
}

func TestClusterAnswersTheCorpusThroughAFollower(t *testing.T) {
	c := proc.NewCluster(t, 3, proc.Options{})
	runAll(t, TCP(c.Follower().Addr(), true))
}
