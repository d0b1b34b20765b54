package differential

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

func TestMain(m *testing.M) { proc.Main(m) }

const (
	defaultOps = 12_000
	longOps    = 1_000_000
	// partOps bounds one stream: a longer run plays several, each with the next seed and on empty
	// servers. So a difference can be found again from its own seed.
	partOps = 20_000
)

// seedAndOps returns the seed and the length of this run, from the environment, or a new seed.
func seedAndOps(t *testing.T) (uint64, int) {
	t.Helper()
	seed, n := proc.Seed(t, rand.Uint64N(1_000_000)), defaultOps
	if proc.Long() {
		n = longOps
	}
	if text := os.Getenv("LOCKSTEP_OPS"); text != "" {
		v, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		n = v
	}
	t.Logf("LOCKSTEP_OPS=%d", n)
	return seed, n
}

// compareStreams plays the streams of a run and prints the shortest one that differs.
func compareStreams(t *testing.T, p *pair) {
	t.Helper()
	defer p.close()
	seed, n := seedAndOps(t)
	played, spurious := 0, 0
	for played < n {
		part := min(partOps, n-played)
		compareStream(t, p, seed, part)
		played, spurious = played+part, spurious+p.spurious
		seed++
		if n > partOps {
			t.Logf("%d commands are answered alike; the next seed is %d", played, seed)
		}
	}
	t.Logf("%d commands are answered alike; %d transactions had to be tried again", played, spurious)
	if spurious > n/1000 {
		t.Error("that is too many")
	}
}

// compareStream plays the stream of one seed.
func compareStream(t *testing.T, p *pair, seed uint64, n int) {
	t.Helper()
	ops := stream(seed, n)
	p.spurious = 0
	m, err := p.play(ops)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if m == nil {
		return
	}
	if m.at+1 < len(ops) {
		ops = ops[:m.at+1]
	}
	first := m
	short := shrink(ops, func(ops []op) bool {
		again, err := p.play(ops)
		if again != nil {
			m = again
		}
		return err == nil && again != nil
	})
	lines := make([]string, len(short))
	for i, o := range short {
		lines[i] = o.String()
	}
	t.Fatalf("LOCKSTEP_SEED=%d LOCKSTEP_OPS=%d: %v\n\nthe shortest stream found:\n%s\n%v", seed, n, first, strings.Join(lines, "\n"), m)
}

func TestNodeAnswersARandomStreamAsRedisDoes(t *testing.T) {
	compareStreams(t, newPair(proc.RedisServer(t).Addr(), proc.NewNode(t, proc.Options{}).Addr()))
}

func TestFollowerAnswersARandomStreamAsRedisDoes(t *testing.T) {
	c := proc.NewCluster(t, 3, proc.Options{})
	compareStreams(t, newPair(proc.RedisServer(t).Addr(), c.Follower().Addr()))
}

// TestOracleAgreesWithItself checks the generator: a stream whose answers depend on a clock or on
// chance would also differ between two redis-servers.
func TestOracleAgreesWithItself(t *testing.T) {
	compareStreams(t, newPair(proc.RedisServer(t).Addr(), proc.RedisServer(t).Addr()))
}

// leftOut are commands on data that are in no stream, with the reason.
var leftOut = map[string]string{
	"MIGRATE":        "needs a second server; tests/migrate",
	"RESTORE-ASKING": "is RESTORE between nodes of a Redis cluster; tests/corpus",
	"PFSELFTEST":     "tests Redis's own code; tests/corpus",
}

// TestAStreamHasEachCommandOnData asks redis-server which commands work on data.
func TestAStreamHasEachCommandOnData(t *testing.T) {
	c, err := respconn.Dial(proc.RedisServer(t).Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var want []string
	for _, category := range strings.Fields("keyspace string list hash set sortedset stream bitmap hyperloglog geo transaction scripting") {
		v, err := c.Do("COMMAND", "LIST", "FILTERBY", "ACLCAT", category)
		if err != nil || len(v.Elems) == 0 {
			t.Fatalf("%s: %v, %v", category, v, err)
		}
		for _, e := range v.Elems {
			if name := strings.ToUpper(string(e.Bytes)); !strings.Contains(name, "|") && leftOut[name] == "" {
				want = append(want, name)
			}
		}
	}
	for seed := range uint64(20) {
		drawn := map[string]int{}
		for _, o := range stream(seed, defaultOps) {
			drawn[o.name()]++
		}
		for _, name := range want {
			if drawn[name] < meetMin {
				t.Errorf("the stream of seed %d has %s %d times", seed, name, drawn[name])
			}
		}
	}
}

func TestTheSeedIsTheStream(t *testing.T) {
	a, b := stream(7, 5000), stream(7, 5000)
	names := map[string]bool{}
	for i := range a {
		if a[i].String() != b[i].String() {
			t.Fatalf("%d: %s and %s", i, a[i], b[i])
		}
		names[a[i].name()] = true
	}
	if len(names) < 50 {
		t.Errorf("only %d different commands in 5000", len(names))
	}
}

func TestShrinkingKeepsWhatIsNeeded(t *testing.T) {
	ops := stream(1, 300)
	ops[20].args, ops[250].args = []string{"NEEDED1"}, []string{"NEEDED2"}
	short := shrink(ops, func(ops []op) bool {
		seen := 0
		for _, o := range ops {
			if strings.HasPrefix(o.args[0], "NEEDED") {
				seen++
			}
		}
		return seen == 2
	})
	if len(short) != 2 {
		t.Errorf("%d commands are left: %v", len(short), short)
	}
}

func TestCommandsThatNeedAClockAreLeftOut(t *testing.T) {
	for line, want := range map[string]bool{
		"SET k v EX 5": false, "SET k v EX 1000000": true, "SET k v PX abc": true, "SET k v PXAT 1": false, "GETEX k PXAT 1": true,
		"SET k v PXAT 1900000000000": false, "SET k 5": true, "PSETEX k 5 v": false, "PSETEX k -5 v": true,
		"EXPIRE k 9223372036854775807": true, "EXPIRE k 9223372036854775": false, "RESTORE k 5 x": false,
		"RESTORE k 5 x ABSTTL": true, "GETEX k EXAT 33177117420": true, "EXPIREAT k 1900000000": false,
	} {
		if got := clockFree(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
