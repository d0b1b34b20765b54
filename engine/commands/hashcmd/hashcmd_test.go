package hashcmd_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/values"
	"lockstep/engine/hash"
	"lockstep/engine/rdb"
	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

// TestHashesAnswerAsRedisDoes compares all replies. It runs with Redis's limits, under which all
// hashes are small and keep their order, and with limits that make most hashes large. The order of
// large hashes is not compared.
func TestHashesAnswerAsRedisDoes(t *testing.T) {
	n := 15_000
	if testing.Short() {
		n = 1500
	}
	for _, proto := range []int{reply.RESP2, reply.RESP3} {
		for i, entries := range []int64{512, 5} {
			t.Run(fmt.Sprintf("RESP%d, %d entries", proto, entries), func(t *testing.T) {
				differHashes(t, proto, int64(10*proto+i), n, entries)
			})
		}
	}
}

func differHashes(t *testing.T, proto int, seed int64, n int, entries int64) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.NowMs = cmdtest.WallMs()
	if proto == reply.RESP3 {
		o.Do("hello 3")
		r.Proto = reply.RESP3
	}
	r.Settings.HashPackEntriesMax, r.Settings.HashPackValueBytesMax = entries, 25*entries
	o.Do(fmt.Sprintf("config set hash-max-listpack-value %d hash-max-listpack-entries %d", 25*entries, entries))
	g := cmdtest.Generator{Rand: rand.New(rand.NewSource(seed))}
	var history [][][]byte
	for i := range n {
		args := g.Command(cmdtest.HashCommands)
		history = append(history, args)
		got, want := cmdtest.Both(r, o, args)
		if len(args) == 2 && strings.EqualFold(string(args[0]), "hrandfield") {
			got, want = got[:1], want[:1] // one by chance
		}
		if entries < 512 && unordered(args) && got[0] != '-' {
			if len(args) > 2 && strings.EqualFold(string(args[0]), "hscan") && !slices.ContainsFunc(args, func(a []byte) bool { return string(a) == "1000" }) {
				continue // Redis may have given a part
			}
			got, want = sortedLines(got), sortedLines(want)
		}
		if !bytes.Equal(got, want) {
			for _, h := range history[max(0, i-12):i] {
				t.Logf("%q", h)
			}
			t.Fatalf("seed %d, command %d: %q\n got %q\nwant %q", seed, i, args, got, want)
		}
	}
}

// unordered reports whether the order of a reply depends on how a large hash is stored.
func unordered(args [][]byte) bool {
	return slices.Contains([]string{"hgetall", "hkeys", "hvals", "hscan", "hrandfield"}, strings.ToLower(string(args[0])))
}

// sortedLines sorts the lines of a reply.
func sortedLines(raw []byte) []byte {
	lines := strings.Split(string(raw), "\r\n")
	slices.Sort(lines)
	return []byte(strings.Join(lines, "\r\n"))
}

// picks runs HRANDFIELD and returns the fields.
func picks(t *testing.T, r *cmdtest.Runner, line string) []string {
	t.Helper()
	var all []string
	for _, v := range cmdtest.ParseReply(t, r.Exec(cmdtest.Words(line)...)).([]any) {
		all = append(all, v.(string))
	}
	return all
}

// fillHash sets n fields, f0 to f<n-1>, of the values v0 to v<n-1>.
func fillHash(r *cmdtest.Runner, key string, n int) {
	for i := range n {
		r.Do(fmt.Sprintf("hset %s f%d v%d", key, i, i))
	}
}

// TestRandomFieldsAreFair draws from a small and a large hash, with repetitions and without. Every
// field must come about as often as the others.
func TestRandomFieldsAreFair(t *testing.T) {
	for _, n := range []int{20, 600} {
		r := cmdtest.NewRunner(t)
		fillHash(r, "h", n)
		counts := map[string]int{}
		draws := 200 * n
		for range draws / 10 {
			for _, f := range picks(t, r, "hrandfield h -4") {
				counts[f]++
			}
			unique := map[string]bool{}
			for _, f := range picks(t, r, "hrandfield h 5") {
				counts[f]++
				unique[f] = true
			}
			if len(unique) != 5 {
				t.Fatalf("%d different fields, want 5", len(unique))
			}
			counts[string(cmdtest.Bulk(t, r.Exec(cmdtest.Words("hrandfield h")...)))]++
		}
		want := float64(draws) / float64(n)
		for i := range n {
			if got := float64(counts[fmt.Sprint("f", i)]); got < want*0.6 || got > want*1.5 {
				t.Errorf("of %d: f%d was drawn %v times, want about %v", n, i, got, want)
			}
		}
		if len(picks(t, r, fmt.Sprintf("hrandfield h %d", n+5))) != n {
			t.Error("more than there are does not give all")
		}
		if got := len(picks(t, r, fmt.Sprintf("hrandfield h %d withvalues", n-1))); got != 2*(n-1) {
			t.Errorf("%d fields and values", got)
		}
	}
}

