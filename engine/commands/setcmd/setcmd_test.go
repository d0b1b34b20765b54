package setcmd_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/setcmd"
	"lockstep/engine/commands/values"
	"lockstep/engine/reply"
	"lockstep/engine/set"
	"lockstep/tests/kit/cmdtest"
)

func TestSetsAnswerAsRedisDoes(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 3000
	}
	t.Run("RESP2", func(t *testing.T) { cmdtest.Differ(t, reply.RESP2, 5, n, cmdtest.SetCommands) })
	t.Run("RESP3", func(t *testing.T) { cmdtest.Differ(t, reply.RESP3, 6, n, cmdtest.SetCommands) })
}

// TestSetEncodingsAreThoseOfRedis72 goes by redis.io and the release notes of 7.2, because
// redis-server 7.0 has no sets in listpacks.
func TestSetEncodingsAreThoseOfRedis72(t *testing.T) {
	r := cmdtest.NewRunner(t)
	many := func(n int, format string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(format, i))
		}
		return strings.Join(all, " ")
	}
	encoding := func(want string) string { return "object encoding s => $" + fmt.Sprint(len(want), " ", want) + "\n" }
	for _, c := range []struct{ what, script string }{
		{"numbers", "sadd s 1 2 3 => :3\n" + encoding("intset")},
		{"a word among numbers", "sadd s 1 2 3 => :3\nsadd s a => :1\n" + encoding("listpack") + "smembers s => *4 $1 1 $1 2 $1 3 $1 a"},
		{"words", "sadd s c a b => :3\n" + encoding("listpack") + "smembers s => *3 $1 c $1 a $1 b"},
		{"numbers after words", "sadd s a 1 => :2\nsrem s a => :1\n" + encoding("listpack")},
		{"512 numbers", "sadd s " + many(512, "%d") + " => :512\n" + encoding("intset") + "sadd s 512 => :1\n" + encoding("hashtable")},
		{"128 words", "sadd s " + many(128, "w%d") + " => :128\n" + encoding("listpack") + "sadd s w => :1\n" + encoding("hashtable")},
		{"128 numbers and a word", "sadd s " + many(128, "%d") + " => :128\nsadd s w => :1\n" + encoding("hashtable")},
		{"65 bytes", "sadd s a => :1\nsadd s " + strings.Repeat("x", 64) + " => :1\n" + encoding("listpack") + "sadd s " + strings.Repeat("x", 65) + " => :1\n" + encoding("hashtable")},
		{"129 times the same word at first", "sadd s" + strings.Repeat(" a", 129) + " => :1\n" + encoding("hashtable")},
		{"129 times a word that is there", "sadd s a => :1\nsadd s" + strings.Repeat(" a", 129) + " => :0\n" + encoding("hashtable")},
		{"129 times a word that is new", "sadd s a => :1\nsadd s" + strings.Repeat(" b", 129) + " => :1\n" + encoding("hashtable")},
		{"no way back", "sadd s " + many(129, "w%d") + " => :129\nsrem s " + many(128, "w%d") + " => :128\n" + encoding("hashtable")},
		{"an intersection of numbers", "sadd a 1 2 x => :3\nsadd b 2 1 y => :3\nsinterstore s a b => :2\n" + encoding("intset")},
		{"an intersection with a word", "sadd a 1 2 x => :3\nsadd b 2 1 x => :3\nsinterstore s a b => :3\n" + encoding("listpack")},
		{"an intersection of 129", "sadd a " + many(129, "w%d") + " => :129\nsinterstore s a a => :129\n" + encoding("hashtable")},
		{"a union that grows", "sadd a " + many(100, "%d") + " => :100\nsadd b " + many(29, "w%d") + " => :29\nsunionstore s a b => :129\n" + encoding("hashtable")},
		{"a difference that is small", "sadd a " + many(129, "w%d") + " => :129\nsadd b " + many(128, "w%d") + " => :128\nsdiffstore s a b => :1\n" + encoding("listpack")},
		{"what is left of a large set", "sadd s " + many(200, "w%d") + " => :200\n" + encoding("hashtable")},
	} {
		r.Do("flushall")
		r.Script(c.script)
		if t.Failed() {
			t.Fatalf("in %q", c.what)
		}
	}
	// A pop that leaves a sixth of the members or fewer makes a new set of those that stay.
	r.Do("spop s 160")
	r.Script(encoding("hashtable"))
	r.Do("spop s 34")
	r.Script("scard s => :6\n" + encoding("listpack"))
}

// observed records keyspace events.
type observed struct{ events []string }

