package streamcmd_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/commands/streamcmd"
	"lockstep/engine/commands/values"
	"lockstep/engine/rdb"
	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

// These are the parts of replies that depend on a clock, and the facts about consumers that Redis
// 7.2 adds to those of 7.0.
var (
	streamTimes    = regexp.MustCompile(`((?:seen-time|idle)\r\n):\d+`)
	streamInactive = regexp.MustCompile(`\$(?:8\r\ninactive|11\r\nactive-time)\r\n:-?\d+\r\n`)
	pendingTimes   = regexp.MustCompile(`(\*4\r\n\$\d+\r\n\d+-\d+\r\n\$\d+\r\n\w*\r\n|\*3\r\n\$\d+\r\n\d+-\d+\r\n):(\d+)`)
)

// withoutClock removes from a reply the parts that differ between two servers.
func withoutClock(raw []byte) []byte {
	raw = streamTimes.ReplaceAll(raw, []byte("${1}:N"))
	return pendingTimes.ReplaceAllFunc(raw, func(m []byte) []byte {
		parts := pendingTimes.FindSubmatch(m)
		class := "now"
		switch n := len(parts[2]); {
		case string(parts[2]) == cmdtest.LongAgo:
			class = cmdtest.LongAgo
		case n > 10 && parts[0][1] == '4' && bytes.HasPrefix(parts[2], []byte("1")) && n == 13:
			class = "now or idle since 1970"
		}
		return append(parts[1], ":"+class...)
	})
}

// streamLag is the part of a reply that 7.0 computes in another way after entries were deleted.
var streamLag = regexp.MustCompile(`((?:entries-read|lag)\r\n)(:\d+|:-\d+|_|\$-1)\r\n`)

func withoutLag(raw []byte) []byte { return streamLag.ReplaceAll(raw, []byte("${1}:N\r\n")) }

// as70 turns Lockstep's reply to XINFO into the one that Redis 7.0 would give.
func as70(raw []byte) []byte {
	if !streamInactive.Match(raw) {
		return raw
	}
	raw = streamInactive.ReplaceAll(raw, nil)
	for _, r := range [][2]string{{"*8", "*6"}, {"%4", "%3"}, {"*10", "*8"}, {"%5", "%4"}} {
		raw = bytes.ReplaceAll(raw, []byte(r[0]+"\r\n$4\r\nname\r\n$"), []byte(r[1]+"\r\n$4\r\nname\r\n$"))
	}
	return raw
}

// deleting are the commands after which 7.0 and 7.2 may differ in the number of entries that a group has read.
var deleting = regexp.MustCompile(`(?i)^xdel|^xtrim|^xsetid|maxlen|minid|entriesread`)

// TestStreamsAnswerAsRedisDoes runs random commands in Lockstep and in redis-server. Nodes are
// small, so that behaviour which depends on nodes happens often.
func TestStreamsAnswerAsRedisDoes(t *testing.T) {
	n := 30_000
	if testing.Short() {
		n = 3000
	}
	for i, proto := range []int{reply.RESP2, reply.RESP3} {
		for j, limits := range [][2]string{{"4096", "5"}, {"150", "0"}, {"4096", "100"}} {
			t.Run(fmt.Sprintf("RESP%d %v", proto, limits), func(t *testing.T) {
				differStreams(t, proto, int64(10*i+j), n, limits, j < 2)
			})
		}
	}
}

