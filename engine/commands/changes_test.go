package commands_test

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/tests/kit/cmdtest"
)

// versions returns the versions of all keys, by database and name.
func versions(r *cmdtest.Runner) map[[2]string]uint64 {
	all := map[[2]string]uint64{}
	for slot := range int32(r.KS.LockSlots()) {
		for db := range engine.Databases {
			r.KS.Slot(slot).Walk(db, 0, func(_ uint32, e *engine.Entry) bool {
				all[[2]string{fmt.Sprint(db), e.Key()}] = e.Version
				return true
			})
		}
	}
	return all
}

// inOrder returns the databases and names of keys, sorted.
func inOrder(versions map[[2]string]uint64) [][2]string {
	return slices.SortedFunc(maps.Keys(versions), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
}

// The changes of a command are exactly the keys that it removes and those whose version it changes.
func TestChangesAreWhatVersionsSay(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 3000
	}
	templates := slices.Concat(cmdtest.StringCommands, cmdtest.KeyCommands, cmdtest.BitCommands, cmdtest.HLLCommands, cmdtest.ListCommands, cmdtest.SetCommands, cmdtest.HashCommands,
		cmdtest.SortCommands, cmdtest.GeoCommands, cmdtest.SortedSetCommands(true), cmdtest.SortedSetsTogether, cmdtest.StreamCommands())
	r := cmdtest.NewRunner(t)
	r.Changes = &command.Changes{}
	g := cmdtest.Generator{Rand: rand.New(rand.NewSource(3)), Future: true}
	told, alls := 0, 0
	for i := range n {
		before := versions(r)
		r.Changes.Reset()
		args := g.Command(templates)
		switch {
		case i%97 == 96:
			// Keys that have an expiry have expired.
			r.NowMs += 1000
			args = [][]byte{[]byte("lockstep.expire")}
			for _, k := range inOrder(before) {
				args = append(args, []byte(k[0]), []byte(k[1]))
			}
			if len(args) == 1 {
				continue
			}
		case i%89 == 88 && len(before) > 0:
			k := inOrder(before)[0]
			args = [][]byte{[]byte("lockstep.evict"), []byte(k[0]), []byte(k[1]), []byte(fmt.Sprint(before[k]))}
		case i%501 == 500:
			args = cmdtest.Words("flushdb")
		}
		r.Exec(args...)
		after := versions(r)
		named, all := map[string]bool{}, false
		for _, key := range r.Changes.Keys {
			named[string(key)] = true
			all = all || key == nil
		}
		changed := map[string]bool{}
		for k, version := range before {
			if after[k] != version {
				changed[k[1]] = true
			}
		}
		for k, version := range after {
			if before[k] != version {
				changed[k[1]] = true
			}
		}
		for key := range changed {
			if !named[key] && !all {
				t.Fatalf("command %d %.200q changed %q without a word", i, args, key)
			}
		}
		for key := range named {
			if !changed[key] && !all {
				t.Fatalf("command %d %.200q says that it changed %q", i, args, key)
			}
		}
		told += len(changed)
		if all {
			alls++
		}
	}
	if told < n/10 || alls == 0 {
		t.Errorf("%d changes and %d of everything: the test shows little", told, alls)
	}
}

// The changes of some commands, in order.
func TestChangesAreNamedInOrder(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Changes = &command.Changes{}
	for _, c := range [][2]string{
		{"mset b 1 a 2", "b a"}, {"rename b c", "b c"}, {"get c", ""}, {"del a nokey c", "a c"},
		{"flushdb", "(all)"}, {"flushall", "(all)"}, {"swapdb 0 0", ""}, {"swapdb 0 1", "(all)"},
		{"sadd s 1", "s"}, {"sadd s 1", ""}, {"srem s 1", "s s"}, {"expire nokey 1", ""},
		{"hset h f v", "h"}, {"hpexpire h 1 fields 1 f", "h"}, {"lpush l 1", "l"}, {"lpop l", "l l"},
		{"set k v", "k"}, {"append k v", "k"}, {"copy k k2", "k2"}, {"move k 1", "k k"},
		{`set "" v`, `""`}, {"set k2 v px 5", "k2"},
		{"xadd x 1-1 f v", "x"}, {"xadd x 1-2 f v", "x"}, {"xdel x 1-1", "x"}, {"xdel x 1-1", ""}, {"xtrim x maxlen 0", "x"}, {"xsetid x 5-5", "x"},
	} {
		r.Changes.Reset()
		if reply := r.Do(c[0]); strings.HasPrefix(reply, "-") {
			t.Errorf("%s: %s", c[0], reply)
		}
		var names []string
		for _, key := range r.Changes.Keys {
			switch {
			case key == nil:
				names = append(names, "(all)")
			case len(key) == 0:
				names = append(names, `""`)
			default:
				names = append(names, string(key))
			}
		}
		if got := strings.Join(names, " "); got != c[1] {
			t.Errorf("%s: changed %q, not %q", c[0], got, c[1])
		}
	}
}