// TestRandomFieldsInRESP3: a field and its value are a pair.
func TestRandomFieldsInRESP3(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Proto = reply.RESP3
	r.Script(`
		hset h f v => :1
		hrandfield h -2 withvalues => *2 *2 $1 f $1 v *2 $1 f $1 v
		hrandfield h 7 withvalues => *1 *2 $1 f $1 v
		hrandfield h -2 => *2 $1 f $1 f
		hrandfield none 2 => *0
		hrandfield none => _
		hrandfield h -1048577 => -ERR value is out of range
	`)
}

// TestHScanWalksALargeHash: HSCAN returns every field that exists all the time, and goes on when
// the hash changes between the calls.
func TestHScanWalksALargeHash(t *testing.T) {
	r := cmdtest.NewRunner(t)
	fillHash(r, "h", 2000)
	seen, cursor, calls := map[string]bool{}, "0", 0
	for {
		v := cmdtest.ParseReply(t, r.Exec(cmdtest.Words("hscan h "+cursor+" count 50 novalues")...)).([]any)
		for _, f := range v[1].([]any) {
			seen[f.(string)] = true
		}
		calls++
		if cursor = v[0].(string); cursor == "0" {
			break
		}
		r.Do(fmt.Sprintf("hset h new%d x", calls))
		r.Do(fmt.Sprintf("hdel h f%d", calls*3))
	}
	for i := range 2000 {
		if gone := i%3 == 0 && i/3 <= calls; !gone && !seen[fmt.Sprint("f", i)] {
			t.Errorf("f%d is missing", i)
		}
	}
	if calls < 20 || calls > 60 {
		t.Errorf("%d calls", calls)
	}
	r.Script(`
		hscan h 4294967296 => *2 $1 0 *0
		hscan h 18446744073709551615 => *2 $1 0 *0
		hscan h 18446744073709551616 => -ERR invalid cursor
	`)
}

// TestHashEvents expects the events that Redis sends, and none if nothing changes.
func TestHashEvents(t *testing.T) {
	r := cmdtest.NewRunner(t)
	var got []string
	r.Observer = recordEvents(&got)
	for _, step := range []struct{ line, events string }{
		{"hset h a 1 b 2", "hset"}, {"hmset h a 1", "hset"}, {"hsetnx h a 2", ""}, {"hsetnx h c 2", "hset"},
		{"hincrby h a 1", "hincrby"}, {"hincrbyfloat h a 1", "hincrbyfloat"}, {"hincrby h a x", ""},
		{"hdel h none", ""}, {"hdel h a none", "hdel"}, {"hdel h b c", "hdel del"}, {"hget h a", ""},
		{"hset h a 1 b 2 c 3 d 4", "hset"}, {"hexpire h 100 FIELDS 1 a", "hexpire"}, {"hexpire h 50 GT FIELDS 1 a", ""},
		{"hpersist h FIELDS 2 a b", "hpersist"}, {"hpersist h FIELDS 2 a b", ""}, {"hexpire h 0 FIELDS 1 a", "hdel"},
		{"hgetdel h FIELDS 2 a b", "hdel"}, {"hgetdel h FIELDS 2 a b", ""}, {"hgetex h EX 10 FIELDS 2 a c", "hexpire"},
		{"hgetex h PERSIST FIELDS 2 a c", "hpersist"}, {"hgetex h PERSIST FIELDS 2 a c", ""}, {"hgetex h FIELDS 1 c", ""},
		{"hgetex h EXAT 1 FIELDS 1 c", "hdel"}, {"hsetex h EX 10 FIELDS 1 e 1", "hset hexpire"}, {"hsetex h FXX FIELDS 1 z 1", ""},
		{"hsetex h KEEPTTL FIELDS 1 e 1", "hset"}, {"hsetex h EXAT 1 FIELDS 1 e 1", "hset hdel"}, {"hexpire h 0 FIELDS 1 d", "hdel del"},
	} {
		got = nil
		r.Do(step.line)
		if events := strings.Join(got, " "); events != step.events {
			t.Errorf("%s: %q, want %q", step.line, events, step.events)
		}
	}
}

// eventRecorder keeps the names of events.
type eventRecorder struct{ names *[]string }

func recordEvents(names *[]string) command.Observer { return eventRecorder{names} }

// Wants implements Observer.
func (eventRecorder) Wants(command.EventClass) bool { return true }

