package listcmd_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/commands/values"
	"lockstep/engine/list"
	"lockstep/engine/rdb"
	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

// waitingCommands are the blocking commands. The test runs few of them, because redis-server really
// waits.
var waitingCommands = []func(cmdtest.Generator) []string{
	func(g cmdtest.Generator) []string {
		return []string{g.Pick("blpop", "brpop"), g.Key(), g.Key(), g.Timeout()}
	},
	func(g cmdtest.Generator) []string {
		return []string{"blmove", g.Key(), g.Key(), g.End(), g.End(), g.Timeout()}
	},
	func(g cmdtest.Generator) []string { return []string{"brpoplpush", g.Key(), g.Key(), g.Timeout()} },
	func(g cmdtest.Generator) []string {
		return []string{"blmpop", g.Timeout(), g.Pick("1", "2", "2", "0", "x"), g.Key(), g.Key(), g.End(), "\x02" + g.Some(1, "count\x012", "count\x01"+g.Number(), "count")}
	},
}

func TestListsAnswerAsRedisDoes(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	templates := append(cmdtest.ListCommands[:len(cmdtest.ListCommands):len(cmdtest.ListCommands)], func(g cmdtest.Generator) []string {
		if g.Intn(3) > 0 {
			return []string{"llen", g.Key()}
		}
		return waitingCommands[g.Intn(len(waitingCommands))](g)
	})
	t.Run("RESP2", func(t *testing.T) { cmdtest.Differ(t, reply.RESP2, 11, n, templates) })
	t.Run("RESP3", func(t *testing.T) { cmdtest.Differ(t, reply.RESP3, 12, n, templates) })
}

// TestListsAsIn72 expects the replies of Redis 7.2 that differ from those of 7.0.
func TestListsAsIn72(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Script(`
		rpush l a b a => :3
		lrem l -9223372036854775808 a => -ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
		lpos l a rank -9223372036854775808 => -ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
		lrem l -9223372036854775807 x => :0
		blpop l inf => -ERR timeout is out of range
		blpop l 9223372036854775 => -ERR timeout is out of range
		blpop l -inf => -ERR timeout is negative
		object encoding l => $8 listpack
		llen l => :3
	`)
	r.Settings.ListPackSize = 4
	r.Script(`
		rpush l b => :4
		object encoding l => $8 listpack
		linsert l before none x => :-1
		object encoding l => $8 listpack
		linsert l before b x => :5
		object encoding l => $9 quicklist
		lpop l 2 => *2 $1 a $1 x
		object encoding l => $9 quicklist
		ltrim l 0 1 => +OK
		object encoding l => $8 listpack
		lset l 0 y => +OK
		rpush m 1 2 3 4 5 => :5
		object encoding m => $9 quicklist
		copy m n => :1
		object encoding n => $9 quicklist
		lrem n 3 2 => :1
		lmpop 1 n left count 2 => *2 $1 n *2 $1 1 $1 3
		object encoding n => $8 listpack
		lmove m m left right => $1 1
		object encoding m => $9 quicklist
	`)
}

// blocked runs a command, in a transaction or not, and reports whether a gateway would keep waiting
// after its reply.
func blocked(r *cmdtest.Runner, line string, inExec bool) (string, bool) {
	args := cmdtest.Words(line)
	spec, _ := commands.Lookup(args)
	r.Out.Reset(r.Proto)
	r.TxnNo++
	c := command.Ctx{KS: r.KS, Out: &r.Out, TxnNo: r.TxnNo, Logged: true, InExec: inExec, Times: command.Times{NowMs: r.NowMs}, Meter: command.Meter{Settings: &r.Settings}}
	spec.Run(&c, args)
	answer := cmdtest.Flat(r.Out.Bytes())
	return answer, !inExec && answer == "*-1"
}

