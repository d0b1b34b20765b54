package hashcmd_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands"
	"lockstep/engine/commands/hashcmd"
	"lockstep/engine/commands/keycmd"
	"lockstep/engine/commands/values"
	"lockstep/engine/hash"
	"lockstep/engine/rdb"
	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

// TestFieldExpiryCommands runs all commands on a small hash and on a large one.
func TestFieldExpiryCommands(t *testing.T) {
	for _, entries := range []int64{512, 0} {
		r := cmdtest.NewRunner(t)
		r.NowMs, r.Settings.HashPackEntriesMax = 1_000_000, entries
		r.Script(`
			hset h a 1 b 2 c 3 d 4 => :4
			hexpire h 10 FIELDS 3 a b none => *3 :1 :1 :-2
			httl h FIELDS 4 a b c none => *4 :10 :10 :-1 :-2
			hpttl h fields 1 a => *1 :10000
			hexpiretime h FIELDS 1 a => *1 :1010
			hpexpiretime h FIELDS 2 a c => *2 :1010000 :-1
			hpexpire h 5001 NX FIELDS 2 a c => *2 :0 :1
			httl h FIELDS 1 c => *1 :6
			hexpiretime h FIELDS 1 c => *1 :1006
			hpexpireat h 1020000 XX FIELDS 2 d a => *2 :0 :1
			hexpireat h 1015 GT FIELDS 4 a b c d => *4 :0 :1 :1 :0
			hexpireat h 1012 lt FIELDS 4 a b c d => *4 :1 :1 :1 :1
			hpersist h FIELDS 3 a b none => *3 :1 :1 :-2
			hpersist h FIELDS 2 a c => *2 :-1 :1
			hexpire h 0 FIELDS 2 a a => *2 :2 :-2
			hpexpireat h 999999 NX FIELDS 3 b c d => *3 :2 :2 :0
			hlen h => :1
			hpexpireat h 5 FIELDS 1 d => *1 :2
			exists h => :0
			hexpire h 10 FIELDS 1 a => *1 :-2
			hpersist h FIELDS 2 a b => *2 :-2 :-2
			httl h FIELDS 2 a b => *2 :-2 :-2
			hset h a 1 => :1
			hexpire h 10 FIELDS 1 a => *1 :1
			hincrby h a 5 => :6
			hincrbyfloat h a 1.5 => $3 7.5
			httl h FIELDS 1 a => *1 :10
			hsetnx h a 3 => :0
			hset h a 1 => :0
			httl h FIELDS 1 a => *1 :-1
		`)
	}
}