func (e eventRecorder) Event(class command.EventClass, event string, _ int, _ []byte) {
	if class&(command.EventNew|command.EventMiss) != 0 {
		return // event_test.go looks at these
	}
	*e.names = append(*e.names, event)
}
func (e eventRecorder) Filled(int, []byte, engine.Kind) {}

// Gone implements Observer.
func (e eventRecorder) Gone(int, []byte) {}

// hashesForDumps are hashes of all encodings.
func hashesForDumps(r *cmdtest.Runner) []string {
	fillHash(r, "small", 20)
	r.Do("hset small -1 1 12345678901 -129 x 4096 70000 8388608")
	r.Exec([]byte("hset"), []byte("small"), []byte("\x00\xff"), nil, nil, bytes.Repeat([]byte("y"), 64))
	fillHash(r, "many", 600)
	r.Do("hset long f " + strings.Repeat("z", 5000))
	return []string{"small", "many", "long"}
}

// sameHash reports whether two replies to HGETALL hold the same fields.
func sameHash(t *testing.T, a, b []byte) bool {
	t.Helper()
	pairsOf := func(raw []byte) map[string]string {
		m := map[string]string{}
		list := cmdtest.ParseReply(t, raw).([]any)
		for i := 0; i+1 < len(list); i += 2 {
			m[list[i].(string)] = list[i+1].(string)
		}
		return m
	}
	return fmt.Sprint(pairsOf(a)) == fmt.Sprint(pairsOf(b))
}

// TestHashDumpsGoBothWays restores our dumps in redis-server, and the dumps of redis-server here.
func TestHashDumpsGoBothWays(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	for _, key := range hashesForDumps(r) {
		payload := cmdtest.Bulk(t, r.Exec(cmdtest.Words("dump "+key)...))
		if got := cmdtest.Flat(o.Exec([]byte("restore"), []byte(key), []byte("0"), payload)); got != "+OK" {
			t.Fatalf("%s: redis-server answers %s", key, got)
		}
		all, encoding := cmdtest.Words("hgetall "+key), cmdtest.Words("object encoding "+key)
		if !sameHash(t, o.Exec(all...), r.Exec(all...)) || !bytes.Equal(o.Exec(encoding...), r.Exec(encoding...)) {
			t.Errorf("%s is another in redis-server", key)
		}
		back := cmdtest.Bulk(t, o.Exec(cmdtest.Words("dump "+key)...))
		if got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("back"), []byte("0"), back, []byte("replace"))); got != "+OK" {
			t.Fatalf("%s of redis-server: %s", key, got)
		}
		if !sameHash(t, r.Exec(cmdtest.Words("hgetall back")...), r.Exec(all...)) || !bytes.Equal(r.Exec(cmdtest.Words("object encoding back")...), r.Exec(encoding...)) {
			t.Errorf("%s comes back as another", key)
		}
		if key == "small" && !bytes.Equal(payload, back) {
			t.Errorf("the dump of a small hash is\n%q, of Redis\n%q", payload, back)
		}
		if got, want := r.Do("lockstep.digest-value "+key), o.Do("debug digest-value "+key); got != want {
			t.Errorf("%s: digest %s, want %s", key, got, want)
		}
	}
}

// TestOldHashesAreRead restores the forms of older versions. Their encoding afterwards depends on
// the limits, as it does in redis-server.
func TestOldHashesAreRead(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	long := strings.Repeat("v", 70)
	ziplist := "\x17\x00\x00\x00\x13\x00\x00\x00\x04\x00\x00\x01a\x03\xfb\x02\x02bc\x04\xfe\xb3\xff"
	for name, body := range map[string]string{
		"zipmap":            "\x09\x0c\x02\x01a\x01\x00x\x02bc\x01\x00y\xff",
		"zipmap of a text":  "\x09" + text6(len(long)+6) + "\x01\x01a\x46\x00" + long + "\xff",
		"ziplist":           "\x0d" + text6(len(ziplist)) + ziplist,
		"plain":             "\x04\x02\x01a\x01x\x02bc\xc0\x05",
		"plain, long":       "\x04\x01\x01a" + text6(len(long)) + long,
		"no zipmap":         "\x09\x03\x01\x01a",
		"zipmap, half":      "\x09\x04\x01\x01a\xff",
		"empty":             "\x04\x00",
		"empty listpack":    "\x10\x07\x07\x00\x00\x00\x00\x00\xff",
		"odd listpack":      "\x10\x0a\x0a\x00\x00\x00\x01\x00\x81a\x02\xff",
		"plain, cut":        "\x04\x02\x01a\x01x\x02bc",
		"plain, never ends": "\x04\x81\x7f\xff\xff\xff\xff\xff\xff\xff\x01a\x01x",
	} {
		payload := rdb.AppendFooter([]byte(body), 0)
		got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("h"), []byte("0"), payload, []byte("replace")))
		want := cmdtest.Flat(o.Exec([]byte("restore"), []byte("h"), []byte("0"), payload, []byte("replace")))
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
			continue
		}
		for _, line := range []string{"hgetall h", "object encoding h"} {
			if got, want := r.Do(line), o.Do(line); got[0] != '-' && got != want {
				t.Errorf("%s: %s: %s, want %s", name, line, got, want)
			}
		}
	}
}

