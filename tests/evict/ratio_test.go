package evict

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// The trace uses a cache of capacity keys. It draws keys out of universe keys by Zipf's law, in
// batches as a busy client sends them.
const (
	capacity = 2500
	universe = 25_000
	draws    = 100_000
	batch    = 200
	// worseMax is how much lower Lockstep's hit ratio may be.
	worseMax = 0.03
)

// TestHitRatioBesideRedis replays one trace on both servers, each with room for the same number of
// keys, and compares how often a key is found.
func TestHitRatioBesideRedis(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	redis := proc.Dial(t, proc.RedisServer(t).Addr())
	ours := proc.Dial(t, proc.NewNode(t, proc.Options{}).Addr())
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random"} {
		want, got := hitRatio(t, redis, policy), hitRatio(t, ours, policy)
		t.Logf("%s: hit ratio %.3f in Redis, %.3f here", policy, want, got)
		if got < want-worseMax {
			t.Errorf("%s: hit ratio %.3f in Redis, %.3f here", policy, want, got)
		}
	}
}

// hitRatio returns the hit ratio of the second half of the trace.
func hitRatio(t *testing.T, c *respconn.Conn, policy string) float64 {
	t.Helper()
	value := strings.Repeat("v", 500)
	say(t, c, "CONFIG", "SET", "maxmemory", "0")
	say(t, c, "CONFIG", "SET", "maxmemory-policy", policy)
	say(t, c, "FLUSHALL")
	var fill [][]string
	for i := range capacity {
		fill = append(fill, []string{"SET", keyOf(uint64(i)), value})
	}
	run(t, c, fill...)
	full := memoryOf(t, c)
	say(t, c, "FLUSHALL")
	if got := say(t, c, "CONFIG", "SET", "maxmemory", strconv.Itoa(full)); got != "OK" {
		t.Fatal(got)
	}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(11, 12)), 1.01, 1, universe-1)
	hits, asked := 0, 0
	for at := 0; at < draws; at += batch {
		var gets, sets [][]string
		for range batch {
			gets = append(gets, []string{"GET", keyOf(zipf.Uint64())})
		}
		for i, v := range run(t, c, gets...) {
			if text, err := v.Text(); err == nil && text == value {
				if at >= draws/2 {
					hits++
				}
				continue
			}
			sets = append(sets, []string{"SET", gets[i][1], value})
		}
		run(t, c, sets...)
		if at >= draws/2 {
			asked += batch
		}
	}
	keys, _ := strconv.Atoi(say(t, c, "DBSIZE"))
	if keys > capacity*11/10 || keys < capacity*8/10 {
		t.Errorf("%s: %d keys are left, there was room for %d", policy, keys, capacity)
	}
	return float64(hits) / float64(asked)
}

// memoryOf returns used_memory. It uses the given connection.
func memoryOf(t *testing.T, c *respconn.Conn) int {
	t.Helper()
	for line := range strings.SplitSeq(say(t, c, "INFO", "memory"), "\r\n") {
		if text, ok := strings.CutPrefix(line, "used_memory:"); ok {
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("INFO has no used_memory")
	return 0
}
