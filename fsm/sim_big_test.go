package fsm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"lockstep/engine"
)

// look draws existing keys with their present versions, like a leader that chooses keys to evict.
// The machine must be idle.
func (l *simLog) look(m *Machine) {
	l.candidates = l.candidates[:0]
	l.told = m.state.Load().backlog.cut()
	ks := m.Keyspace()
	for slot := range ks.LockSlots() {
		l.candidates = ks.Sample(l.candidates, int32(slot), false, 2, l.rng.IntN)
	}
}

// evict evicts some of these keys. Those that have changed since then stay. Sometimes the version
// is another one.
func (l *simLog) evict() Op {
	args := [][]byte{[]byte("lockstep.evict")}
	for range 1 + l.rng.IntN(3) {
		c := engine.Candidate{DB: l.rng.IntN(3), Key: string(l.word()), Version: l.rng.Uint64N(50)}
		if len(l.candidates) > 0 && l.rng.IntN(8) > 0 {
			c = l.candidates[l.rng.IntN(len(l.candidates))]
		}
		args = append(args, fmt.Append(nil, c.DB), []byte(c.Key), fmt.Append(nil, c.Version))
	}
	return Op{Args: args}
}

// bigKey is a key with a value of thousands of elements, of the type in its name.
func (l *simLog) bigKey(kind string) string { return fmt.Sprintf("{k%d}big%s", l.rng.IntN(2), kind) }

// bigForms make big values and change them as a whole.
var bigForms = []func(l *simLog) []string{
	func(l *simLog) []string { return l.many("rpush", l.bigKey("list"), "%[1]d") },
	func(l *simLog) []string { return l.many("sadd", l.bigKey("set"), "m%[1]d") },
	func(l *simLog) []string { return l.many("sadd", l.bigKey("ints"), "%[1]d") },
	func(l *simLog) []string { return l.many("zadd", l.bigKey("zset"), "%[2]d", "m%[1]d") },
	func(l *simLog) []string { return l.many("hset", l.bigKey("hash"), "f%[1]d", "v%[2]d") },
	func(l *simLog) []string {
		return l.many("xadd", l.bigKey("stream"), "*", "f%[1]d", "v%[2]d-"+strings.Repeat("x", 40))[:203]
	},
	func(l *simLog) []string {
		return []string{"setrange", l.bigKey("string"), fmt.Sprint(l.rng.IntN(200_000)), strings.Repeat("x", 100)}
	},
	func(l *simLog) []string {
		return []string{"copy", l.bigKey(l.kind()), l.bigKey(l.kind()), "REPLACE"}
	},
	func(l *simLog) []string {
		return []string{"zunionstore", l.bigKey("zset"), "2", l.bigKey("zset"), l.bigKey("set")}
	},
	func(l *simLog) []string {
		return []string{"sdiffstore", l.bigKey("set"), l.bigKey("set"), l.bigKey("ints")}
	},
	func(l *simLog) []string {
		return []string{"sort", l.bigKey("set"), "ALPHA", "LIMIT", "0", "900", "STORE", l.bigKey("list")}
	},
	func(l *simLog) []string { return []string{"spop", l.bigKey("set"), l.number(500)} },
	func(l *simLog) []string { return []string{"lpop", l.bigKey("list"), l.number(500)} },
	func(l *simLog) []string {
		return []string{"zremrangebyrank", l.bigKey("zset"), l.number(100), l.number(900)}
	},
	func(l *simLog) []string { return []string{"hexpire", l.bigKey("hash"), "1", "FIELDS", "1", "f1"} },
	func(l *simLog) []string {
		return []string{"bitop", "xor", l.bigKey("string"), l.bigKey("string"), l.bigKey("string")}
	},
	func(l *simLog) []string { return []string{"unlink", l.bigKey(l.kind())} },
}

func (l *simLog) kind() string {
	return l.pick("list", "set", "ints", "zset", "hash", "stream", "string")
}

