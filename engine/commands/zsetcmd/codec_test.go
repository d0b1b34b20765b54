package zsetcmd_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/values"
	"lockstep/engine/commands/zsetcmd"
	"lockstep/engine/rdb"
	"lockstep/engine/zset"
	"lockstep/tests/kit/cmdtest"
)

// sampleSortedSets are sets of all sizes and with all kinds of scores.
func sampleSortedSets() map[string]*zset.Set {
	limits := zset.Limits{EntriesMax: 128, MemberBytesMax: 64}
	odd := zset.New()
	for i, score := range []float64{0, 1, -1, 127, 128, -4097, 1 << 40, 1e17, 4e18, 5e18, 1e300, 0.1, -1e-300, math.Inf(1), math.Inf(-1), 4.9e-324} {
		odd.Put(fmt.Appendf(nil, "%d", i*1000), score, limits)
		odd.Put(fmt.Appendf(nil, "member %d", i), score, limits)
	}
	odd.Put(nil, 5, limits)
	large := odd.Clone().(*zset.Set)
	for i := range 3000 {
		large.Put(fmt.Appendf(nil, "m%d", i), float64(i%50)/8, limits)
	}
	large.Put([]byte("minus zero"), math.Copysign(0, -1), limits)
	long := zset.New()
	long.Put(bytes.Repeat([]byte("x"), 5000), 1.5, limits)
	one := zset.New()
	one.Put([]byte("a"), 1, limits)
	return map[string]*zset.Set{"odd scores": odd, "large": large, "a long member": long, "one": one}
}

// TestSortedSetDumpsGoBothWays restores our dumps in redis-server, and the dumps of redis-server here.
func TestSortedSetDumpsGoBothWays(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	key := []byte("k")
	whole := [][]byte{[]byte("zrange"), key, []byte("0"), []byte("-1"), []byte("withscores")}
	for name, s := range sampleSortedSets() {
		e := engine.NewObject(key, engine.KindSortedSet, s)
		r.KS.Put(r.KS.LockSlotOf(e), 0, e, 1)
		want := r.Exec(whole...)
		payload := cmdtest.Bulk(t, r.Exec([]byte("dump"), key))
		if got := cmdtest.Flat(o.Exec([]byte("restore"), key, []byte("0"), payload, []byte("replace"))); got != "+OK" {
			t.Fatalf("%s: redis-server refuses our dump: %s", name, got)
		}
		if got := o.Exec(whole...); !bytes.Equal(got, want) {
			t.Fatalf("%s: redis-server restored\n%.300q, want\n%.300q", name, got, want)
		}
		for _, question := range []string{"object encoding k", "zscan k 0 count 100000"} {
			if got, want := string(cmdtest.SortedPairs(r.Exec(cmdtest.Words(question)...))), string(cmdtest.SortedPairs(o.Exec(cmdtest.Words(question)...))); got != want {
				t.Errorf("%s: %s\n got %.300q\nwant %.300q", name, question, got, want)
			}
		}
		if got, want := r.Do("lockstep.digest-value k"), o.Do("debug digest-value k"); got != "*1 "+want[len("*1 "):] {
			t.Errorf("%s: digest %s, want %s", name, got, want)
		}
		back := cmdtest.Bulk(t, o.Exec([]byte("dump"), key))
		if got := cmdtest.Flat(r.Exec([]byte("restore"), key, []byte("0"), back, []byte("replace"))); got != "+OK" {
			t.Fatalf("%s: restore of redis-server's dump: %s", name, got)
		}
		if got := r.Exec(whole...); !bytes.Equal(got, want) {
			t.Fatalf("%s: restored\n%.300q, want\n%.300q", name, got, want)
		}
		if got, want := r.Do("object encoding k"), o.Do("object encoding k"); got != want {
			t.Errorf("%s: encoding %s, want %s", name, got, want)
		}
	}
}

