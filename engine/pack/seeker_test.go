package pack

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestASeekerFindsWhatGetFinds searches for existing records and for others, near each other and
// far apart, and for some of them twice.
func TestASeekerFindsWhatGetFinds(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 17))
		// Few fronts, so that many records begin alike.
		record := func() []byte {
			b := binary.BigEndian.AppendUint32(nil, uint32(r.IntN(1+r.IntN(3000))))
			return append(b, make([]byte, r.IntN(1+r.IntN(40)))...)
		}
		tree := &Tree{}
		count := r.IntN(1 + r.IntN(20_000))
		for range count {
			tree.PutRecord(record())
		}
		var probes [][]byte
		for range 1 + r.IntN(5000) {
			probes = append(probes, record())
		}
		for i, found := range tree.From(0) {
			if i%(1+int(seed)) == 0 {
				probes = append(probes, slices.Clone(found))
			}
		}
		slices.SortFunc(probes, slices.Compare)
		there := map[string]bool{}
		for _, found := range tree.From(0) {
			there[string(found)] = true
		}
		s, hits := tree.Seeker(), 0
		for _, probe := range probes {
			if got := s.Has(probe); got != there[string(probe)] {
				t.Fatalf("seed %d: %x of %d records: %v", seed, probe, tree.Len(), got)
			}
			if there[string(probe)] {
				hits++
			}
		}
		if tree.Len() > 0 && hits < tree.Len()/(1+int(seed)) {
			t.Errorf("seed %d: %d of %d were found", seed, hits, len(probes))
		}
	}
}
