package client

import (
	"testing"
	"unsafe"

	"lockstep/engine/command"
)

// TestAClientThatWaitsHoldsLittle: thousands may be blocked, or wait for a leader, each
// with a command or few under way.
func TestAClientThatWaitsHoldsLittle(t *testing.T) {
	for n, mostBytes := range map[int]int{1: 2 << 10, callsFew: 2 << 10, callsFew + 1: 32 << 10, callsKept: 32 << 10} {
		var b calls
		b.reserve(n)
		if has := cap(b.all) * int(unsafe.Sizeof(gathered{})); cap(b.all) < n || has > mostBytes {
			t.Errorf("for %d commands there is room for %d, %d bytes", n, cap(b.all), has)
		}
		b.release()
	}
}

// TestRoomsAreNobodysTwice: clients that have batches under way at one time share no
// memory, and who ends a batch keeps none.
func TestRoomsAreNobodysTwice(t *testing.T) {
	sizes := []int{1, callsFew, callsFew + 1, callsKept, callsKept + 1, callsMax, 2 * callsMax}
	spec := command.Get("get")
	for range 50 {
		clients := make([]calls, 3*len(sizes))
		for i := range clients {
			b := &clients[i]
			n := min(sizes[i%len(sizes)], callsMax)
			b.reserve(sizes[i%len(sizes)])
			b.all = b.all[:n]
			for j := range b.all {
				b.all[j] = gathered{spec: spec, at: i}
			}
			b.list()
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
			b.release() // a client that has nothing gives nothing back
			if b.all != nil || b.ptrs != nil {
				t.Fatal("it has kept its room")
			}
		}
	}
}