// TestRestoreDecidesWhatIsSmall expects RESTORE under other limits than those of
// the dump to choose as Redis does.
func TestRestoreDecidesWhatIsSmall(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	fill := func(do func(string) string, n int, member string) {
		do("del k")
		for i := range n {
			do(fmt.Sprintf("zadd k %d %s%d", i%3, member, i))
		}
	}
	for _, c := range []struct {
		n                           int
		member                      string
		before, after, lengthBefore string
		lengthAfter                 string
	}{
		{10, "m", "128", "9", "64", "64"}, {10, "m", "128", "10", "64", "64"}, {10, "m", "5", "128", "64", "64"},
		{10, "m", "128", "128", "64", "1"}, {10, "long-member", "5", "128", "64", "5"}, {10, "long-member", "128", "128", "5", "64"},
	} {
		o.Do("config set zset-max-listpack-entries " + c.before)
		o.Do("config set zset-max-listpack-value " + c.lengthBefore)
		fill(o.Do, c.n, c.member)
		payload := cmdtest.Bulk(t, o.Exec([]byte("dump"), []byte("k")))
		o.Do("config set zset-max-listpack-entries " + c.after)
		o.Do("config set zset-max-listpack-value " + c.lengthAfter)
		r.Settings.Set("zset-max-listpack-entries", c.after)
		r.Settings.Set("zset-max-listpack-value", c.lengthAfter)
		args := [][]byte{[]byte("restore"), []byte("k"), []byte("0"), payload, []byte("replace")}
		if got := cmdtest.Flat(r.Exec(args...)); got != "+OK" {
			t.Fatal(got)
		}
		o.Exec(args...)
		if got, want := r.Do("object encoding k"), o.Do("object encoding k"); got != want {
			t.Errorf("%+v: encoding %s, want %s", c, got, want)
		}
	}
}

