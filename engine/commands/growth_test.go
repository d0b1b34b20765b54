package commands_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/rdb"
	"lockstep/tests/kit/cmdtest"
)

// sizesOf returns the sizes of the values in the runner's keyspace. If blind is set it returns only
// their sum.
func sizesOf(r *cmdtest.Runner, blind bool) *command.Sizes {
	s := &command.Sizes{AllBytes: r.KS.MemoryBytes(), ValueBytesMax: r.Settings.ValueBytesMax}
	if !blind {
		s.Value = func(key []byte) (int64, bool) {
			if e := r.KS.Find(r.KS.LockSlot(key), r.DB, key); e != nil {
				return int64(e.MemoryBytes()), true
			}
			return 0, true
		}
	}
	return s
}

// TestNothingGrowsBeyondItsBound runs commands that ask for more memory than they bring, one after
// the other on few keys. It compares the growth of the keyspace with the bound that was computed
// before.
func TestNothingGrowsBeyondItsBound(t *testing.T) {
	r, chance := cmdtest.NewRunner(t), rand.New(rand.NewPCG(3, 4))
	// These are allowed beyond the bound and the bytes of the command: a new key, its place in the
	// tables, and a value that changes its form.
	const slackBytes, slackPart = 4 << 10, 8
	key := func() string { return fmt.Sprintf("{t}%d", chance.IntN(6)) }
	far := func() int { return 1 << chance.IntN(23) }
	kinds := map[string]func() string{
		"append":   func() string { return "append " + key() + " " + strings.Repeat("a", 1+chance.IntN(50_000)) },
		"setrange": func() string { return fmt.Sprintf("setrange %s %d abc", key(), far()) },
		"setbit":   func() string { return fmt.Sprintf("setbit %s %d 1", key(), far()) },
		"bitfield": func() string {
			return fmt.Sprintf("bitfield %s get u8 0 set u8 #%d 1 incrby i5 %d 1", key(), far()>>3, far())
		},
		"bitop":       func() string { return fmt.Sprintf("bitop or %s %s %s", key(), key(), key()) },
		"copy":        func() string { return fmt.Sprintf("copy %s %s replace", key(), key()) },
		"sunionstore": func() string { return "sunionstore {t}us {t}s1 {t}s2" },
		"zunionstore": func() string { return "zunionstore {t}uz 2 {t}z1 {t}s2" },
		"zrangestore": func() string { return "zrangestore {t}rz {t}z1 0 -1" },
		"sort":        func() string { return "sort {t}s1 alpha store {t}sorted" },
		"sadd":        func() string { return fmt.Sprintf("sadd {t}s%d member:%d", 1+chance.IntN(2), chance.IntN(5000)) },
		"zadd":        func() string { return fmt.Sprintf("zadd {t}z1 %d member:%d", chance.IntN(100), chance.IntN(5000)) },
		"del":         func() string { return "del " + key() },
	}
	names := slices.Sorted(maps.Keys(kinds))
	for range 4000 {
		name := names[chance.IntN(len(names))]
		args := cmdtest.Words(kinds[name]())
		spec, _ := commands.Lookup(args)
		seen, blind := spec.GrowthBytes(args, sizesOf(r, false)), spec.GrowthBytes(args, sizesOf(r, true))
		before := r.KS.MemoryBytes()
		reply := r.Exec(args...)
		grown := r.KS.MemoryBytes() - before
		own := int64(slackBytes)
		for _, a := range args {
			own += int64(len(a))
		}
		if reply[0] == '-' && !strings.Contains(string(reply), "objects are the same") {
			t.Fatalf("%.60q: %s", args, reply)
		}
		if spec.Grows == nil && len(spec.Keys) < 2 {
			continue // its arguments hold all the bytes that it adds
		}
		if grown > seen+seen/slackPart+own {
			t.Fatalf("%.60q grew by %d, %d was the bound", args, grown, seen)
		}
		if seen > blind {
			t.Fatalf("%.60q: who knows the values expects %d, who does not %d", args, seen, blind)
		}
	}
}

// TestWhatIsThereDoesNotGrow: a command that stays within a long text has a bound of zero if the
// length of the text is known.
func TestWhatIsThereDoesNotGrow(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Do("setrange k 1000000 x")
	for _, line := range []string{"setrange k 999000 x", "setbit k 7990000 1", "bitfield k set u8 7990000 1", "get k", "del k", "setrange k -1 x", "setbit k x 1", "setrange k 99999999999 x", "sort k", "sinterstore"} {
		args := cmdtest.Words(line)
		spec, _ := commands.Lookup(args)
		if got := spec.GrowthBytes(args, sizesOf(r, false)); got != 0 {
			t.Errorf("%s: %d bytes", line, got)
		}
	}
}

func TestPackedPayloadsGrowByWhatTheyClaim(t *testing.T) {
	args := func(payload []byte) [][]byte { return [][]byte{[]byte("restore"), []byte("k"), []byte("0"), payload} }
	packed := rdb.AppendLength(rdb.AppendLength([]byte{rdb.TypeString, 0xc3}, 90), 8000)
	packed = append(packed, bytes.Repeat([]byte{0xff}, 90)...)
	list := append([]byte{rdb.TypeList}, packed[1:]...)
	for name, c := range map[string]struct {
		payload     []byte
		least, most int64
	}{
		"a packed text":               {packed, 8000, 8000},
		"a text that claims too much": {rdb.AppendLength(rdb.AppendLength([]byte{rdb.TypeString, 0xc3}, 9), 1<<40), 0, 0},
		"a plain text":                {rdb.AppendText([]byte{rdb.TypeString}, []byte("\xc3\xc3\xc3")), 0, 0},
		"a list with a packed text":   {list, 8000, 100 * int64(len(list))},
		"nothing":                     {nil, 0, 0},
	} {
		if got := commands.Get("restore").GrowthBytes(args(c.payload), &command.Sizes{}); got < c.least || got > c.most {
			t.Errorf("%s: %d, want %d to %d", name, got, c.least, c.most)
		}
	}
}