// many is a command with a thousand elements that contain random numbers.
func (l *simLog) many(command, key string, forms ...string) []string {
	args := []string{command, key}
	for range 1000 {
		a, b := l.rng.IntN(3000), l.rng.IntN(3000)
		for _, form := range forms {
			switch {
			case form == "*" && len(args) > 2:
			case strings.Contains(form, "%[2]"):
				args = append(args, fmt.Sprintf(form, a, b))
			case form == "*":
				args = append(args, form)
			default:
				args = append(args, fmt.Sprintf(form, a))
			}
		}
	}
	return args
}

func (l *simLog) big() Op {
	var op Op
	for _, a := range bigForms[l.rng.IntN(len(bigForms))](l) {
		op.Args = append(op.Args, []byte(a))
	}
	return op
}

// lateSnapshot is a snapshot that is written out while later entries run.
type lateSnapshot struct {
	of    *simMachine
	index uint64
	image chan []byte
	err   error
}

// beginSnapshot opens a cut here, and returns at once.
func (s *simMachine) beginSnapshot(t *testing.T) *lateSnapshot {
	t.Helper()
	snap, err := s.m.Snapshot()
	if err != nil {
		t.Fatalf("%s: snapshot: %v", s.name, err)
	}
	late := &lateSnapshot{of: s, index: snap.Index(), image: make(chan []byte, 1)}
	go func() {
		var image bytes.Buffer
		late.err = snap.Persist(&image)
		// The caller that gets the image begins another snapshot.
		snap.Release()
		late.image <- image.Bytes()
	}()
	return late
}

// check restores the snapshot, runs the entries that came after it, and expects the present state.
func (late *lateSnapshot) check(t *testing.T, data [][]byte) {
	t.Helper()
	s := late.of
	image := <-late.image
	if late.err != nil {
		t.Fatalf("%s: a snapshot at entry %d: %v", s.name, late.index, late.err)
	}
	fresh := newSimMachine("late snapshot", 4, 8)
	defer fresh.m.Close()
	if err := fresh.m.Restore(bytes.NewReader(image)); err != nil {
		t.Fatalf("a snapshot at entry %d: %v", late.index, err)
	}
	for i := late.index; i < uint64(len(data)); i++ {
		if err := fresh.m.Apply(i+1, data[i]); err != nil {
			t.Fatal(err)
		}
	}
	fresh.await(t, uint64(len(data)))
	s.await(t, uint64(len(data)))
	if !bytes.Equal(fresh.snapshot(t), s.snapshot(t)) {
		t.Fatalf("a snapshot cut at entry %d, while later ones ran, leads to another state after entry %d", late.index, len(data))
	}
}

// The forms have their effects: values become big, and evictions find keys.
func TestBigValuesAndEvictionsAreDrawn(t *testing.T) {
	l := newSimLog(3)
	s := newSimMachine("big", 2, 4)
	defer s.m.Close()
	const entries = 400
	largest := map[engine.Kind]int{}
	for i := range uint64(entries) {
		if err := s.m.Apply(i+1, l.entry()); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			s.await(t, i+1)
			l.look(s.m)
			ks := s.m.Keyspace()
			for slot := range ks.LockSlots() {
				for db := range 3 {
					ks.Slot(int32(slot)).Walk(db, 0, func(_ uint32, e *engine.Entry) bool {
						largest[e.Kind()] = max(largest[e.Kind()], e.MemoryBytes())
						return true
					})
				}
			}
		}
	}
	for _, kind := range []engine.Kind{engine.KindString, engine.KindList, engine.KindHash, engine.KindSet, engine.KindSortedSet, engine.KindStream} {
		if largest[kind] < 5000 {
			t.Errorf("no %v was larger than %d bytes", kind, largest[kind])
		}
	}
	if n := s.m.Keyspace().Stats.Evicted.Load(); n < 20 {
		t.Errorf("only %d keys were evicted", n)
	}
	t.Logf("largest of each: %v; %d evicted", largest, s.m.Keyspace().Stats.Evicted.Load())
}