// TestFieldExpiryErrors expects the errors of Redis 7.4, in their order.
func TestFieldExpiryErrors(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.NowMs = 1_000_000
	r.Script(`
		set s x => +OK
		hset h a 1 => :1
		hexpire s x FIELDS 1 a => -WRONGTYPE Operation against a key holding the wrong kind of value
		hexpire h x FIELDS 1 a => -ERR value is not an integer or out of range
		hexpire h -1 FIELDS 1 a => -ERR invalid expire time, must be >= 0
		hexpire h 70368744178 FIELDS 1 a => -ERR invalid expire time in 'hexpire' command
		hpexpire h 70368744177663 FIELDS 1 a => -ERR invalid expire time in 'hpexpire' command
		hpexpireat h 70368744177664 FIELDS 1 a => -ERR invalid expire time in 'hpexpireat' command
		hexpireat h 9223372036854775807 FIELDS 1 a => -ERR invalid expire time in 'hexpireat' command
		hexpire h 10 YY FIELDS 1 a => -ERR Mandatory argument FIELDS is missing or not at the right position
		hexpire h 10 NX XX FIELDS 1 a => -ERR Mandatory argument FIELDS is missing or not at the right position
		hexpire h 10 FIELDS 0 a => -ERR Parameter ` + "`numFields`" + ` should be greater than 0
		hexpire h 10 FIELDS x a => -ERR Parameter ` + "`numFields`" + ` should be greater than 0
		hexpire h 10 FIELDS 2 a => -ERR The ` + "`numfields`" + ` parameter must match the number of arguments
		hexpire h 10 FIELDS 1 a b => -ERR The ` + "`numfields`" + ` parameter must match the number of arguments
		hexpire h 10 FIELDS 1 => -ERR wrong number of arguments for 'hexpire' command
		httl s FIELDS 1 a => -WRONGTYPE Operation against a key holding the wrong kind of value
		httl h FIELD 1 a => -ERR Mandatory argument FIELDS is missing or not at the right position
		hpttl h FIELDS 0 a => -ERR Number of fields must be a positive integer
		hpersist h FIELDS 3 a => -ERR The ` + "`numfields`" + ` parameter must match the number of arguments
		hpersist s FIELDS 1 a => -WRONGTYPE Operation against a key holding the wrong kind of value
		hgetdel s FIELDS 1 a => -WRONGTYPE Operation against a key holding the wrong kind of value
		hgetdel h X 1 a => -ERR Mandatory argument FIELDS is missing or not at the right position
		hgetex s FIELDS 1 a => -WRONGTYPE Operation against a key holding the wrong kind of value
		hgetex h EX x FIELDS 1 a => -ERR value is not an integer or out of range
		hgetex h EX 10 FIELDS => -ERR Number of fields must be a positive integer
		hgetex h EX 10 PX 5 FIELDS 1 a => -ERR Mandatory argument FIELDS is missing or not at the right position
		hsetex s FIELDS 1 a b => -WRONGTYPE Operation against a key holding the wrong kind of value
		hsetex h FIELDS x a b => -ERR invalid number of fields
		hsetex h FIELDS 2 a b => -ERR wrong number of arguments for 'hsetex' command
		hsetex h EX 10 PX 10 FIELDS 1 a b => -ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
		hsetex h KEEPTTL EX 10 FIELDS 1 a b => -ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
		hsetex h FNX FXX FIELDS 1 a b => -ERR Only one of FXX or FNX arguments can be specified
		hsetex h FNX a b c d => -ERR unknown argument: a
		hsetex h FNX EX 10 EXAT => -ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified
		hsetex h FNX FNX FXX EX => -ERR Only one of FXX or FNX arguments can be specified
		hgetall h => *2 $1 a $1 1
	`)
}

// TestGetAndSetWithExpiry runs the commands that came with Redis 8.
func TestGetAndSetWithExpiry(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.NowMs = 1_000_000
	r.Script(`
		hsetex h EX 10 FIELDS 2 a 1 b 2 => :1
		httl h FIELDS 2 a b => *2 :10 :10
		hsetex h FNX FIELDS 2 c 1 a 2 => :0
		hsetex h FXX PX 5000 FIELDS 2 a 3 b 4 => :1
		hsetex h FXX FIELDS 2 a 3 c 4 => :0
		hsetex none FXX FIELDS 1 a 3 => :0
		exists none => :0
		hpttl h FIELDS 2 a b => *2 :5000 :5000
		hsetex h KEEPTTL FIELDS 2 a 5 c 6 => :1
		hpttl h FIELDS 2 a c => *2 :5000 :-1
		hsetex h FIELDS 1 a 7 => :1
		hpttl h FIELDS 1 a => *1 :-1
		hsetex h EXAT 5 FIELDS 1 a 7 => :1
		hmget h a b c => *3 $-1 $1 4 $1 6
		hsetex gone PXAT 5 FIELDS 1 a 7 => :1
		exists gone => :0
		hgetex h EX 20 FIELDS 2 b none => *2 $1 4 $-1
		httl h FIELDS 1 b => *1 :20
		hgetex h FIELDS 2 b none => *2 $1 4 $-1
		httl h FIELDS 1 b => *1 :20
		hgetex h PERSIST FIELDS 1 b => *1 $1 4
		httl h FIELDS 1 b => *1 :-1
		hgetex h PXAT 1000001 FIELDS 1 b => *1 $1 4
		hgetex h EXAT 5 FIELDS 1 c => *1 $1 6
		hkeys h => *1 $1 b
		hgetdel h FIELDS 3 none b b => *3 $-1 $1 4 $-1
		exists h => :0
		hgetdel h FIELDS 1 b => *1 $-1
		hgetex h PERSIST FIELDS 1 b => *1 $-1
	`)
}