// Wants implements Observer.
func (*observed) Wants(command.EventClass) bool { return true }

func (o *observed) Event(class command.EventClass, event string, db int, key []byte) {
	if class&(command.EventNew|command.EventMiss) != 0 {
		return // event_test.go looks at these
	}
	o.events = append(o.events, fmt.Sprintf("%s:%s", event, key))
}

func (o *observed) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (o *observed) Gone(int, []byte) {}

func TestSetEventsAreRedisEvents(t *testing.T) {
	for line, want := range map[string]string{
		"sadd new a":              "sadd:new",
		"sadd s a":                "",
		"sadd s a x":              "sadd:s",
		"srem s x":                "",
		"srem s x a":              "srem:s",
		"srem s a b c":            "srem:s del:s",
		"spop s":                  "spop:s",
		"spop s 0":                "",
		"spop s 2":                "spop:s",
		"spop s 3":                "spop:s del:s",
		"spop one":                "spop:one del:one",
		"smove s new a":           "srem:s sadd:new",
		"smove one s x":           "srem:one del:one sadd:s",
		"smove s t b":             "srem:s",
		"smove s s a":             "",
		"smove s t x":             "",
		"sinterstore d s t":       "sinterstore:d",
		"sinterstore t s one":     "del:t",
		"sinterstore none s one":  "",
		"sunionstore s s t":       "sunionstore:s",
		"sunionstore t none":      "del:t",
		"sdiffstore text s t":     "sdiffstore:text",
		"sdiffstore text one one": "del:text",
		"smembers s":              "",
	} {
		r := cmdtest.NewRunner(t)
		for _, prepare := range []string{"sadd s a b c", "sadd t b d", "sadd one x", "set text v"} {
			r.Do(prepare)
		}
		o := &observed{}
		r.Observer = o
		r.Do(line)
		if got := strings.Join(o.events, " "); got != want {
			t.Errorf("%s: events %q, want %q", line, got, want)
		}
	}
}

// TestSetVersions: the version of a key changes exactly when its set does. WATCH relies on that.
func TestSetVersions(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Do("sadd s a b")
	version := func() uint64 { return r.KS.Find(r.KS.LockSlot([]byte("s")), 0, []byte("s")).Version }
	for _, line := range []string{"sadd s a", "sadd s" + strings.Repeat(" a", 200), "srem s x", "smove s s a", "smove s t x", "spop s 0", "srandmember s"} {
		before := version()
		r.Do(line)
		if version() != before {
			t.Errorf("%.20s changed the version", line)
		}
	}
	for _, line := range []string{"sadd s c", "srem s c x", "spop s 1", "sunionstore s s"} {
		before := version()
		r.Do(line)
		if version() == before {
			t.Errorf("%s did not change the version", line)
		}
	}
}

// TestPicksAreFair draws often and expects every place about as often as any other.
func TestPicksAreFair(t *testing.T) {
	for _, c := range []struct{ count, n int }{{1, 7}, {3, 7}, {7, 7}, {2, 64}, {3, 64}, {4, 64}, {40, 64}} {
		const draws = 20_000
		hits := make([]int, c.n)
		chance := command.NewChance(uint64(c.count))
		for range draws {
			picked := setcmd.Picks(chance, c.count, c.n)
			if len(picked) != c.count || !slices.IsSorted(picked) || len(slices.Compact(slices.Clone(picked))) != c.count {
				t.Fatalf("%d of %d: %v", c.count, c.n, picked)
			}
			for _, i := range picked {
				hits[i]++
			}
		}
		want := float64(draws*c.count) / float64(c.n)
		for i, n := range hits {
			if f := float64(n); f < 0.8*want || f > 1.2*want {
				t.Errorf("%d of %d: place %d came up %d times, %.0f were due", c.count, c.n, i, n, want)
			}
		}
	}
}

// TestRandomMembersAreBounded asks for more than fits into a reply.
func TestRandomMembersAreBounded(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Settings.ValueBytesMax = 1 << 20
	r.Exec([]byte("sadd"), []byte("s"), bytes.Repeat([]byte("x"), 1<<16))
	r.Script(`
		srandmember s -1000000000 => -ERR value is out of range
		srandmember s -17 => -ERR value is out of range
		srandmember none -1000000000 => *0
	`)
	if got := len(r.Do("srandmember s -15")); got < 15<<16 {
		t.Errorf("15 members in %d bytes", got)
	}
}

