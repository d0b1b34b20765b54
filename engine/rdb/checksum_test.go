package rdb

import (
	"hash/crc64"
	"math/rand/v2"
	"strconv"
	"testing"
)

// The checksum is Redis's, and the same however the data is split.
func TestChecksum(t *testing.T) {
	// This is the expected value in redis-server's own test of crc64.c.
	if sum := checksum(0, []byte("123456789")); sum != 0xe9c6d914c4b8d9ca {
		t.Errorf("%x", sum)
	}
	table := crc64.MakeTable(0x95ac9329ac4bc9b5)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		data := make([]byte, r.IntN(100))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		begin := r.Uint64()
		at := r.IntN(len(data) + 1)
		// Go's checksum inverts before and after.
		want := ^crc64.Update(^begin, table, data)
		if whole, parts := checksum(begin, data), checksum(checksum(begin, data[:at]), data[at:]); whole != want || parts != want {
			t.Fatalf("%x from %x on: %x, in parts %x, want %x", data, begin, whole, parts, want)
		}
	}
}

func BenchmarkChecksum(b *testing.B) {
	for _, n := range []int{16, 1024, 64 << 10} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			data := make([]byte, n)
			b.SetBytes(int64(n))
			sum := uint64(0)
			for b.Loop() {
				sum = checksum(sum, data)
			}
		})
	}
}