// TestFieldsGoWhenTheirTimeComes moves the clock on. When its time has come every command must see
// a field as gone, and the key with its last field, whether they were deleted or not.
func TestFieldsGoWhenTheirTimeComes(t *testing.T) {
	for _, entries := range []int64{512, 0} {
		r := cmdtest.NewRunner(t)
		r.NowMs, r.Settings.HashPackEntriesMax = 1_000_000, entries
		r.Script(`
			hset h a 1 b 2 c 3 => :3
			hpexpire h 10 FIELDS 2 a b => *2 :1 :1
			hset k a 1 => :1
			hpexpire k 10 FIELDS 1 a => *1 :1
			set other x => +OK
		`)
		r.NowMs += 10
		r.Script(`
			hget h a => $-1
			hmget h a b c => *3 $-1 $-1 $1 3
			hgetall h => *2 $1 c $1 3
			hkeys h => *1 $1 c
			hvals h => *1 $1 3
			hlen h => :1
			hstrlen h a => :0
			hexists h a => :0
			httl h FIELDS 2 a c => *2 :-2 :-1
			hrandfield h => $1 c
			hrandfield h 5 => *1 $1 c
			hrandfield h -2 => *2 $1 c $1 c
			hscan h 0 => *2 $1 0 *2 $1 c $1 3
			hdel h a => :0
			hexpire h 10 FIELDS 1 a => *1 :-2
			hgetex h FIELDS 1 a => *1 $-1
			hsetnx h a 7 => :1
			hincrby h b 7 => :7
			httl h FIELDS 2 a b => *2 :-1 :-1
			exists k => :0
			type k => +none
			hlen k => :0
			hget k a => $-1
			ttl k => :-2
			del k => :0
			exists k => :0
			rename k l => -ERR no such key
			object encoding k => $-1
			hset k b 1 => :1
			hgetall k => *2 $1 b $1 1
		`)
	}
}

// dueNow lists the keys that are due according to the index.
func dueNow(r *cmdtest.Runner) string {
	var due []engine.Due
	for slot := range int32(r.KS.LockSlots()) {
		due = r.KS.AppendDue(due, slot, r.NowMs, 100)
	}
	return fmt.Sprint(due)
}

// TestDueFieldsAreFoundAndTakenOut follows a hash through the index and lockstep.expire.
func TestDueFieldsAreFoundAndTakenOut(t *testing.T) {
	r := cmdtest.NewRunner(t)
	var events []string
	r.Observer = recordEvents(&events)
	r.NowMs = 1_000_000
	r.Script(`
		hset h a 1 b 2 c 3 => :3
		hpexpire h 10 FIELDS 1 a => *1 :1
		hpexpire h 20 FIELDS 1 b => *1 :1
		expire h 100 => :1
	`)
	expect := func(due string) {
		t.Helper()
		if got := dueNow(r); got != due {
			t.Fatalf("at %d: due %s, want %s", r.NowMs, got, due)
		}
	}
	r.NowMs += 9
	expect("[]")
	r.Script("lockstep.expire 0 h => :0")
	r.NowMs++
	expect("[{0 h}]")
	events = nil
	r.Script("lockstep.expire 0 h => :1")
	expect("[]")
	if got := strings.Join(events, " "); got != "hexpired" {
		t.Fatalf("events %q", got)
	}
	r.Script(`
		hpersist h FIELDS 1 b => *1 :1
		hpexpire h 50 FIELDS 2 b c => *2 :1 :1
		persist h => :1
		rename h i => +OK
		move i 1 => :1
	`)
	r.NowMs += 49
	expect("[]")
	r.NowMs++
	expect("[{1 i}]")
	events = nil
	r.Script("lockstep.expire 1 i => :2")
	expect("[]")
	if got := strings.Join(events, " "); got != "hexpired del" || r.KS.Keys(1) != 0 {
		t.Fatalf("events %q, %d keys", got, r.KS.Keys(1))
	}
}

// TestExpireTakesOutAPartAtATime: fields beyond the bound of one entry stay in the index.
func TestExpireTakesOutAPartAtATime(t *testing.T) {
	r := cmdtest.NewRunner(t)
	const n = keycmd.PurgeMax + 100
	args := cmdtest.Words("hset h")
	for i := range n {
		args = append(args, fmt.Append(nil, i), nil)
	}
	r.Exec(args...)
	r.Do("hset other a 1")
	r.Do("hpexpire other 5 FIELDS 1 a")
	list := cmdtest.Words(fmt.Sprint("hpexpire h 5 FIELDS ", n))
	for i := range n {
		list = append(list, fmt.Append(nil, i))
	}
	r.Exec(list...)
	r.NowMs += 5
	if got := r.Do("lockstep.expire 0 h 0 other"); got != fmt.Sprint(":", keycmd.PurgeMax) {
		t.Fatal(got)
	}
	if got := r.Do("lockstep.expire 0 h 0 other"); got != ":101" || dueNow(r) != "[]" || r.KS.Keys(0) != 0 {
		t.Fatalf("%s, due %s, %d keys", got, dueNow(r), r.KS.Keys(0))
	}
}