// TestWhatWouldWaitSaysSo expects the reply that redis-server gives to a command whose timeout is
// over, and to a command in a transaction.
func TestWhatWouldWaitSaysSo(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	r.Do("rpush l a")
	o.Do("rpush l a")
	r.Do("set s text")
	o.Do("set s text")
	for _, row := range []struct {
		line, answer string
		wait         bool
	}{
		{"blpop none l 1", "*2 $1 l $1 a", false},
		{"blpop none l 1", "*-1", true},
		{"brpop none s 1", "-" + command.ErrWrongType, false},
		{"brpop none 1", "*-1", true},
		{"blmove none s left left 1", "*-1", true},
		{"brpoplpush none none 1", "*-1", true},
		{"brpoplpush s none 1", "-" + command.ErrWrongType, false},
		{"blmpop 1 1 none left", "*-1", true},
		{"blmpop 1 1 s left", "-" + command.ErrWrongType, false},
		{"blmpop -1 1 none left", "-" + command.ErrTimeoutNegative, false},
	} {
		got, wait := blocked(r, row.line, false)
		if got != row.answer || wait != row.wait {
			t.Errorf("%s: %s, waits %v; want %s, %v", row.line, got, wait, row.answer, row.wait)
		}
	}
	r.Do("rpush l a")
	o.Do("multi")
	lines := []string{"blpop none l 0", "brpop none 0", "blmove none s left left 0", "brpoplpush none none 0", "blmpop 0 1 none left"}
	var got string
	for _, line := range lines {
		o.Do(line)
		answer, wait := blocked(r, line, true)
		if wait {
			t.Errorf("%s would wait in a transaction", line)
		}
		got += " " + answer
	}
	if want := o.Do("exec"); "*5"+got != want {
		t.Errorf("in a transaction\n%s\nwant\n%s", got, want)
	}
}

// TestEventsOfLists compares the keyspace events with those of redis-server, which sends them to a
// subscriber in the order in which they happen.
func TestEventsOfLists(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	o.Do("config set notify-keyspace-events KEA")
	sub := o.Another()
	sub.Exec([]byte("psubscribe"), []byte("__keyspace@0__:*"))
	for _, line := range []string{
		"rpush l a b c", "lpushx l z", "lpushx none z", "linsert l before b x", "linsert l before none x", "lset l 0 y", "lrem l 0 x", "lrem l 0 none",
		"lmove l m left right", "rpoplpush l l", "rpoplpush none m", "lmove m n right left", "lmpop 1 l left count 2", "lpop l 0", "ltrim l 0 -1", "ltrim l 5 9", "rpush l a",
		"rpop l", "rpush l a a", "lrem l 1 a", "lrem l 1 a", "rpush l a b", "lpop l 5", "rpush l 1", "blpop l 0", "rpush l 1", "brpop none l 0", "rpush l 1",
		"blmove l l left left 0", "brpoplpush l m 0", "blmpop 0 2 none m right", "rpush s 1 2", "rename s t", "copy t u",
	} {
		o.Do(line)
		got := r.EventsOf(line)
		// The mark comes behind the events of the command.
		o.Do("publish __keyspace@0__:mark end")
		var want []string
		for {
			message := cmdtest.ParseReply(t, sub.Read()).([]any)
			key := strings.TrimPrefix(message[2].(string), "__keyspace@0__:")
			if key == "mark" {
				break
			}
			want = append(want, key+" "+message[3].(string))
		}
		// The copy's event belongs to the keys' commands.
		if fmt.Sprint(got) != fmt.Sprint(want) && !strings.HasPrefix(line, "copy") && !strings.HasPrefix(line, "rename") {
			t.Errorf("%s: events %v, want %v", line, got, want)
		}
	}
}