func differStreams(t *testing.T, proto int, seed int64, n int, limits [2]string, deletes bool) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.NowMs = cmdtest.WallMs()
	for i, name := range []string{"stream-node-max-bytes", "stream-node-max-entries"} {
		o.Do("config set " + name + " " + limits[i])
		r.Settings.Set(name, limits[i])
	}
	if proto == reply.RESP3 {
		o.Do("hello 3")
		r.Proto = reply.RESP3
	}
	g := cmdtest.Generator{Rand: rand.New(rand.NewSource(seed))}
	templates := cmdtest.StreamCommands()
	var history [][][]byte
	failed := 0
	for i := range n {
		args := g.Command(templates)
		if !deletes && deleting.Match(bytes.Join(args, []byte(" "))) {
			continue
		}
		for _, before := range append(consumersOf(args), args) {
			history = append(history, before)
			if strings.EqualFold(string(before[0]), "xsetid") && string(r.Exec(before...)) == "-"+streamcmd.ErrSetIDBelowDeleted+"\r\n" {
				continue // 7.0 accepts such an ID
			}
			got, want := cmdtest.Both(r, o, before)
			if strings.HasPrefix(string(want), "-ERR Unbalanced XREAD list") {
				continue // Lockstep has the wording of 7.2
			}
			if deletes {
				got, want = withoutLag(got), withoutLag(want)
			}
			if got[0] == '-' {
				failed++
			}
			if got, want := withoutClock(as70(got)), withoutClock(want); !bytes.Equal(got, want) {
				for _, h := range history[max(0, len(history)-40):] {
					t.Logf("%q", h)
				}
				t.Fatalf("seed %d, command %d: %q\n got %q\nwant %q", seed, i, before, got, want)
			}
		}
	}
	if failed > len(history)*2/3 {
		t.Errorf("%d of %d commands failed", failed, len(history))
	}
}

// consumersOf are commands that make the consumer of a command in advance. Redis 7.2 always makes
// the consumer, 7.0 only if there are entries for it.
func consumersOf(args [][]byte) [][][]byte {
	create := func(key, group, consumer []byte) [][]byte {
		return [][]byte{[]byte("xgroup"), []byte("createconsumer"), key, group, consumer}
	}
	switch strings.ToLower(string(args[0])) {
	case "xclaim", "xautoclaim":
		if len(args) > 3 {
			return [][][]byte{create(args[1], args[2], args[3])}
		}
	case "xreadgroup":
		var all [][][]byte
		if len(args) > 3 {
			for _, at := range streamcmd.ReadStreamsAt(nil, args) {
				all = append(all, create(args[at], args[2], args[3]))
			}
		}
		return all
	}
	return nil
}

// TestStreamDumpsGoBothWays restores here what redis-server dumps, and restores in redis-server
// what Lockstep dumps. It expects the same bytes and the same replies.
func TestStreamDumpsGoBothWays(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.NowMs = cmdtest.WallMs()
	g := cmdtest.Generator{Rand: rand.New(rand.NewSource(3))}
	templates := cmdtest.StreamCommands()
	limits := []string{"5", "100", "0"}
	for round := range 60 {
		limit := limits[round%len(limits)]
		o.Do("flushall")
		o.Do("config set stream-node-max-entries " + limit)
		r.Settings.Set("stream-node-max-entries", limit)
		for range 30 * (1 + round%10) {
			args := g.Command(templates)
			if string(args[0]) != "debug-digest" {
				o.Exec(args...)
			}
		}
		for _, key := range []string{"a", "b", "{t}1", "none"} {
			raw := o.Exec([]byte("dump"), []byte(key))
			if o.Do("type "+key) != "+stream" {
				continue
			}
			payload := cmdtest.Bulk(t, raw)
			if got := cmdtest.Flat(r.Exec([]byte("restore"), []byte(key), []byte("0"), payload, []byte("replace"))); got != "+OK" {
				t.Fatalf("restore of %q: %s", payload, got)
			}
			if again := cmdtest.Bulk(t, r.Exec([]byte("dump"), []byte(key))); !bytes.Equal(again, payload) {
				t.Fatalf("%q\nis dumped as\n%q", payload, again)
			}
			for _, line := range []string{"xinfo stream " + key + " full count 0", "xinfo stream " + key, "xinfo groups " + key} {
				if got, want := withoutLag(as70(r.Exec(cmdtest.Words(line)...))), withoutLag(o.Exec(cmdtest.Words(line)...)); !bytes.Equal(got, want) {
					t.Fatalf("%s\n got %q\nwant %q", line, got, want)
				}
			}
			for _, line := range []string{"xadd " + key + " 9000000000000000000-1 f v", "xtrim " + key + " maxlen 3", "xdel " + key + " 9000000000000000000-1", "xadd " + key + " 9000000000000000000-2 f v"} {
				if got, want := r.Do(line), o.Do(line); got != want {
					t.Fatalf("%s\n got %q\nwant %q", line, got, want)
				}
			}
			payload = cmdtest.Bulk(t, r.Exec([]byte("dump"), []byte(key)))
			if got := cmdtest.Flat(o.Exec([]byte("restore"), []byte(key), []byte("0"), payload, []byte("replace"))); got != "+OK" {
				t.Fatalf("redis-server refuses our dump of %q: %s", payload, got)
			}
			if got := cmdtest.Bulk(t, o.Exec([]byte("dump"), []byte(key))); !bytes.Equal(got, payload) {
				t.Fatalf("%q\nbecomes\n%q", payload, got)
			}
		}
	}
}