// TestReadsAtTheLeaderSeeWhatIsDue expects c.Due exactly if a field is due by the leader's clock
// and not yet by the log's.
func TestReadsAtTheLeaderSeeWhatIsDue(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.NowMs = 1_000_000
	r.Do("hset h a 1 b 2")
	r.Do("hpexpire h 10 FIELDS 1 a")
	r.Do("hset one a 1")
	r.Do("hpexpire one 10 FIELDS 1 a")
	r.Do("rpush {t}l 1")
	r.Do("hset {t}h1 a 1 b 2")
	r.Do("hpexpire {t}h1 10 FIELDS 1 a")
	for line, aheadMs := range map[string]int64{
		"hget h b": 10, "hlen h": 10, "hgetall h": 10, "exists one": 10, "hget one a": 10, "httl h FIELDS 1 a": 10,
		"sort_ro {t}l get {t}h*->a": 10, "sort {t}l by {t}h*->a": 10,
	} {
		for _, off := range []int64{-1, 0} {
			args := cmdtest.Words(line)
			spec, _ := commands.Lookup(args)
			var out reply.Writer
			c := command.Ctx{KS: r.KS, Out: &out, Times: command.Times{NowMs: r.NowMs, LeaderMs: r.NowMs + aheadMs + off}, Meter: command.Meter{Settings: &r.Settings}}
			spec.Run(&c, args)
			if c.Due != (off == 0) {
				t.Errorf("%s, the leader being %d ms ahead: due is %v", line, aheadMs+off, c.Due)
			}
		}
	}
	// A read does not wait for a field that has expired by the log's time.
	r.NowMs += 10
	var out reply.Writer
	c := command.Ctx{KS: r.KS, Out: &out, Times: command.Times{NowMs: r.NowMs, LeaderMs: r.NowMs + 5}, Meter: command.Meter{Settings: &r.Settings}}
	hashcmd.RunHGet(&c, cmdtest.Words("hget h a"))
	if c.Due || out.Len() != len("$-1\r\n") {
		t.Errorf("due is %v, the reply %q", c.Due, out.Bytes())
	}
}

// TestIndexStaysRight runs random commands, while cuts open and close, and compares the index with
// all keys.
func TestIndexStaysRight(t *testing.T) {
	for seed := range int64(4) {
		r := cmdtest.NewRunner(t)
		r.NowMs = 1_000_000
		r.Settings.HashPackEntriesMax = 4
		rng := rand.New(rand.NewSource(seed))
		var cut *engine.Cut
		for i := range 6000 {
			key, other := fmt.Sprint("k", rng.Intn(6)), fmt.Sprint("k", rng.Intn(6))
			field, ms := fmt.Sprint("f", rng.Intn(9)), rng.Intn(60)
			lines := []string{
				fmt.Sprintf("hset %s %s 1", key, field), fmt.Sprintf("hset %s %s 1 x 2", key, field), fmt.Sprintf("hpexpire %s %d FIELDS 1 %s", key, ms, field),
				fmt.Sprintf("hpexpire %s %d FIELDS 2 %s f1", key, ms, field), fmt.Sprintf("hdel %s %s", key, field), fmt.Sprintf("hpersist %s FIELDS 1 %s", key, field),
				fmt.Sprintf("pexpire %s %d", key, ms), "persist " + key, fmt.Sprintf("rename %s %s", key, other), fmt.Sprintf("copy %s %s replace", key, other),
				fmt.Sprintf("copy %s %s db 1 replace", key, other), fmt.Sprintf("move %s 1", key), "del " + key, "swapdb 0 1", "set " + key + " x px 5", "lockstep.expire 0 " + key + " 1 " + other,
				fmt.Sprintf("hgetex %s px %d FIELDS 1 %s", key, ms, field), fmt.Sprintf("hsetex %s px %d FIELDS 1 %s v", key, ms, field), fmt.Sprintf("hgetdel %s FIELDS 1 %s", key, field),
			}
			if rng.Intn(300) == 0 {
				lines = []string{"flushdb"}
			}
			r.Do(lines[rng.Intn(len(lines))])
			r.NowMs += int64(rng.Intn(3))
			switch rng.Intn(40) {
			case 0:
				if cut == nil {
					cut = r.KS.OpenCut(r.TxnNo)
				}
			case 1:
				if cut != nil {
					cut.Close()
					cut = nil
				}
			}
			checkIndex(t, r, i)
		}
	}
}

