package corpus

import (
	"flag"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/tests/corpus/alone"
	"lockstep/tests/kit/proc"
)

var rewrite = flag.Bool("rewrite", false, "write redis-server's answers into the scripts (TestRedisServerAnswersTheCorpus)")

func TestMain(m *testing.M) { proc.Main(m) }

// scripts loads all scripts of testdata.
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

// needsANode lists the cases and scripts that an engine alone cannot answer, with the reasons.
var needsANode = map[string]string{
	"connection: INFO": "describes the node: its memory, its processor, its cluster",
	"blocking":         "INFO says who waits",
	"events":           "a node tells its subscribers",
}

func TestTheEngineAloneAnswersTheCorpus(t *testing.T) {
	target, left := TCP(alone.Serve(t), true), maps.Clone(needsANode)
	for _, s := range scripts(t) {
		name := strings.TrimSuffix(filepath.Base(s.Path), ".txt")
		if _, ok := left[name]; ok {
			delete(left, name)
			continue
		}
		var cases []*scriptCase
		for _, c := range s.cases {
			if _, ok := left[name+": "+c.name]; ok {
				delete(left, name+": "+c.name)
				continue
			}
			cases = append(cases, c)
		}
		s.cases = cases
		t.Run(name, func(t *testing.T) { s.Run(t, target) })
	}
	for name := range left {
		t.Errorf("no script has the case %q any more", name)
	}
}

func TestOneNodeAnswersTheCorpus(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	runAll(t, TCP(proc.NewNode(t, proc.Options{}).Addr(), true))
}

func TestClusterAnswersTheCorpusThroughAFollower(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	// The leader must not change, because it keeps the order of the waiting clients.
	c := proc.NewCluster(t, 3, proc.Options{Args: proc.OneLeader})
	runAll(t, TCP(c.Follower().Addr(), true))
}

// TestManyShardsAnswerTheWholeKeyspace runs the script on whole keyspaces against a follower of a
// cluster with four shards.
func TestManyShardsAnswerTheWholeKeyspace(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	c := proc.NewCluster(t, 3, proc.Options{Shards: 4})
	s, err := Load("testdata/whole.txt")
	if err != nil {
		t.Fatal(err)
	}
	s.Run(t, TCP(c.Follower().Addr(), true))
}