// TestOldStreamPayloads restores a payload from before Redis 7.0, in Lockstep and in redis-server.
// The payload is made from one of 7.0 by leaving out the parts that are new.
func TestOldStreamPayloads(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.NowMs = cmdtest.WallMs()
	for _, line := range []string{"xadd s 5-1 a 1 b 2", "xadd s 6-1 a 1 b 2", "xadd s 7-1 c 3"} {
		r.Do(line)
	}
	body := cmdtest.Bulk(t, r.Exec([]byte("dump"), []byte("s")))
	// The length, last ID and first ID, no deletion, three entries added, no groups.
	tail := []byte{3, 7, 1, 5, 1, 0, 0, 3, 0}
	end := bytes.LastIndex(body[:len(body)-10], tail)
	if end < 0 {
		t.Fatalf("%q has no %q", body, tail)
	}
	old := append([]byte{rdb.TypeStreamListpacks}, body[1:end]...)
	// The length, the last ID, and a group: last ID 6-1, one entry of one consumer.
	old = append(old, 3, 7, 1, 1, 1, 'g', 6, 1, 1)
	id := []byte{0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 1}
	old = append(append(old, id...), 0xe8, 3, 0, 0, 0, 0, 0, 0, 2)
	old = append(old, 1, 1, 'c', 0xe8, 3, 0, 0, 0, 0, 0, 0, 1)
	payload := rdb.AppendFooter(append(old, id...), 0)
	restore := [][]byte{[]byte("restore"), []byte("s"), []byte("0"), payload, []byte("replace")}
	if got, want := cmdtest.Flat(r.Exec(restore...)), cmdtest.Flat(o.Exec(restore...)); got != want || got != "+OK" {
		t.Fatalf("%s, redis-server says %s", got, want)
	}
	for _, line := range []string{"xinfo stream s full", "xinfo groups s", "xrange s - +", "xpending s g"} {
		if got, want := as70(r.Exec(cmdtest.Words(line)...)), o.Exec(cmdtest.Words(line)...); !bytes.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", line, got, want)
		}
	}
}

