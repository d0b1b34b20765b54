package stream

import "testing"

func BenchmarkAppend(b *testing.B) {
	s := New()
	pairs := [][]byte{[]byte("sensor"), []byte("12"), []byte("temperature"), []byte("21.5")}
	for i := 0; b.Loop(); i++ {
		s.Append(ID{1_700_000_000_000 + uint64(i), 0}, pairs, Limits{4096, 100})
	}
}

func BenchmarkFind(b *testing.B) {
	const n = 1_000_000
	s := New()
	pairs := [][]byte{[]byte("sensor"), []byte("12"), []byte("temperature"), []byte("21.5")}
	for i := range uint64(n) {
		s.Append(ID{i, 1}, pairs, Limits{4096, 100})
	}
	for i := 0; b.Loop(); i++ {
		if s.Find(ID{uint64(i*7919) % n, 1}) == nil {
			b.Fatal("an entry is missing")
		}
	}
}

func BenchmarkDeliverAndAcknowledge(b *testing.B) {
	s := New()
	s.Groups.Add([]byte("g"), ID{}, 0)
	for i := 0; b.Loop(); i++ {
		g := s.Groups.Change([]byte("g"))
		no, _ := s.Groups.AddConsumer(g, []byte("c"), 5)
		s.Groups.SetPending(g, Pending{ID{uint64(i), 0}, 5, 1, no})
		if i >= 1000 {
			s.Groups.RemovePending(g, ID{uint64(i - 1000), 0})
		}
	}
}
