package pack

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// TestMixedChangesKeepMemoryAndShape changes trees in byte order by key, by whole record and by
// place. Some keys are short, some are prefixes of others' bytes, some differ far behind their
// front. Meanwhile it freezes clones. At all times each tree must have the records of a map,
// account for the memory of its nodes, and know their counts and fronts.
func TestMixedChangesKeepMemoryAndShape(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 4))
		m := &mixed{t: t, tree: &Tree{}, want: map[string]string{}}
		type frozen struct {
			tree *Tree
			want []string
		}
		var clones []frozen
		for step := range 6000 {
			m.change(r, step/1500%2 == 1)
			if step%50 == 0 {
				m.tree.check(t)
			}
			if r.IntN(150) == 0 {
				clone := m.tree.Clone()
				if r.IntN(2) == 0 { // continue with the clone, freeze the original
					m.tree, clone = clone, m.tree
				}
				clones = append(clones, frozen{clone, m.sorted()})
			}
			if r.IntN(600) == 0 && len(clones) > 0 { // a frozen tree continues by itself
				c := &clones[r.IntN(len(clones))]
				other := &mixed{t: t, tree: c.tree, want: map[string]string{}}
				for _, text := range c.want {
					other.want[text[:mixedKey([]byte(text))]] = text[mixedKey([]byte(text)):]
				}
				for range 200 {
					other.change(r, r.IntN(2) == 0)
				}
				c.want = other.sorted()
			}
		}
		clones = append(clones, frozen{m.tree, m.sorted()})
		for i, c := range clones {
			var got []string
			for _, record := range records(t, c.tree) {
				got = append(got, string(record))
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("seed %d: clone %d has %d records, not those %d", seed, i, len(got), len(c.want))
			}
		}
	}
}

// mixed is a tree, and its expected content: values by key.
type mixed struct {
	t    *testing.T
	tree *Tree
	want map[string]string
}

// mixedKey is the length of a record's key. No key is a prefix of another one.
func mixedKey(record []byte) int { return 1 + int(record[0]) }

// randomMixed is a key and a value.
func randomMixed(r *rand.Rand) (key, value []byte) {
	var name []byte
	switch r.IntN(3) {
	case 0: // of a few bytes, zero among them
		name = randomBytes(r, r.IntN(6), 4)
	case 1: // all of one front
		name = append([]byte("the same front\x00"), randomBytes(r, 4, 4)...)
	default:
		name = randomBytes(r, 8+r.IntN(3), 2)
	}
	length := r.IntN(12)
	if r.IntN(60) == 0 {
		length = r.IntN(2 * leafBytesMax)
	}
	return append([]byte{byte(len(name))}, name...), randomBytes(r, length, 2)
}

func randomBytes(r *rand.Rand, n, kinds int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(kinds))
	}
	return b
}

func (m *mixed) sorted() []string {
	all := make([]string, 0, len(m.want))
	for key, value := range m.want {
		all = append(all, key+value)
	}
	sort.Strings(all)
	return all
}

// change makes one change of the tree, and checks the results.
func (m *mixed) change(r *rand.Rand, shrinking bool) {
	m.t.Helper()
	key, value := randomMixed(r)
	old, there := m.want[string(key)]
	record := append(bytes.Clone(key), value...)
	has := append(bytes.Clone(key), old...)
	if found := m.tree.Get(key); (found != nil) != there || there && !bytes.Equal(found, has) {
		m.t.Fatalf("found %q for %q", found, has)
	}
	rank := m.tree.Rank(key)
	switch op := r.IntN(12); {
	case shrinking && op < 3, op == 0:
		m.says(m.tree.Remove(key), there)
		delete(m.want, string(key))
	case shrinking && op < 6, op == 1:
		m.says(m.tree.RemoveRecord(record), there && bytes.Equal(record, has))
		if bytes.Equal(record, has) {
			delete(m.want, string(key))
		}
	case op == 6 && there:
		m.says(m.tree.RemoveRecord(has), true)
		delete(m.want, string(key))
	case op == 7 && there:
		m.tree.Replace(rank, record)
		m.want[string(key)] = string(value)
	case op == 8 && there:
		m.says(m.tree.PutRecord(has), true)
	case op == 9 && r.IntN(30) == 0:
		count := min(r.IntN(400), m.tree.Len()-rank)
		for _, gone := range m.sorted()[rank : rank+count] {
			delete(m.want, gone[:mixedKey([]byte(gone))])
		}
		m.tree.Delete(rank, count)
	case op == 10 && !there:
		m.tree.Insert(rank, record)
		m.want[string(key)] = string(value)
	case op == 11 && !there:
		m.says(m.tree.PutRecord(record), false)
		m.want[string(key)] = string(value)
	default:
		m.says(m.tree.Put(record, len(key)), there)
		m.want[string(key)] = string(value)
	}
	if m.tree.Len() != len(m.want) {
		m.t.Fatalf("%d records, not %d", m.tree.Len(), len(m.want))
	}
}

func (m *mixed) says(got, want bool) {
	m.t.Helper()
	if got != want {
		m.t.Fatalf("it says %v, which is wrong", got)
	}
}