// checkIndex compares the index, and the memory, with the entries.
func checkIndex(t *testing.T, r *cmdtest.Runner, step int) {
	t.Helper()
	const never = 1 << 60
	memory := 0
	for slot := range int32(r.KS.LockSlots()) {
		want := map[engine.Due]bool{}
		first := int64(0)
		for db := range engine.Databases {
			r.KS.Slot(slot).Walk(db, 0, func(_ uint32, e *engine.Entry) bool {
				memory += e.MemoryBytes()
				if at := e.DueAtMs(); at != 0 {
					want[engine.Due{DB: db, Key: e.Key()}] = true
					if first == 0 || at < first {
						first = at
					}
				}
				return true
			})
		}
		got := r.KS.AppendDue(nil, slot, never, never)
		if len(got) != len(want) || r.KS.SlotDueMs(slot) != first {
			t.Fatalf("step %d: %v in the index from %d, want %v from %d", step, got, r.KS.SlotDueMs(slot), want, first)
		}
		for _, due := range got {
			if !want[due] {
				t.Fatalf("step %d: %v is in the index", step, due)
			}
		}
	}
	if got := r.KS.MemoryBytes(); got != int64(memory) {
		t.Fatalf("step %d: %d bytes, want %d", step, got, memory)
	}
}

// TestTimedHashesAreSaved dumps and restores hashes whose fields expire, and writes them to a file.
// Order, encoding and times stay the same.
func TestTimedHashesAreSaved(t *testing.T) {
	r := cmdtest.NewRunner(t)
	r.NowMs = 1_000_000
	fillHash(r, "small", 10)
	fillHash(r, "large", 600)
	fillHash(r, "over", 3)
	for _, line := range []string{
		"hpexpire small 50 FIELDS 2 f5 f3", "hpexpire small 20 FIELDS 1 f7", "hpexpire large 70 FIELDS 2 f500 f4", "hpexpire large 7 FIELDS 1 f8",
		"hpexpire over 5 FIELDS 1 f1", "hpersist over FIELDS 1 f1",
	} {
		r.Do(line)
	}
	for key, typ := range map[string]byte{"small": rdb.TypeHashListpackExpiry, "large": rdb.TypeHashMetadata, "over": rdb.TypeHashListpackExpiry} {
		payload := cmdtest.Bulk(t, r.Exec(cmdtest.Words("dump "+key)...))
		if payload[0] != typ {
			t.Errorf("%s is written as %d, want %d", key, payload[0], typ)
		}
		if got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("back"), []byte("0"), payload, []byte("replace"))); got != "+OK" {
			t.Fatalf("%s: %s", key, got)
		}
		for _, line := range []string{"hgetall", "object encoding", "hpttl"} {
			a, b := cmdtest.Words(line+" "+key), cmdtest.Words(line+" back")
			if line == "hpttl" {
				list := cmdtest.Words("FIELDS 8 f1 f2 f3 f4 f5 f7 f8 f500")
				a, b = append(a, list...), append(b, list...)
			}
			if got, want := r.Exec(b...), r.Exec(a...); !bytes.Equal(got, want) {
				t.Errorf("%s %s: %q, want %q", line, key, got, want)
			}
		}
		if got, want := r.Do("lockstep.digest-value back"), r.Do("lockstep.digest-value "+key); got != want {
			t.Errorf("%s: digest %s, want %s", key, got, want)
		}
	}
	// A snapshot's file is read without limits.
	var file bytes.Buffer
	out := rdb.NewWriter(&file)
	e := r.KS.Find(r.KS.LockSlot([]byte("large")), 0, []byte("large"))
	values.WriteEntry(out, e)
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	in, err := rdb.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	event, err := in.Next()
	if err != nil {
		t.Fatal(err)
	}
	back, err := values.ReadValue(&in.Source, event.Type, event.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := e.Object().(*hash.Hash), back.Object().(*hash.Hash); a.FirstExpiryMs() != b.FirstExpiryMs() || a.Len() != b.Len() || b.LenAt(1_000_070) != 597 {
		t.Errorf("%d fields from %d come back as %d from %d", a.Len(), a.FirstExpiryMs(), b.Len(), b.FirstExpiryMs())
	}
}
