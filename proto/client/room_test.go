package client

import (
	"testing"
	"unsafe"

	"lockstep/engine/commands"
)

// TestAClientThatWaitsHoldsLittle: thousands of clients may be blocked, or wait for a leader, each
// with one command or a few under way.
func TestAClientThatWaitsHoldsLittle(t *testing.T) {
	for n, mostBytes := range map[int]int{1: 2 << 10, callsFew: 2 << 10, callsFew + 1: 32 << 10, callsKept: 32 << 10} {
		var b calls
		b.reserve(n)
		if has := cap(b.all) * int(unsafe.Sizeof(batched{})); cap(b.all) < n || has > mostBytes {
			t.Errorf("for %d commands there is room for %d, %d bytes", n, cap(b.all), has)
		}
		b.release()
	}
}

// TestRoomsAreNobodysTwice: clients with batches under way at the same time share no memory, and a
// client whose batch has ended keeps none.
func TestRoomsAreNobodysTwice(t *testing.T) {
	sizes := []int{1, callsFew, callsFew + 1, callsKept, callsKept + 1, callsMax, 2 * callsMax}
	spec := commands.Get("get")
	for range 50 {
		clients := make([]calls, 3*len(sizes))
		for i := range clients {
			b := &clients[i]
			n := min(sizes[i%len(sizes)], callsMax)
			b.reserve(sizes[i%len(sizes)])
			b.all = b.all[:n]
			for j := range b.all {
				b.all[j] = batched{spec: spec, at: i}
			}
			b.listToRun()
		}
		for i := range clients {
			b := &clients[i]
			for j := range b.all {
				if b.all[j].at != i || b.ptrs[j] != &b.all[j].call {
					t.Fatalf("call %d of client %d is another's", j, i)
				}
			}
			clear(b.all)
			b.release()
			b.release() // a client without a room returns none
			if b.all != nil || b.ptrs != nil {
				t.Fatal("it has kept its room")
			}
		}
	}
}
