package stream

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// nobody is an each that does nothing.
func nobody() {}

// item is an entry of the model.
type item struct {
	id    ID
	pairs []string
}

// model is a stream as a sorted slice of the items that a walk yields.
type model struct{ items []item }

func (m *model) place(id ID) (int, bool) {
	return slices.BinarySearchFunc(m.items, id, func(it item, id ID) int { return it.id.Compare(id) })
}

func collect(e *Entry) item {
	it := item{id: e.ID}
	e.Fields(func(name, value []byte) { it.pairs = append(it.pairs, string(name), string(value)) })
	return it
}

func (m *model) compare(t *testing.T, s *Stream, from, to ID) {
	t.Helper()
	var want, forth, back []item
	for _, it := range m.items {
		if it.id.Compare(from) >= 0 && it.id.Compare(to) <= 0 {
			want = append(want, it)
		}
	}
	s.Range(from, to, func(e *Entry) bool { forth = append(forth, collect(e)); return true })
	s.RangeBack(from, to, func(e *Entry) bool { back = append(back, collect(e)); return true })
	slices.Reverse(back)
	for _, got := range [][]item{forth, back} {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v to %v: %v, want %v", from, to, got, want)
		}
	}
	if s.Len() != len(m.items) {
		t.Fatalf("length %d, want %d", s.Len(), len(m.items))
	}
}

// radixNodes counts the nodes of a radix tree of keys that all begin with the same depth bytes, in
// the simplest way.
func radixNodes(keys [][]byte, depth int) int {
	if len(keys) == 0 {
		return 1
	}
	first, last := keys[0], keys[len(keys)-1]
	at := depth
	for at < IDBytes && first[at] == last[at] {
		at++
	}
	n := 0
	if at > depth {
		n++ // a run
	}
	n++ // an end, or a branch
	if at == IDBytes {
		return n
	}
	for len(keys) > 0 {
		same := 0
		for same < len(keys) && keys[same][at] == keys[0][at] {
			same++
		}
		n += radixNodes(keys[:same], at+1)
		keys = keys[same:]
	}
	return n
}

// check checks what the stream accounts for.
func (s *Stream) check(t *testing.T) {
	t.Helper()
	var keys [][]byte
	s.EachNode(func(id ID, listpack []byte) bool {
		keys = append(keys, id.AppendKey(nil))
		if _, ok := checkNode(append(id.AppendKey(nil), listpack...)); !ok {
			t.Fatalf("node %v is damaged: %x", id, listpack)
		}
		return true
	})
	if !slices.IsSortedFunc(keys, bytes.Compare) || len(keys) != s.Nodes() {
		t.Fatalf("%d nodes: %x", s.Nodes(), keys)
	}
	if want := radixNodes(keys, 0); s.RadixNodes() != want {
		t.Fatalf("%d radix nodes, want %d, of %x", s.RadixNodes(), want, keys)
	}
	sum := 0
	for _, g := range s.Groups.All() {
		sum += groupBytes + len(g.name) + g.pending.MemoryBytes()
		pending := 0
		g.EachConsumer(func(_ int, c *Consumer) {
			sum += consumerBytes + len(c.name) + c.pending.MemoryBytes()
			pending += c.Pending()
		})
		if pending != g.Pending() {
			t.Fatalf("group %s has %d pending entries, its consumers %d", g.name, g.Pending(), pending)
		}
	}
	if sum != s.Groups.bytes {
		t.Fatalf("groups take %d bytes, %d are accounted for", sum, s.Groups.bytes)
	}
}

func randomPairs(r *rand.Rand) [][]byte {
	n := 1 + r.IntN(3)
	if r.IntN(3) > 0 {
		n = 2
	}
	var pairs [][]byte
	for i := range n {
		name := fmt.Sprint("f", i)
		if r.IntN(5) == 0 {
			name = fmt.Sprint(r.IntN(3))
		}
		value := fmt.Sprint(int64(r.Uint64()) >> r.IntN(64))
		switch r.IntN(8) {
		case 0:
			value = string(make([]byte, r.IntN(200)))
		case 1:
			value = "x"
		}
		pairs = append(pairs, []byte(name), []byte(value))
	}
	return pairs
}

func texts(pairs [][]byte) (all []string) {
	for _, p := range pairs {
		all = append(all, string(p))
	}
	return all
}

// nextID grows in steps of all sizes, so that differences need all widths, and IDs differ at all
// bytes.
func nextID(r *rand.Rand, last ID) ID {
	switch id := last; r.IntN(6) {
	case 0:
		id.Ms += 1 + r.Uint64N(1<<(8*r.IntN(7)))
		id.Seq = r.Uint64N(1 << (8 * r.IntN(8)))
		return id
	case 1:
		id.Seq += 1 + r.Uint64N(1<<(8*r.IntN(6)))
		if id.Compare(last) > 0 {
			return id
		}
		fallthrough
	default:
		id, _ = last.Next()
		return id
	}
}