// TestConsumersKeepTheirTimes runs commands that depend on the clock, and dumps and restores the
// stream with either type.
func TestConsumersKeepTheirTimes(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.NowMs = 1000
	r.Script(`
		xadd s * f v => $6 1000-0
		xadd s * f v => $6 1000-1
		xadd s 2000-5 f v => $6 2000-5
		xadd s * f v => $6 2000-6
		xgroup create s g 0 => +OK
		xgroup createconsumer s g idle => :1
		xreadgroup group g alice count 1 streams s > => *1 *2 $1 s *1 *2 $6 1000-0 *2 $1 f $1 v
	`)
	r.NowMs = 1500
	r.Script(`
		xreadgroup group g bob count 1 noack streams s > => *1 *2 $1 s *1 *2 $6 1000-1 *2 $1 f $1 v
		xreadgroup group g alice streams s 0 => *1 *2 $1 s *1 *2 $6 1000-0 *2 $1 f $1 v
		xadd s 1999-* f v => -ERR The ID specified in XADD is equal or smaller than the target stream top item
	`)
	r.NowMs = 1700
	for range 2 {
		r.Script(`
			xinfo consumers s g => *3 *8 $4 name $5 alice $7 pending :1 $4 idle :200 $8 inactive :700 *8 $4 name $3 bob $7 pending :0 $4 idle :200 $8 inactive :-1 *8 $4 name $4 idle $7 pending :0 $4 idle :700 $8 inactive :-1
			xpending s g - + 10 => *1 *4 $6 1000-0 $5 alice :200 :2
			xpending s g idle 201 - + 10 => *0
			xpending s g idle 200 - + 10 => *1 *4 $6 1000-0 $5 alice :200 :2
		`)
		payload := cmdtest.Bulk(t, r.Exec([]byte("dump"), []byte("s")))
		if payload[0] != rdb.TypeStreamListpacks3 {
			t.Errorf("dumped as type %d", payload[0])
		}
		if got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("s"), []byte("0"), payload, []byte("replace"))); got != "+OK" {
			t.Fatal(got)
		}
	}
	r.Script(`
		xclaim s g bob 201 1000-0 => *0
		xclaim s g bob 200 1000-0 idle 50 => *1 *2 $6 1000-0 *2 $1 f $1 v
		xpending s g - + 10 => *1 *4 $6 1000-0 $3 bob :50 :3
		xautoclaim s g carol 51 0 => *3 $3 0-0 *0 *0
		xautoclaim s g carol 50 0 justid => *3 $3 0-0 *1 $6 1000-0 *0
		xinfo consumers s g => *4 *8 $4 name $5 alice $7 pending :0 $4 idle :200 $8 inactive :700 *8 $4 name $3 bob $7 pending :0 $4 idle :0 $8 inactive :0 *8 $4 name $5 carol $7 pending :1 $4 idle :0 $8 inactive :0 *8 $4 name $4 idle $7 pending :0 $4 idle :700 $8 inactive :-1
		xreadgroup group g dora streams s > => *1 *2 $1 s *2 *2 $6 2000-5 *2 $1 f $1 v *2 $6 2000-6 *2 $1 f $1 v
		xreadgroup group g eve streams s > => *-1
		xinfo groups s => *1 *12 $4 name $1 g $9 consumers :6 $7 pending :3 $17 last-delivered-id $6 2000-6 $12 entries-read :4 $3 lag :0
		xadd d * f v => $6 1700-0
		xgroup create d g 0 => +OK
		xreadgroup group g c streams d > => *1 *2 $1 d *1 *2 $6 1700-0 *2 $1 f $1 v
	`)
	if payload := cmdtest.Bulk(t, r.Exec([]byte("dump"), []byte("d"))); payload[0] != rdb.TypeStreamListpacks2 {
		t.Errorf("what 7.0 can read is dumped as type %d", payload[0])
	}
}