// FuzzRestoreSet is FuzzRestore with payloads of sets.
func FuzzRestoreSet(f *testing.F) {
	r := cmdtest.NewRunner(f)
	for i, line := range []string{"sadd s 1 2 300", "sadd s a 1 b", "sadd s 1 99999999999", "sadd s " + strings.Repeat("x", 65) + " y"} {
		r.Do("flushall")
		r.Do(line)
		e := r.KS.Find(r.KS.LockSlot([]byte("s")), 0, []byte("s"))
		if e == nil {
			f.Fatal(i, line)
		}
		p := values.AppendPayload(nil, e)
		f.Add(p[:len(p)-10])
	}
	f.Add([]byte("\x14\x0c\x0c\x00\x00\x00\x02\x00\x81a\x02\x05\x01\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return
		}
		for _, limits := range []*command.Settings{nil, &command.DefaultSettings, {ValueBytesMax: 100, SetIntsetEntriesMax: 2, SetPackEntriesMax: 2, SetPackValueBytesMax: 2}} {
			e, err := values.ReadBody(body[0], body[1:], []byte("k"), limits)
			if err != nil {
				continue
			}
			s, ok := e.Object().(*set.Set)
			if !ok {
				continue
			}
			p := values.AppendPayload(nil, e)
			again, err := values.ReadBody(p[0], p[1:len(p)-10], []byte("k"), nil)
			if err != nil || !bytes.Equal(values.AppendPayload(nil, again), p) || setcmd.SetOf(again).Form() != s.Form() {
				t.Fatalf("%q comes back as another: %v", p, err)
			}
			n := 0
			for member := range s.All() {
				if n++; !s.Has(member) {
					t.Fatalf("%q is lost", member)
				}
			}
			if n != s.Len() || n == 0 {
				t.Fatalf("%d members of %d", n, s.Len())
			}
		}
	})
}

// setSizes are sizes around the limits of every form.
var setSizes = []int{1, 2, 127, 128, 129, 512, 513, 20_000}

// TestSetDumpsGoBothWays restores here what redis-server dumps, compressed or not, and restores in
// redis-server what Lockstep dumps. It then compares members and digests.
func TestSetDumpsGoBothWays(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.NowMs = cmdtest.WallMs()
	rng := rand.New(rand.NewSource(3))
	kinds := []func(i int) string{
		func(i int) string { return fmt.Sprint(i - 50) },
		func(i int) string { return fmt.Sprint(i*1_000_003 - 40_000) },
		func(i int) string { return fmt.Sprint(int64(i) * 1_000_000_000_003) },
		func(i int) string { return fmt.Sprintf("member:%d", i) },
		func(i int) string { return strings.Repeat("long ", 15) + fmt.Sprint(i) },
		func(i int) string { return fmt.Sprintf("\x00\xff%d\r\n", rng.Intn(1<<30)*1024+i) },
	}
	key := []byte("k")
	same := func(what string) {
		t.Helper()
		if got, want := cmdtest.Flat(r.Digest()), cmdtest.Flat(o.Exec([]byte("debug"), []byte("digest"))); got != want {
			t.Fatalf("%s: digest %s, Redis has %s", what, got, want)
		}
		got, want := cmdtest.SortedReply(r.Exec([]byte("smembers"), key)), cmdtest.SortedReply(o.Exec([]byte("smembers"), key))
		if !bytes.Equal(got, want) {
			t.Fatalf("%s: other members", what)
		}
	}
	for _, n := range setSizes {
		for k, member := range kinds {
			what := fmt.Sprintf("%d members of kind %d", n, k)
			o.Do("config set rdbcompression " + []string{"yes", "no"}[rng.Intn(2)])
			o.Do("flushall")
			r.Do("flushall")
			args := [][]byte{[]byte("sadd"), key}
			for i := range n {
				args = append(args, []byte(member(i)))
			}
			o.Exec(args...)
			payload := cmdtest.Bulk(t, o.Exec([]byte("dump"), key))
			if got := cmdtest.Flat(r.Exec([]byte("restore"), key, []byte("0"), payload)); got != "+OK" {
				t.Fatalf("%s: restore: %s", what, got)
			}
			same(what)
			r.Do("del k")
			r.Exec(args...)
			payload = cmdtest.Bulk(t, r.Exec([]byte("dump"), key))
			if got := cmdtest.Flat(o.Exec([]byte("restore"), key, []byte("0"), payload, []byte("replace"))); got != "+OK" {
				t.Fatalf("%s: redis-server refuses our dump: %s", what, got)
			}
			same(what + ", our dump")
		}
	}
}