// Random changes have the same effect on a stream as on a sorted slice, and clones keep their
// content.
func TestAStreamIsASortedSlice(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, m := New(), &model{}
		limits := Limits{BytesMax: int64(50 + r.IntN(2000)), EntriesMax: int64(r.IntN(12))}
		type frozen struct {
			s *Stream
			m model
		}
		var clones []frozen
		some := func() ID {
			if len(m.items) > 0 && r.IntN(4) > 0 {
				return m.items[r.IntN(len(m.items))].id
			}
			return ID{r.Uint64N(s.State.Last.Ms + 2), r.Uint64N(3)}
		}
		for step := range 1500 {
			switch op := r.IntN(20); {
			case op < 12 || len(m.items) == 0:
				id, pairs := nextID(r, s.State.Last), randomPairs(r)
				s.Append(id, pairs, limits)
				m.items = append(m.items, item{id, texts(pairs)})
			case op < 17:
				id := some()
				i, there := m.place(id)
				want := 0
				if there {
					m.items = slices.Delete(m.items, i, i+1)
					want = 1
				}
				if got := s.Delete([]ID{id}, nobody); got != want {
					t.Fatalf("seed %d: deleted %d of %v, want %d", seed, got, id, want)
				}
			case op == 17 && r.IntN(10) == 0:
				trim := Trim{ByID: r.IntN(2) == 0, MaxLen: r.Int64N(int64(len(m.items) + 1)), MinID: some()}
				cut := max(0, len(m.items)-int(trim.MaxLen))
				if trim.ByID {
					cut, _ = m.place(trim.MinID)
				}
				if got := s.Trim(trim, func() {}); got != cut {
					t.Fatalf("seed %d: %+v trimmed %d, want %d", seed, trim, got, cut)
				}
				m.items = slices.Clone(m.items[cut:])
			case op == 18 && r.IntN(10) == 0:
				before := s.Len()
				trim := Trim{MaxLen: r.Int64N(int64(before + 1)), Approximate: true, LimitMax: r.Int64N(30)}
				n := s.Trim(trim, func() {})
				if s.Len() != before-n || int64(s.Len()) < trim.MaxLen || trim.LimitMax > 0 && int64(n) > trim.LimitMax {
					t.Fatalf("seed %d: %+v trimmed %d of %d", seed, trim, n, before)
				}
				m.items = slices.Clone(m.items[n:])
			case op == 19 && step%50 == 0:
				clones = append(clones, frozen{s, model{slices.Clone(m.items)}})
				s = s.Clone().(*Stream)
			}
			if step%20 == 0 {
				m.compare(t, s, some(), some())
				s.check(t)
			}
		}
		for _, c := range append(clones, frozen{s, *m}) {
			c.m.compare(t, c.s, ID{}, MaxID)
			c.s.check(t)
			for _, it := range c.m.items {
				if e := c.s.Find(it.id); e == nil || fmt.Sprint(collect(e)) != fmt.Sprint(it) {
					t.Fatalf("seed %d: %v is not found", seed, it.id)
				}
			}
		}
	}
}

// owned is a pending entry in the model.
type owned struct {
	consumer string
	at       int64
	n        uint64
}

// groups are the groups in the model.
type groups map[string]map[ID]owned

func (m groups) clone() groups {
	c := groups{}
	for name, g := range m {
		c[name] = maps.Clone(g)
	}
	return c
}

// compare expects a stream to have the model's groups.
func (m groups) compare(t *testing.T, s *Stream) {
	t.Helper()
	s.check(t)
	if len(s.Groups.All()) != len(m) {
		t.Fatalf("%d groups, want %d", len(s.Groups.All()), len(m))
	}
	for _, g := range s.Groups.All() {
		want := m[g.Name()]
		byConsumer := map[string]int{}
		last := ID{}
		g.PendingFrom(ID{}, func(p Pending) bool {
			name := g.Consumer(p.Consumer).Name()
			if w := want[p.ID]; w != (owned{name, p.DeliveredMs, p.Deliveries}) || p.ID.Compare(last) <= 0 {
				t.Fatalf("%v is %+v of %s, want %+v", p.ID, p, name, w)
			}
			last = p.ID
			byConsumer[name]++
			return true
		})
		if g.Pending() != len(want) {
			t.Fatalf("%d pending, want %d", g.Pending(), len(want))
		}
		g.EachConsumer(func(no int, c *Consumer) {
			n := 0
			g.PendingOf(no, ID{}, func(p Pending) bool {
				if p.Consumer != no {
					t.Fatalf("%v of %d stands with %d", p.ID, p.Consumer, no)
				}
				n++
				return true
			})
			if n != byConsumer[c.Name()] || n != c.Pending() {
				t.Fatalf("consumer %s has %d, want %d", c.Name(), n, byConsumer[c.Name()])
			}
		})
	}
}

