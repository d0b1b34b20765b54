package meta

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
)

func TestANodeIDIsTheNameAndSixteenHexDigits(t *testing.T) {
	for _, n := range []uint64{0, 1, 0xabcdef, 1 << 63, math.MaxUint64} {
		if got, want := MakeNodeID("n1", n), NodeID(fmt.Sprintf("n1.%016x", n)); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestAnIncarnationIsReadFromAnID(t *testing.T) {
	for id, want := range map[NodeID]uint64{
		MakeNodeID("n1", 7): 7, MakeNodeID("a.b-c", 1<<64-1): 1<<64 - 1,
		"": 0, "n1": 0, "n1.7": 0, "n1.000000000000000G": 0, "n1.00000000000000AB": 0, "n1.+000000000000007": 0,
	} {
		if got := id.Incarnation(); got != want {
			t.Errorf("%q: %x, want %x", id, got, want)
		}
	}
}

// TestASnapshotIsJudgedWhenItArrives: a snapshot that was changed or cut on its way is refused on
// arrival. A snapshot with shards that no cluster has is refused when it is read.
func TestASnapshotIsJudgedWhenItArrives(t *testing.T) {
	arrives := func(data []byte) error {
		var a Arrival
		for rest := data; len(rest) > 0; rest = rest[min(100, len(rest)):] {
			if n, err := a.Write(rest[:min(100, len(rest))]); err != nil || n != min(100, len(rest)) {
				t.Fatal(n, err)
			}
		}
		return a.Err()
	}
	whole := seal(snapshotMagic, []byte(writtenState))
	if err := arrives(whole); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]byte{nil, whole[:len(whole)-1], append(whole[:len(whole):len(whole)], 0), seal(commandMagic, []byte(writtenState))} {
		if err := arrives(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
	for _, shards := range []string{
		`[{"id":0,"first_slot":0,"last_slot":16384}]`, `[{"id":0,"first_slot":9,"last_slot":8}]`, `[{"id":1,"first_slot":0,"last_slot":16383}]`,
	} {
		err := NewMachine().Restore(bytes.NewReader(seal(snapshotMagic, []byte(`{"cluster_id":"c1","shards":`+shards+`}`))))
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", shards, err)
		}
	}
}
