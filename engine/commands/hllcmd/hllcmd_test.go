package hllcmd_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

func TestHyperLogLogsAnswerAsRedisDoes(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 3000
	}
	t.Run("RESP2", func(t *testing.T) { cmdtest.Differ(t, reply.RESP2, 7, n, cmdtest.HLLCommands) })
	t.Run("RESP3", func(t *testing.T) { cmdtest.Differ(t, reply.RESP3, 8, n, cmdtest.HLLCommands) })
}

// TestHyperLogLogsGrowAsInRedis adds until the text is dense, with several limits, and compares the
// texts byte by byte. Nothing reads in between, so the estimates in the texts are the same too.
func TestHyperLogLogsGrowAsInRedis(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	for _, bytesMax := range []int64{0, 100, 3000, 15000} {
		o.Do(fmt.Sprint("config set hll-sparse-max-bytes ", bytesMax))
		r.Settings.HLLSparseBytesMax = bytesMax
		o.Do("flushall")
		r.Do("flushall")
		for i := range 4000 {
			args := cmdtest.Words(fmt.Sprintf("pfadd k%d e%d", i%2, i))
			if i%3 == 0 {
				args = append(args, fmt.Appendf(nil, "x%d", i))
			}
			if i%1000 == 999 {
				args = cmdtest.Words("pfmerge k2 k0 k1")
			}
			got, want := cmdtest.Both(r, o, args)
			if !bytes.Equal(got, want) {
				t.Fatalf("%q\n got %q\nwant %q", args, got, want)
			}
			if i%50 != 0 && i%1000 != 999 {
				continue
			}
			for _, key := range []string{"k0", "k1", "k2"} {
				if got, want := r.Do("get "+key), o.Do("get "+key); got != want {
					t.Fatalf("limit %d, step %d: %s\n got %x\nwant %x", bytesMax, i, key, got, want)
				}
			}
		}
		for _, line := range []string{"pfcount k0", "pfcount k1", "pfcount k2", "pfcount k0 k1", "pfdebug encoding k2", "pfdebug getreg k2", "object encoding k0", "object encoding k2"} {
			if got, want := r.Do(line), o.Do(line); got != want {
				t.Errorf("limit %d: %s\n got %s\nwant %s", bytesMax, line, got, want)
			}
		}
	}
}

// TestCountingChangesNothing: PFCOUNT runs as a read. Adding existing elements changes at most the
// encoding.
func TestCountingChangesNothing(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Script(`
		pfselftest => +OK
		pfadd e => :1
		object encoding e => $3 raw
		pfadd e => :0
	`)
	r.Do("pfadd k a b c")
	before := r.Do("dump k")
	r.Script(`
		pfcount k => :3
		pfcount k k => :3
	`)
	if after := r.Do("dump k"); after != before {
		t.Errorf("the text was %q, is %q", before, after)
	}
}

// TestMemoryIsAsInRedis compares the memory of HyperLogLogs and bitmaps with the size that
// redis-server reports.
func TestMemoryIsAsInRedis(t *testing.T) {
	// headBytes is the additional memory of a string that can grow in place.
	const headBytes = 48
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	for _, n := range []int{10, 100, 100_000} {
		for i := range n {
			add, set := cmdtest.Words(fmt.Sprint("pfadd h ", i)), cmdtest.Words(fmt.Sprint("setbit b ", i*7, " 1"))
			cmdtest.Both(r, o, add)
			cmdtest.Both(r, o, set)
		}
		for _, key := range []string{"h", "b"} {
			theirs, _ := strconv.Atoi(strings.TrimPrefix(o.Do("memory usage "+key), ":"))
			slot := r.KS.LockSlot([]byte(key))
			ours := r.KS.Find(slot, 0, []byte(key)).MemoryBytes()
			t.Logf("%s of %d: %d bytes, %.2f each; Redis %d", key, n, ours, float64(ours)/float64(n), theirs)
			if ours > theirs*3/2+headBytes {
				t.Errorf("%s of %d: %d bytes, Redis has %d", key, n, ours, theirs)
			}
		}
	}
}