// TestListDumpsGoBothWays restores here the lists that redis-server dumps, and restores in
// redis-server those that Lockstep dumps. It compares elements and digests.
func TestListDumpsGoBothWays(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	g := cmdtest.Generator{Rand: rand.New(rand.NewSource(3))}
	for _, n := range []int{1, 2, 10, 127, 128, 500, 3000, 20_000} {
		for _, size := range []string{"-2", "-1", "3", "128"} {
			o.Do("config set list-max-listpack-size " + size)
			r.Settings.Set("list-max-listpack-size", size)
			o.Do("del k")
			push := [][]byte{[]byte("rpush"), []byte("k")}
			for range n {
				push = append(push, []byte(g.Value()))
			}
			o.Exec(push...)
			payload := cmdtest.Bulk(t, o.Exec([]byte("dump"), []byte("k")))
			if got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("k"), []byte("0"), payload, []byte("replace"))); got != "+OK" {
				t.Fatalf("restore of %d elements: %s", n, got)
			}
			sameList(t, o, r)
			payload = cmdtest.Bulk(t, r.Exec([]byte("dump"), []byte("k")))
			if got := cmdtest.Flat(o.Exec([]byte("restore"), []byte("k"), []byte("0"), payload, []byte("replace"))); got != "+OK" {
				t.Fatalf("redis-server refuses our dump of %d elements: %s", n, got)
			}
			sameList(t, o, r)
		}
	}
}

// sameList compares the list k in Lockstep and in redis-server.
func sameList(t *testing.T, o *cmdtest.Oracle, r *cmdtest.Runner) {
	t.Helper()
	got, want := r.Exec(cmdtest.Words("lrange k 0 -1")...), o.Exec(cmdtest.Words("lrange k 0 -1")...)
	if !bytes.Equal(got, want) {
		t.Fatalf("another list:\n%.200q\n%.200q", got, want)
	}
	if got, want := cmdtest.Flat(r.Digest()), o.Do("debug digest"); got != want {
		t.Fatalf("digest %s, want %s", got, want)
	}
}

// oldLists are payloads of old versions: a ziplist and a quicklist of ziplists,
// both of "a", "b", 1 and 300.
func oldLists() map[string][]byte {
	const ziplist = "\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00" + "\x00\x01a" + "\x03\x01b" + "\x03\xf2" + "\x02\xc0\x2c\x01" + "\xff"
	blob := []byte(ziplist)
	blob[0], blob[4] = byte(len(blob)), 18
	return map[string][]byte{
		"ziplist":   append([]byte{rdb.TypeListZiplist, byte(len(blob))}, blob...),
		"quicklist": append([]byte{rdb.TypeListQuicklist, 1, byte(len(blob))}, blob...),
	}
}

func TestOldListsAreRead(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	for name, body := range oldLists() {
		payload := rdb.AppendFooter(body, 0)
		restore := [][]byte{[]byte("restore"), []byte("k"), []byte("0"), payload, []byte("replace")}
		if got := cmdtest.Flat(o.Exec(restore...)); got != "+OK" {
			t.Fatalf("%s: redis-server says %s", name, got)
		}
		if got := cmdtest.Flat(r.Exec(restore...)); got != "+OK" {
			t.Fatalf("%s: %s", name, got)
		}
		sameList(t, o, r)
		if got := r.Do("object encoding k"); got != "$8 listpack" {
			t.Errorf("%s: encoding %s", name, got)
		}
	}
}

// TestHostileListsAreRefused restores lists with a correct checksum and wrong content.
func TestHostileListsAreRefused(t *testing.T) {
	for name, body := range map[string]string{
		"no elements":              "\x01\x00",
		"no nodes":                 "\x12\x00",
		"an empty listpack":        "\x12\x01\x02\x07\x07\x00\x00\x00\x00\x00\xff",
		"an unknown container":     "\x12\x01\x03\x01a",
		"many elements announced":  "\x01\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01a",
		"many nodes announced":     "\x12\x81\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01a",
		"a listpack cut":           "\x12\x01\x02\x05\x07\x00\x00\x00\x00",
		"a listpack too short":     "\x12\x01\x02\x09\x09\x00\x00\x00\x01\x00\x85ab\xff",
		"a listpack of fewer":      "\x12\x01\x02\x09\x09\x00\x00\x00\x02\x00\x01\x01\xff",
		"a listpack without end":   "\x12\x01\x02\x09\x09\x00\x00\x00\x01\x00\x01\x01\x00",
		"a ziplist as a listpack":  "\x12\x01\x02\x0b\x0b\x00\x00\x00\x0a\x00\x00\x00\x00\x00\xff",
		"a listpack as a ziplist":  "\x0a\x09\x09\x00\x00\x00\x01\x00\x01\x01\xff",
		"an empty ziplist":         "\x0a\x0b\x0b\x00\x00\x00\x0a\x00\x00\x00\x00\x00\xff",
		"a quicklist of nothing":   "\x0e\x01\x00",
		"a text with bytes behind": "\x01\x01\x01ab",
	} {
		r := cmdtest.NewRunner(t)
		got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("k"), []byte("0"), rdb.AppendFooter([]byte(body), 0)))
		if got != "-"+command.ErrBadDumpBody {
			t.Errorf("%s: %s", name, got)
		}
		if got := r.Do("exists k"); got != ":0" {
			t.Errorf("%s: a key is there", name)
		}
	}
	r := cmdtest.NewRunner(t)
	r.Settings.ValueBytesMax = 10
	if got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("k"), []byte("0"), rdb.AppendFooter([]byte("\x01\x01\x0blong as can"), 0))); got != "-"+command.ErrBadDumpBody {
		t.Errorf("an element beyond the limit: %s", got)
	}
}