// TestSnapshotKeepsSortedSetsAsTheyAre reads values without limits.
func TestSnapshotKeepsSortedSetsAsTheyAre(t *testing.T) {
	samples := sampleSortedSets()
	largeOne := zset.NewLarge()
	largeOne.Put([]byte("a"), math.Copysign(0, -1), zset.Limits{})
	samples["a large one of one member"] = largeOne
	hundreds := zset.New()
	for i := range 500 {
		hundreds.Put(fmt.Appendf(nil, "m%d", i), float64(i), zsetcmd.EverythingSmall)
	}
	samples["a small one of many members"] = hundreds
	for name, s := range samples {
		e := engine.NewObject([]byte("k"), engine.KindSortedSet, s)
		p := values.AppendPayload(nil, e)
		typ, body, _ := rdb.OpenPayload(p)
		back, err := values.ReadBody(typ, body, []byte("k"), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := back.Object().(*zset.Set); got.Large() != s.Large() || !bytes.Equal(values.AppendPayload(nil, back), p) {
			t.Errorf("%s comes back as another, large %v", name, got.Large())
		}
	}
}

// plainZSet is the body of a plain payload.
func plainZSet(count uint64, entries ...any) string {
	out := rdb.NewValue([]byte{rdb.TypeZSet})
	out.Length(count)
	for i := 0; i+1 < len(entries); i += 2 {
		out.Text([]byte(entries[i].(string)))
		out.Double(entries[i+1].(float64))
	}
	return string(out.Body())
}

// packedZSet is the body of a payload with a listpack of the items.
func packedZSet(items ...string) string {
	out := rdb.NewValue([]byte{rdb.TypeZSetListpack})
	out.Blob(rdb.AppendListpack(nil, func(yield func([]byte) bool) {
		for _, item := range items {
			if !yield([]byte(item)) {
				return
			}
		}
	}))
	return string(out.Body())
}

// ziplistZSet has a with score 1 and bc with score 2.5.
const ziplistZSet = "\x0c\x19\x19\x00\x00\x00\x13\x00\x00\x00\x04\x00\x00\x01a\x03\xf2\x02\x02bc\x04\x032.5\xff"

// textZSet has the same as Redis 1 to 3 wrote it.
const textZSet = "\x03\x04\x01a\x011\x02bc\x032.5\x01n\xff\x01p\xfe"

func TestHostileSortedSetsAreRefused(t *testing.T) {
	good := packedZSet("a", "1", "b", "2")
	for name, body := range map[string]string{
		"none":                      plainZSet(0),
		"no pack":                   "\x11",
		"an empty pack":             packedZSet(),
		"an odd pack":               packedZSet("a", "1", "b"),
		"a member twice, packed":    packedZSet("a", "1", "a", "2"),
		"a member twice, one score": packedZSet("a", "1", "a", "1"),
		"NaN, packed":               packedZSet("a", "nan"),
		"no number":                 packedZSet("a", "b"),
		"a cut pack":                good[:len(good)-1],
		"a pack with a lie":         good[:2] + "\xff" + good[3:],
		"a member twice":            plainZSet(2, "a", 1.0, "a", 2.0),
		"NaN":                       plainZSet(1, "a", math.NaN()),
		"fewer than said":           plainZSet(3, "a", 1.0, "b", 2.0),
		"many more than there are":  plainZSet(1<<62, "a", 1.0),
		"more than said":            plainZSet(1, "a", 1.0, "b", 2.0),
		"a ziplist cut":             ziplistZSet[:len(ziplistZSet)-2] + "\xff",
		"text NaN":                  "\x03\x01\x01a\xfd",
		"text that is no number":    "\x03\x01\x01a\x01x",
	} {
		r := cmdtest.NewRunner(t)
		payload := rdb.AppendFooter([]byte(body), 0)
		got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("k"), []byte("0"), payload))
		if got != "-"+command.ErrBadDumpBody {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestOldSortedSetsAreTaken restores forms that Redis no longer writes.
func TestOldSortedSetsAreTaken(t *testing.T) {
	for body, want := range map[string]string{
		ziplistZSet:                     "*4 $1 a $1 1 $2 bc $3 2.5",
		textZSet:                        "*8 $1 n $4 -inf $1 a $1 1 $2 bc $3 2.5 $1 p $3 inf",
		packedZSet("b", "1", "a", "-5"): "*4 $1 a $2 -5 $1 b $1 1",
	} {
		o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
		payload := rdb.AppendFooter([]byte(body), 0)
		args := [][]byte{[]byte("restore"), []byte("k"), []byte("0"), payload}
		if got := cmdtest.Flat(r.Exec(args...)); got != "+OK" {
			t.Errorf("%q: %s", body, got)
			continue
		}
		if got := r.Do("zrange k 0 -1 withscores"); got != want {
			t.Errorf("%q: %s, want %s", body, got, want)
		}
		if body[0] == rdb.TypeZSetListpack {
			continue // not in order: Redis keeps it so
		}
		if got := cmdtest.Flat(o.Exec(args...)); got != "+OK" || o.Do("zrange k 0 -1 withscores") != want || o.Do("object encoding k") != r.Do("object encoding k") {
			t.Errorf("redis-server takes %q otherwise: %s", body, got)
		}
	}
}

// FuzzSortedSetPayload reads any body as each type of sorted set. A set that is accepted must be in
// order, and must stay the same when it is read from our own payload.
func FuzzSortedSetPayload(f *testing.F) {
	for _, body := range []string{plainZSet(2, "a", 1.0, "b", math.Inf(-1)), packedZSet("a", "1", "b", "2.5"), ziplistZSet, textZSet} {
		f.Add([]byte(body), true)
		f.Add([]byte(body), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, limited bool) {
		if len(body) == 0 || !bytes.Contains(values.CodecOf(engine.KindSortedSet).Types, body[:1]) {
			return
		}
		var limits *command.Settings
		if limited {
			small := command.DefaultSettings
			small.ZSetPackEntriesMax, small.ZSetPackValueBytesMax = 3, 5
			limits = &small
		}
		e, err := values.ReadBody(body[0], body[1:], []byte("k"), limits)
		if err != nil {
			return
		}
		s := e.Object().(*zset.Set)
		last, n := zset.Entry{}, 0
		for i, entry := range s.From(0) {
			if i > 0 && zset.Compare(last, entry) >= 0 {
				t.Fatalf("%v stands before %v", last, entry)
			}
			if rank, score, ok := s.Rank(entry.Member); !ok || rank != i || score != entry.Score {
				t.Fatalf("%v stands at %d, found at %d, %v", entry, i, rank, ok)
			}
			last, n = entry, n+1
		}
		if n != s.Len() || n == 0 {
			t.Fatalf("%d members of %d", n, s.Len())
		}
		p := values.AppendPayload(nil, e)
		typ, again, ok := rdb.OpenPayload(p)
		if !ok {
			t.Fatal("our payload is refused")
		}
		back, err := values.ReadBody(typ, again, []byte("k"), nil)
		if err != nil || !bytes.Equal(values.AppendPayload(nil, back), p) {
			t.Fatalf("%q comes back as another: %v", p, err)
		}
	})
}

// TestReadingALieMakesNoRoom reads a payload that announces much.
func TestReadingALieMakesNoRoom(t *testing.T) {
	body := binary.BigEndian.AppendUint64([]byte{rdb.TypeZSet, 0x81}, math.MaxInt64)
	if n := testing.AllocsPerRun(10, func() {
		if _, err := values.ReadBody(body[0], body[1:], []byte("k"), nil); err == nil {
			t.Fatal("it is taken")
		}
	}); n > 50 {
		t.Errorf("%v allocations", n)
	}
}