// text6 is the length of a text of up to 16383 bytes.
func text6(n int) string { return string(rdb.AppendLength(nil, uint64(n))) }

// TestHostileHashesAreRefused restores hashes with invalid content.
func TestHostileHashesAreRefused(t *testing.T) {
	twice := rdb.AppendListpack(nil, slices.Values([][]byte{[]byte("a"), []byte("1"), []byte("a"), []byte("2")}))
	bad := func(ttl string) string {
		return string(rdb.AppendListpack(nil, slices.Values([][]byte{[]byte("a"), []byte("1"), []byte(ttl)})))
	}
	for name, body := range map[string]string{
		"a field twice":           "\x04\x02\x01a\x01x\x01a\x01y",
		"a field twice, packed":   "\x10" + text6(len(twice)) + string(twice),
		"a time that is no time":  "\x19\x00\x00\x00\x00\x00\x00\x00\x00" + text6(len(bad("x"))) + bad("x"),
		"a time before all times": "\x19\x00\x00\x00\x00\x00\x00\x00\x00" + text6(len(bad("-1"))) + bad("-1"),
		"a time after all times":  "\x19\x00\x00\x00\x00\x00\x00\x00\x00" + text6(len(bad("999999999999999999"))) + bad("999999999999999999"),
		"no times":                "\x19\x00\x00\x00\x00\x00\x00\x00\x00" + text6(len(twice)) + string(twice),
		"a first time too great":  "\x18\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x01a\x01x",
		"a time too great":        "\x18\x00\x00\x00\x00\x00\x00\x00\x00\x01\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01a\x01x",
		"a first time cut":        "\x18\x00\x00",
		"no fields, timed":        "\x18\x00\x00\x00\x00\x00\x00\x00\x00\x00",
	} {
		r := cmdtest.NewRunner(t)
		got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("k"), []byte("0"), rdb.AppendFooter([]byte(body), 0)))
		if got != "-"+command.ErrBadDumpBody {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// FuzzHashPayload reads any body as a hash, with limits and without. A body that is accepted must
// survive a write and a read unchanged.
func FuzzHashPayload(f *testing.F) {
	r := cmdtest.NewRunner(f)
	fillHash(r, "h", 5)
	r.Do("hset large f1 1 f2 " + strings.Repeat("v", 65))
	for _, line := range []string{"copy h timed", "hpexpire timed 5000 FIELDS 2 f1 f3", "copy large late", "hpexpire late 70 FIELDS 1 f1"} {
		r.Do(line)
	}
	for _, key := range []string{"h", "large", "timed", "late"} {
		f.Add(values.AppendPayload(nil, r.KS.Find(r.KS.LockSlot([]byte(key)), 0, []byte(key))))
	}
	f.Add([]byte("\x09\x0c\x02\x01a\x01\x00x\x02bc\x01\x00y\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return
		}
		for _, limits := range []*command.Settings{nil, &command.DefaultSettings} {
			e, err := values.ReadValue(rdb.NewSource(body[1:]), body[0], []byte("k"), limits)
			if err != nil || e.Kind() != engine.KindHash {
				continue
			}
			h := e.Object().(*hash.Hash)
			typ, again, ok := rdb.OpenPayload(values.AppendPayload(nil, e))
			if !ok {
				t.Fatal("our payload is refused")
			}
			n, err := values.ReadValue(rdb.NewSource(again), typ, []byte("k"), nil)
			if err != nil || !bytes.Equal(values.AppendPayload(nil, n), values.AppendPayload(nil, e)) {
				t.Fatalf("%d fields come back as others: %v", h.Len(), err)
			}
			if m := n.Object().(*hash.Hash); m.Encoding() != h.Encoding() || m.FirstExpiryMs() != h.FirstExpiryMs() || m.LastExpiryMs() != h.LastExpiryMs() {
				t.Fatalf("%s from %d to %d comes back as %s", h.Encoding(), h.FirstExpiryMs(), h.LastExpiryMs(), m.Encoding())
			}
		}
	})
}