// step makes a random change to a stream and to the model.
func (m groups) step(t *testing.T, r *rand.Rand, s *Stream, now int64) {
	name := []byte(fmt.Sprint("g", r.IntN(4)))
	want, exists := m[string(name)]
	if !exists {
		if !s.Groups.Add(name, ID{}, 0) || s.Groups.Add(name, ID{}, 0) {
			t.Fatal("AddGroup")
		}
		m[string(name)] = map[ID]owned{}
		return
	}
	g := s.Groups.Change(name)
	consumer := []byte(fmt.Sprint("c", r.IntN(8)))
	id := ID{1 + r.Uint64N(100), 0}
	switch op := r.IntN(100); {
	case op < 60:
		no, _ := s.Groups.AddConsumer(g, consumer, now)
		o := owned{string(consumer), now, r.Uint64N(1 << r.IntN(60))}
		s.Groups.SetPending(g, Pending{id, o.at, o.n, no})
		s.Groups.SeeConsumer(g, no, now)
		want[id] = o
	case op < 90:
		_, there := want[id]
		if s.Groups.RemovePending(g, id) != there {
			t.Fatal("RemovePending")
		}
		delete(want, id)
	case op < 98:
		no, ok := g.FindConsumer(consumer)
		if !ok {
			return
		}
		n := s.Groups.RemoveConsumer(g, no, nobody)
		maps.DeleteFunc(want, func(_ ID, o owned) bool {
			if o.consumer == string(consumer) {
				n--
			}
			return o.consumer == string(consumer)
		})
		if n != 0 {
			t.Fatal("RemoveConsumer")
		}
	default:
		if !s.Groups.Remove(name) || s.Groups.Remove(name) {
			t.Fatal("RemoveGroup")
		}
		delete(m, string(name))
	}
}

// Random changes of groups have the same effect as on maps, and clones keep their content.
func TestGroupsAreMaps(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		s, want := New(), groups{}
		type frozen struct {
			s    *Stream
			want groups
		}
		var clones []frozen
		for step := range 3000 {
			want.step(t, r, s, int64(step))
			if r.IntN(100) == 0 {
				clones = append(clones, frozen{s, want.clone()})
				s = s.Clone().(*Stream)
			}
			if step%50 == 0 {
				want.compare(t, s)
			}
		}
		for _, c := range append(clones, frozen{s, want}) {
			c.want.compare(t, c.s)
		}
	}
}

func TestIDsHaveNeighbours(t *testing.T) {
	for _, id := range []ID{{}, {0, 1}, {1, 0}, {5, ^uint64(0)}, {^uint64(0), 0}, MaxID} {
		next, ok := id.Next()
		if ok != (id != MaxID) || ok && next.Compare(id) != 1 {
			t.Errorf("behind %v: %v", id, next)
		}
		if back, ok2 := next.Previous(); ok && (!ok2 || back != id) {
			t.Errorf("before %v: %v", next, back)
		}
	}
	if _, ok := (ID{}).Previous(); ok {
		t.Error("there is something before 0-0")
	}
}

// Nodes from outside are refused or can be walked without harm.
func FuzzNode(f *testing.F) {
	s := New()
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		s.Append(nextID(r, s.State.Last), randomPairs(r), Limits{EntriesMax: 5})
	}
	s.Delete([]ID{s.State.First}, nobody)
	s.EachNode(func(_ ID, listpack []byte) bool { f.Add(listpack); return true })
	f.Fuzz(func(t *testing.T, listpack []byte) {
		s := New()
		if s.AddNode(ID{5, 5}, listpack) != nil {
			return
		}
		n := 0
		s.Range(ID{}, MaxID, func(e *Entry) bool { collect(e); n++; return true })
		if n != s.Len() {
			t.Fatalf("%d entries, length %d", n, s.Len())
		}
		s.Append(ID{1 << 63, 0}, [][]byte{[]byte("a"), []byte("b")}, Limits{})
		s.Trim(Trim{MaxLen: int64(s.Len() / 2)}, func() {})
		s.Delete([]ID{{1 << 63, 0}}, nobody)
		s.check(t)
	})
}

// TestMemory prints the cost of an entry. redis-server 7.0 takes about as much.
func TestMemory(t *testing.T) {
	for _, n := range []int{10, 100, 100_000} {
		s := New()
		payload := 0
		for i := range n {
			pairs := [][]byte{[]byte("sensor"), fmt.Append(nil, i%100), []byte("temperature"), fmt.Appendf(nil, "%d.%d", i%40, i%10)}
			payload += len(pairs[1]) + len(pairs[3])
			s.Append(ID{1_700_000_000_000 + uint64(i*7), 0}, pairs, Limits{4096, 100})
		}
		t.Logf("%d entries: %d bytes each, of which %d values", n, s.MemoryBytes()/n, payload/n)
		if n >= 100 && s.MemoryBytes()/n > 40 {
			t.Errorf("%d bytes an entry", s.MemoryBytes()/n)
		}
	}
}