// TestReadsThatBlock: a read that finds nothing, and that would wait, answers null.
func TestReadsThatBlock(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Do("xadd s 5-1 f v")
	r.Do("xgroup create s g $")
	for line, want := range map[string]string{
		"xread streams s $":                         "false",
		"xread block 0 streams s 0":                 "false",
		"xread block 0 streams s $":                 "true",
		"xread count 1 block 5 streams s none $ $":  "true",
		"xread block 0 streams s 7-1":               "true",
		"xreadgroup group g c block 0 streams s >":  "true",
		"xreadgroup group g c block 0 streams s 0":  "false",
		"xreadgroup group g c streams s >":          "false",
		"xreadgroup group x c block 0 streams s >":  "false",
		"xread block 9223372036854775807 streams s": "false",
	} {
		args := cmdtest.Words(line)
		spec, _ := commands.Lookup(args)
		r.Out.Reset(reply.RESP2)
		c := command.Ctx{KS: r.KS, Out: &r.Out, Walk: cmdtest.FreeWalker{}, TxnNo: r.TxnNo + 1, Logged: true, Times: command.Times{NowMs: r.NowMs}, Meter: command.Meter{Settings: &r.Settings}}
		spec.Run(&c, args)
		_, waits := command.BlockMs(spec, args)
		got := fmt.Sprint(waits && string(r.Out.Bytes()) == "*-1\r\n")
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestLatestIDs checks the IDs that a gateway puts in the place of "$" before a read waits.
func TestLatestIDs(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Do("xadd s 5-1 f v")
	places, keys := streamcmd.LatestIDs(cmdtest.Words("xread count 1 block 5 STREAMS s x none $ 0 $"))
	if fmt.Sprint(places) != "[9 11]" || fmt.Sprintf("%s", keys) != "[s none]" {
		t.Errorf("%v %s", places, keys)
	}
	if got := r.Do("lockstep.stream-ends s none"); got != "*2 $3 5-1 $3 0-0" {
		t.Errorf("%s", got)
	}
}

// TestStreamsCopyWhatTheyKeep overwrites the arguments after each command, as may happen to the
// memory of a log entry.
func TestStreamsCopyWhatTheyKeep(t *testing.T) {
	r := cmdtest.NewRunner(t)
	for _, line := range []string{
		"XADD a 1-1 field value", "XADD a 1-2 field value2", "XGROUP CREATE a group 0", "XGROUP CREATECONSUMER a group consumer",
		"XREADGROUP GROUP group other COUNT 1 STREAMS a >", "XGROUP CREATE b group 0 MKSTREAM", "XCLAIM a group third 0 1-2 FORCE JUSTID",
	} {
		args := cmdtest.Words(line)
		r.Exec(args...)
		for _, a := range args {
			for i := range a {
				a[i] = '#'
			}
		}
	}
	r.Script(`
		XRANGE a - + => *2 *2 $3 1-1 *2 $5 field $5 value *2 $3 1-2 *2 $5 field $6 value2
		XPENDING a group => *4 :2 $3 1-1 $3 1-2 *2 *2 $5 other $1 1 *2 $5 third $1 1
		XGROUP DELCONSUMER a group consumer => :0
		XGROUP CREATE a group 0 => -BUSYGROUP Consumer Group name already exists
		XGROUP CREATECONSUMER b group consumer => :1
	`)
}

// heard records events and the keys that were filled.
type heard struct{ all []string }

// Wants implements Observer.
func (*heard) Wants(command.EventClass) bool { return true }

func (h *heard) Event(class command.EventClass, event string, db int, key []byte) {
	if class == command.EventStream {
		h.all = append(h.all, event+" "+string(key))
	}
}

func (h *heard) Filled(_ int, key []byte, _ engine.Kind) {
	h.all = append(h.all, "filled "+string(key))
}

// Gone implements Observer.
func (h *heard) Gone(_ int, key []byte) { h.all = append(h.all, "gone "+string(key)) }

// TestStreamEvents expects Redis's events. Clients that wait must be notified only of changes that
// may end their wait.
func TestStreamEvents(t *testing.T) {
	r := cmdtest.NewRunner(t)
	for _, step := range []struct{ line, want string }{
		{"xadd s 1-1 f v", "xadd s, filled s"},
		{"xadd s 1-1 f v", ""},
		{"xadd s maxlen 1 2-1 f v", "xadd s, xtrim s, filled s"},
		{"xadd s nomkstream 3-1 f v", "xadd s, filled s"},
		{"xadd none nomkstream 3-1 f v", ""},
		{"xtrim s maxlen 5", ""},
		{"xtrim s maxlen 1", "xtrim s"},
		{"xdel s 9-9", ""},
		{"xsetid s 5-5", "xsetid s"},
		{"xgroup create s g 0", "xgroup-create s"},
		{"xgroup create m g 0 mkstream", "filled m, xgroup-create m"},
		{"xgroup createconsumer s g c", "xgroup-createconsumer s"},
		{"xgroup createconsumer s g c", ""},
		{"xgroup setid s g 0", "xgroup-setid s"},
		{"xreadgroup group g c streams s >", ""},
		{"xreadgroup group g d streams s >", "xgroup-createconsumer s"},
		{"xack s g 3-1", ""},
		{"xclaim s g e 0 3-1 force", "xgroup-createconsumer s"},
		{"xautoclaim s g f 0 0", "xgroup-createconsumer s"},
		{"xgroup delconsumer s g c", "xgroup-delconsumer s"},
		{"xgroup delconsumer s g c", ""},
		{"xdel s 3-1", "xdel s"},
		{"xgroup destroy s g", "xgroup-destroy s, gone s"},
		{"xgroup destroy s g", ""},
	} {
		h := &heard{}
		args := cmdtest.Words(step.line)
		spec, _ := commands.Lookup(args)
		r.Out.Reset(reply.RESP2)
		r.TxnNo++
		c := command.Ctx{KS: r.KS, Out: &r.Out, Walk: cmdtest.FreeWalker{}, TxnNo: r.TxnNo, Logged: true, Times: command.Times{NowMs: r.NowMs}, Meter: command.Meter{Settings: &r.Settings}, Listeners: command.Listeners{Observer: h}}
		spec.Run(&c, args)
		got, want := h.all, strings.Split(step.want, ", ")
		if step.want == "" {
			want = nil
		}
		// A key is reported as filled before or after the event of the same change.
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q; %q", step.line, got, want, r.Out.Bytes())
		}
	}
}

// streamPayload is a dump of a stream that has all features.
func streamPayload(t testing.TB) []byte {
	r := cmdtest.NewRunner(t)
	r.Settings.StreamNodeEntriesMax = 3
	for i := range 10 {
		r.Do(fmt.Sprintf("xadd s %d-1 a %d %s x", i+1, i*i*i*1000, "bcd"[i%3:i%3+1]))
	}
	for _, line := range []string{
		"xgroup create s g 0", "xgroup create s h $", "xreadgroup group g alice count 5 streams s >", "xgroup createconsumer s g bob",
		"xclaim s g bob 0 2-1 3-1 time 1000", "xdel s 3-1 6-1", "xtrim s maxlen 7",
	} {
		if got := r.Do(line); strings.HasPrefix(got, "-") {
			t.Fatalf("%s: %s", line, got)
		}
	}
	return values.AppendPayload(nil, r.KS.Find(r.KS.LockSlot([]byte("s")), 0, []byte("s")))
}

// TestHostileStreamPayloads damages every byte of a payload, and truncates it at every byte. The
// result is either refused or is a stream that can be walked, dumped and loaded again.
func TestHostileStreamPayloads(t *testing.T) {
	typ, body, ok := rdb.OpenPayload(streamPayload(t))
	if !ok {
		t.Fatal("the payload is refused")
	}
	refused := 0
	try := func(body []byte) {
		if !survives(t, typ, body) {
			refused++
		}
	}
	for i := range body {
		try(body[:i])
		for _, b := range []byte{0, 1, 0x7f, 0x80, 0x81, 0xff, body[i] + 1, body[i] - 1} {
			damaged := bytes.Clone(body)
			damaged[i] = b
			try(damaged)
		}
	}
	if refused < len(body) {
		t.Errorf("%d of %d damaged payloads are refused", refused, 9*len(body))
	}
}

// survives reads a payload and reports whether it was accepted. An accepted stream must survive a
// dump and a restore.
func survives(t *testing.T, typ byte, body []byte) bool {
	e, err := values.ReadBody(typ, body, []byte("s"), &command.DefaultSettings)
	if err != nil {
		return false
	}
	r := cmdtest.NewRunner(t)
	r.KS.Put(r.KS.LockSlotOf(e), 0, e, 1)
	r.TxnNo = 1
	payload := values.AppendPayload(nil, e)
	againTyp, again, ok := rdb.OpenPayload(payload)
	if !ok {
		t.Fatalf("our payload %q is refused", payload)
	}
	n, err := values.ReadBody(againTyp, again, []byte("s"), &command.DefaultSettings)
	if err != nil || !bytes.Equal(values.AppendPayload(nil, n), payload) {
		t.Fatalf("%q comes back as another: %v", payload, err)
	}
	for _, line := range []string{
		"xrange s - +", "xrevrange s + -", "xinfo stream s full count 0", "xinfo consumers s g", "xpending s g - + 100", "lockstep.digest",
		"xreadgroup group g alice streams s 0", "xreadgroup group g carol streams s >", "xautoclaim s g dora 0 0", "xadd s 9000-1 f v",
		"xdel s 5-1 7-1 9000-1", "xtrim s minid 8", "xadd s 9001-* f v", "xtrim s maxlen ~ 1", "xtrim s maxlen 0", "xgroup destroy s g",
	} {
		if raw := cmdtest.ReadAll(t, r.Exec(cmdtest.Words(line)...)); len(raw) != 0 {
			t.Fatalf("%s answers more than one reply", line)
		}
	}
	return true
}

// FuzzStreamPayload is TestHostileStreamPayloads with other damage.
func FuzzStreamPayload(f *testing.F) {
	typ, body, _ := rdb.OpenPayload(streamPayload(f))
	f.Add(typ, body)
	f.Add(byte(rdb.TypeStreamListpacks2), body)
	f.Add(byte(rdb.TypeStreamListpacks), body)
	f.Fuzz(func(t *testing.T, typ byte, body []byte) {
		if typ == rdb.TypeStreamListpacks || typ == rdb.TypeStreamListpacks2 || typ == rdb.TypeStreamListpacks3 {
			survives(t, typ, body)
		}
	})
}

// TestStreamMemory compares the memory of streams with MEMORY USAGE of redis-server.
func TestStreamMemory(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	for _, n := range []int{10, 100, 100_000} {
		key := fmt.Sprint("s", n)
		for i := range n {
			args := cmdtest.Words(fmt.Sprintf("xadd %s %d-0 sensor %d temperature %d.%d", key, 1_700_000_000_000+7*i, i%100, i%40, i%10))
			r.Exec(args...)
			o.Exec(args...)
		}
		compareMemory(t, o, r, key, n)
	}
	// Pending entries of a group with two consumers.
	for _, line := range []string{"xgroup create s100000 g 0", "xreadgroup group g alice count 50000 streams s100000 >", "xreadgroup group g bob streams s100000 >"} {
		r.Exec(cmdtest.Words(line)...)
		o.Exec(cmdtest.Words(line)...)
	}
	compareMemory(t, o, r, "s100000", 100_000)
}

func compareMemory(t *testing.T, o *cmdtest.Oracle, r *cmdtest.Runner, key string, n int) {
	t.Helper()
	var theirs int
	fmt.Sscanf(o.Do("memory usage "+key+" samples 0"), ":%d", &theirs)
	ours := r.KS.Find(r.KS.LockSlot([]byte(key)), 0, []byte(key)).MemoryBytes()
	t.Logf("%d entries: %d bytes each, redis-server %d", n, ours/n, theirs/n)
	if ours > theirs*3/2 {
		t.Errorf("%d entries take %d bytes, redis-server has %d", n, ours, theirs)
	}
}
