package engine

import (
	"fmt"
	"runtime"
	"testing"
)

const benchKeys = 1 << 20

func benchKeyspace(b *testing.B, lockSlots int) (*Keyspace, [][]byte) {
	b.Helper()
	keys := make([][]byte, benchKeys)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key:%012d", i)
	}
	k := New(Config{LockSlots: lockSlots})
	for _, key := range keys {
		k.Put(k.LockSlot(key), 0, NewString(key, []byte("xxx")), 1)
	}
	return k, keys
}

func BenchmarkFind(b *testing.B) {
	k, keys := benchKeyspace(b, 1024)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		// An odd step visits all keys, far from one another.
		key := keys[i*1_000_003%benchKeys]
		if k.Find(k.LockSlot(key), 0, key) == nil {
			b.Fatal("lost")
		}
	}
}

func BenchmarkPut(b *testing.B) {
	k, keys := benchKeyspace(b, 1024)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		key := keys[i*1_000_003%benchKeys]
		k.Put(k.LockSlot(key), 0, NewString(key, []byte("yyy")), uint64(i))
	}
}

// BenchmarkMemoryPerKey reports the memory of a million keys of 16 bytes with values of 3 bytes.
func BenchmarkMemoryPerKey(b *testing.B) {
	for _, lockSlots := range []int{1, 1024, 16384} {
		b.Run(fmt.Sprint(lockSlots, "_slots"), func(b *testing.B) {
			for range b.N {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				k := New(Config{LockSlots: lockSlots})
				var key []byte
				for i := range benchKeys {
					key = fmt.Appendf(key[:0], "key:%012d", i)
					k.Put(k.LockSlot(key), 0, NewString(key, []byte("xxx")), 1)
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/benchKeys, "bytes/key")
				b.ReportMetric(float64(k.MemoryBytes())/benchKeys, "counted-bytes/key")
				runtime.KeepAlive(k)
			}
		})
	}
}