// TestListsKeepTheirForm writes lists as a snapshot does and reads them again.
func TestListsKeepTheirForm(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.Settings.ListPackSize = 4
	r.Do("rpush packed a 1 b")
	r.Do("rpush large a 1 b c d")
	// The list ends up with one element more or less than where the form changes.
	r.Do("lpop large")
	r.Do("lpop large")
	for _, key := range []string{"packed", "large"} {
		e := r.KS.Find(r.KS.LockSlot([]byte(key)), 0, []byte(key))
		value := rdb.NewValue(nil)
		codec := values.CodecOf(engine.KindList)
		codec.Write(value, e)
		n, err := values.ReadValue(rdb.NewSource(value.Body()), codec.TypeOf(e), []byte(key), nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b := e.Object().(*list.List), n.Object().(*list.List)
		if a.Encoding() != b.Encoding() || a.Len() != b.Len() || a.ListpackBytes() != b.ListpackBytes() {
			t.Errorf("%s: %s of %d, %d bytes, comes back as %s of %d, %d bytes", key, a.Encoding(), a.Len(), a.ListpackBytes(), b.Encoding(), b.Len(), b.ListpackBytes())
		}
	}
}

// FuzzRestoreList restores any body of a list. A body that RESTORE accepts must survive another
// dump and restore unchanged, and the list must answer commands.
func FuzzRestoreList(f *testing.F) {
	for _, body := range oldLists() {
		f.Add(body)
	}
	f.Add([]byte("\x01\x02\x01a\xc0\x07"))
	f.Add([]byte("\x12\x01\x02\x0b\x0b\x00\x00\x00\x02\x00\x01\x01\x81a\x02\xff"))
	f.Add([]byte("\x12\x02\x01\x03abc\x02\x09\x09\x00\x00\x00\x01\x00\x01\x01\xff"))
	types := values.CodecOf(engine.KindList).Types
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return
		}
		typ := body[0]
		if !bytes.Contains(types, body[:1]) {
			typ = types[int(typ)%len(types)]
		}
		for _, limits := range []*command.Settings{&command.DefaultSettings, nil} {
			e, err := values.ReadBody(typ, body[1:], []byte("k"), limits)
			if err != nil {
				continue
			}
			l := e.Object().(*list.List)
			n := 0
			for range l.From(0) {
				n++
			}
			if n == 0 || n != l.Len() {
				t.Fatalf("a list of %d elements has %d", l.Len(), n)
			}
			// The form may differ the first time.
			second := cmdtest.Restored(t, e, limits)
			third := cmdtest.Restored(t, second, limits)
			for i, text := range l.From(0) {
				var buf list.Buffer
				if at := second.Object().(*list.List).At(i, &buf); !bytes.Equal(at, text) {
					t.Fatalf("element %d is %q, was %q", i, at, text)
				}
			}
			if p := values.AppendPayload(nil, second); !bytes.Equal(p, values.AppendPayload(nil, third)) {
				t.Fatalf("%q comes back as another", p)
			}
		}
	})
}
