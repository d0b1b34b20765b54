package leaders

import "testing"

// FuzzTable: whatever another node sends, the answer is this node's table, and no shard gets an
// impossible leader.
func FuzzTable(f *testing.F) {
	f.Add(encode([]Leadership{{5, 10}, {7, 1}}))
	f.Add(encode(make([]Leadership, 3)))
	f.Fuzz(func(t *testing.T, data []byte) {
		e := &Exchange{Table: NewTable(2), Heard: func(int) Leadership { return Leadership{} }}
		e.May = func(_ int, l Leadership) bool { return l.Node == 10 || l.Node == 1 && l.Term <= 7 }
		var answer []byte
		e.Serve(data, func(b []byte) { answer = b })
		if len(answer) != 2*leadershipBytes {
			t.Fatalf("the answer has %d bytes", len(answer))
		}
		known, _ := e.Table.All()
		for shard, l := range known {
			if l != (Leadership{}) && !e.May(shard, l) {
				t.Fatalf("%v", known)
			}
		}
	})
}