// TestHostileSetsAreRefused restores sets with a correct checksum and wrong content.
func TestHostileSetsAreRefused(t *testing.T) {
	for name, body := range map[string]string{
		"an empty set":            "\x02\x00",
		"a member twice":          "\x02\x02\x01a\x01a",
		"a number twice":          "\x02\x02\x011\xc0\x01",
		"fewer members than said": "\x02\x03\x01a\x01b",
		"a huge number of them":   "\x02\x81\x00\xff\xff\xff\xff\xff\xff\xff\x01a",
		"more than said":          "\x02\x01\x01a\x01b",
		"an empty intset":         "\x0b\x08\x02\x00\x00\x00\x00\x00\x00\x00",
		"an intset not sorted":    "\x0b\x0c\x02\x00\x00\x00\x02\x00\x00\x00\x02\x00\x01\x00",
		"an intset with a twin":   "\x0b\x0c\x02\x00\x00\x00\x02\x00\x00\x00\x01\x00\x01\x00",
		"an intset of width 3":    "\x0b\x0b\x03\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00",
		"an intset cut":           "\x0b\x09\x02\x00\x00\x00\x01\x00\x00\x00\x01",
		"an empty listpack":       "\x14\x07\x07\x00\x00\x00\x00\x00\xff",
		"a listpack with a twin":  "\x14\x0d\x0d\x00\x00\x00\x02\x00\x81a\x02\x81a\x02\xff",
		"a listpack cut":          "\x14\x0a\x0d\x00\x00\x00\x02\x00\x81a\x02\xff",
	} {
		r := cmdtest.NewRunner(t)
		if got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("k"), []byte("0"), cmdtest.PayloadOf(body))); got != "-"+command.ErrBadDumpBody {
			t.Errorf("%s: %s", name, got)
		}
		// The same body, with all limits so low that the set gets another form.
		r.Settings.SetIntsetEntriesMax, r.Settings.SetPackEntriesMax = 0, 0
		if got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("k"), []byte("0"), cmdtest.PayloadOf(body))); got != "-"+command.ErrBadDumpBody {
			t.Errorf("%s, large: %s", name, got)
		}
	}
}

// TestRestoredSetsGetTheFormOfTheLimits restores the types of Redis 7.2 under limits of all kinds.
func TestRestoredSetsGetTheFormOfTheLimits(t *testing.T) {
	const listpack = "\x14\x0d\x0d\x00\x00\x00\x02\x00\x81b\x02\x05\x01\xff"
	listpackFixed := strings.Replace(listpack, "\x0d", "\x0c", 2)
	for _, c := range []struct {
		body                string
		ints, entries, size int64
		want                string
		members             string
	}{
		{listpackFixed, 512, 128, 64, "listpack", "*2 $1 b $1 5"},
		{listpackFixed, 512, 2, 0, "listpack", "*2 $1 b $1 5"},
		{listpackFixed, 512, 1, 64, "hashtable", ""},
		{"\x02\x02\x01b\xc0\x05", 512, 128, 64, "listpack", "*2 $1 b $1 5"},
		{"\x02\x02\x01b\xc0\x05", 1, 128, 64, "hashtable", ""},
		{"\x02\x02\xc0\x07\xc0\x05", 2, 128, 64, "intset", "*2 $1 5 $1 7"},
		{"\x02\x02\x01b\xc0\x05", 512, 1, 64, "hashtable", ""},
		{"\x0b\x0c\x02\x00\x00\x00\x02\x00\x00\x00\x05\x00\x07\x00", 2, 128, 64, "intset", "*2 $1 5 $1 7"},
		{"\x0b\x0c\x02\x00\x00\x00\x02\x00\x00\x00\x05\x00\x07\x00", 1, 128, 64, "hashtable", ""},
	} {
		r := cmdtest.NewRunner(t)
		r.Settings.SetIntsetEntriesMax, r.Settings.SetPackEntriesMax, r.Settings.SetPackValueBytesMax = c.ints, c.entries, c.size
		if got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("k"), []byte("0"), cmdtest.PayloadOf(c.body))); got != "+OK" {
			t.Fatalf("%q: %s", c.body, got)
		}
		if got := r.Do("object encoding k"); !strings.HasSuffix(got, c.want) {
			t.Errorf("%q under %d, %d, %d: %s, want %s", c.body, c.ints, c.entries, c.size, got, c.want)
		}
		if got := r.Do("smembers k"); c.members != "" && got != c.members {
			t.Errorf("%q: %s, want %s", c.body, got, c.members)
		}
	}
}
