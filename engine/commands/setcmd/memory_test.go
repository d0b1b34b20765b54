package setcmd_test

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"lockstep/tests/kit/cmdtest"
)

// heapBytes is the memory in use after a collection.
func heapBytes() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestSetMemory prints what a member costs here, accounted and measured, and in redis-server 7.0.
// It compares the accounted size with the other two.
func TestSetMemory(t *testing.T) {
	o := cmdtest.StartOracle(t)
	for _, c := range []struct {
		what   string
		member func(i int) string
	}{
		{"numbers", strconv.Itoa},
		{"words", func(i int) string { return fmt.Sprintf("member:%08d", i*7919) }},
		{"words of 40", func(i int) string { return fmt.Sprintf("%032d-%07d", i*7919, i) }},
	} {
		for _, n := range []int{10, 100, 100_000} {
			args := [][]byte{[]byte("sadd"), []byte("key:00000")}
			for i := range n {
				args = append(args, []byte(c.member(i)))
			}
			o.Exec(args...)
			redis, _ := strconv.Atoi(cmdtest.Flat(o.Exec([]byte("memory"), []byte("usage"), args[1], []byte("samples"), []byte("0")))[1:])
			o.Exec([]byte("del"), args[1])
			accounted, measured := setMemory(t, args[2:], max(1, 20_000/n))
			per := func(bytes int) float64 { return float64(bytes) / float64(n) }
			t.Logf("%-12s %6d: accounted %6.1f, measured %6.1f, Redis %6.1f bytes a member", c.what, n, per(accounted), per(measured), per(redis))
			// A key whose value is a separate object costs more here than in Redis.
			const keyBytes = 80
			if accounted > redis*3/2+keyBytes {
				t.Errorf("%d %s take %d bytes, %d in Redis", n, c.what, accounted, redis)
			}
			if measured > accounted*5/4 || measured < accounted*3/4 {
				t.Errorf("%d %s: %d bytes accounted, %d measured", n, c.what, accounted, measured)
			}
		}
	}
}

// setMemory is the memory of one set, averaged over copies sets that grow member by member.
func setMemory(t *testing.T, members [][]byte, copies int) (accounted, measured int) {
	r := cmdtest.NewRunner(t)
	before := heapBytes()
	for i := range copies {
		for _, member := range members {
			r.Exec([]byte("sadd"), fmt.Appendf(nil, "key:%05d", i), member)
		}
	}
	measured = heapBytes() - before
	runtime.KeepAlive(members)
	return int(r.KS.MemoryBytes()) / copies, measured / copies
}
