package badinput

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lockstep/engine/rdb"
	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// footerBytes is the length of a payload's version and checksum.
const footerBytes = 10

// mended is a payload with another body and a valid checksum.
func mended(body []byte) string { return string(rdb.AppendFooter(append([]byte(nil), body...), 0)) }

// dumpedKeys make values of all types, in all encodings that the servers use.
func dumpedKeys() [][]string {
	var all [][]string
	for size, n := range map[string]int{"small": 5, "middle": 200, "large": 3000} {
		list, set, ints := []string{"RPUSH", "list-" + size}, []string{"SADD", "set-" + size}, []string{"SADD", "ints-" + size}
		hash, zset := []string{"HSET", "hash-" + size}, []string{"ZADD", "zset-" + size}
		for i := range n {
			text := fmt.Sprintf("element-%d-%s", i, strings.Repeat("x", i%90))
			list, set, ints = append(list, text), append(set, text), append(ints, fmt.Sprint(i*7919-900000))
			hash, zset = append(hash, text, fmt.Sprint(i)), append(zset, fmt.Sprint(float64(i)/3), text)
		}
		all = append(all, list, set, ints, hash, zset, []string{"SET", "string-" + size, strings.Repeat("abc", n)})
		stream := "stream-" + size
		for i := range min(n, 300) {
			all = append(all, []string{"XADD", stream, fmt.Sprintf("%d-%d", 1+i/3, i), "f", fmt.Sprint(i), "g", "v"})
		}
		all = append(all, []string{"XGROUP", "CREATE", stream, "g", "0"}, []string{"XREADGROUP", "GROUP", "g", "c", "COUNT", "4", "STREAMS", stream, ">"}, []string{"XDEL", stream, "1-1"})
		pf := []string{"PFADD", "hll-" + size}
		all = append(all, append(pf, list[2:]...))
	}
	return append(all, []string{"SET", "int", "12345"}, []string{"SET", "compressible", strings.Repeat("a", 5000)})
}

// payloads returns the DUMPs of a server's keys, by name.
func payloads(t *testing.T, addr string, more ...[]string) map[string]string {
	t.Helper()
	c := proc.Dial(t, addr)
	for _, args := range append(dumpedKeys(), more...) {
		if v, err := c.Do(args...); err != nil || v.IsError() {
			t.Fatalf("%.60q: %v, %v", args, v, err)
		}
	}
	keys, err := c.Do("KEYS", "*")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, k := range keys.Elems {
		v, err := c.Do("DUMP", string(k.Bytes))
		if err != nil || len(v.Bytes) <= footerBytes {
			t.Fatalf("DUMP %s: %v, %v", k.Bytes, v, err)
		}
		all[string(k.Bytes)] = string(v.Bytes)
	}
	return all
}

// lies are wrong lengths, in each of RDB's encodings (6 bits, 14, 32 and 64), and texts that claim
// to unpack to gigabytes.
var lies = [][]byte{
	{0x3f}, {0x7f, 0xff}, {0x80, 0xff, 0xff, 0xff, 0xff}, {0x80, 0x7f, 0xff, 0xff, 0xff}, {0x81, 0x10, 0, 0, 0, 0, 0, 0, 0},
	{0x81, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	{0xc3, 5, 0x81, 0, 0, 0, 2, 0, 0, 0, 0}, {0xc3, 0x81, 0x10, 0, 0, 0, 0, 0, 0, 0, 5}, {0xc0, 0xff}, {0xc1, 0, 0x80}, {0xc2, 0, 0, 0, 0x80}, {0xff}, {0x00},
}

// damage damages a body.
func damage(r *rand.Rand, body []byte) []byte {
	bad := append([]byte(nil), body...)
	at := r.IntN(len(bad))
	if r.IntN(2) == 0 {
		at = r.IntN(min(len(bad), 40)) // counts and headers are there
	}
	switch r.IntN(7) {
	case 0:
		for range 1 + r.IntN(8) {
			bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		}
	case 1:
		return bad[:1+at]
	case 2:
		bad[at] = byte(r.IntN(256))
	case 3:
		return append(bad[:at:at], append(append([]byte(nil), lies[r.IntN(len(lies))]...), bad[min(at+1, len(bad)):]...)...)
	case 4:
		binary.LittleEndian.PutUint32(append(bad[at:at:at], 0, 0, 0, 0), r.Uint32())
		copy(bad[at:], []byte{0xff, 0xff, 0xff, 0x7f})
	case 5:
		from := r.IntN(len(bad))
		return append(append(append([]byte(nil), bad[:at]...), bad[from:]...), bad[at:]...)
	default:
		bad[0] = byte(r.IntN(27)) // another type
	}
	return bad
}

// readsOf are the commands that read a whole value, by its type.
var readsOf = map[string][][]string{
	"string": {{"GET", "k"}, {"STRLEN", "k"}, {"GETRANGE", "k", "-5", "-1"}, {"BITCOUNT", "k"}, {"PFCOUNT", "k"}},
	"list":   {{"LRANGE", "k", "0", "-1"}, {"LLEN", "k"}, {"LINDEX", "k", "-1"}, {"LPOS", "k", "nosuch"}, {"SORT", "k", "ALPHA", "LIMIT", "0", "1"}},
	"set":    {{"SMEMBERS", "k"}, {"SCARD", "k"}, {"SISMEMBER", "k", "1"}, {"SSCAN", "k", "0", "COUNT", "100000"}, {"SRANDMEMBER", "k", "3"}, {"SINTERCARD", "1", "k"}},
	"hash":   {{"HGETALL", "k"}, {"HLEN", "k"}, {"HGET", "k", "f"}, {"HSCAN", "k", "0", "COUNT", "100000"}, {"HRANDFIELD", "k", "3"}, {"HTTL", "k", "FIELDS", "1", "f"}},
	"zset":   {{"ZRANGE", "k", "0", "-1", "WITHSCORES"}, {"ZCARD", "k"}, {"ZRANGEBYSCORE", "k", "-inf", "+inf"}, {"ZRANGEBYLEX", "k", "-", "+"}, {"ZRANK", "k", "m"}, {"ZSCAN", "k", "0", "COUNT", "100000"}, {"ZRANDMEMBER", "k", "3"}},
	"stream": {{"XRANGE", "k", "-", "+"}, {"XREVRANGE", "k", "+", "-"}, {"XLEN", "k"}, {"XINFO", "STREAM", "k", "FULL", "COUNT", "0"}, {"XINFO", "GROUPS", "k"}, {"XPENDING", "k", "g"}, {"XREAD", "STREAMS", "k", "0"}},
}

// writesOf change a value in ways that walk through much of it.
var writesOf = map[string][][]string{
	"string": {{"APPEND", "k", "x"}, {"SETRANGE", "k", "1", "y"}, {"PFADD", "k", "e"}},
	"list":   {{"LPUSH", "k", "x"}, {"LINSERT", "k", "BEFORE", "x", "y"}, {"LREM", "k", "0", "x"}, {"LTRIM", "k", "1", "-2"}, {"RPOP", "k", "2"}},
	"set":    {{"SADD", "k", "x", "5"}, {"SREM", "k", "5"}, {"SPOP", "k", "2"}},
	"hash":   {{"HSET", "k", "x", "y"}, {"HINCRBY", "k", "new", "5"}, {"HDEL", "k", "f"}, {"HPEXPIRE", "k", "100000000", "FIELDS", "1", "x"}},
	"zset":   {{"ZADD", "k", "5", "x"}, {"ZINCRBY", "k", "-3", "x"}, {"ZREMRANGEBYRANK", "k", "0", "1"}, {"ZPOPMAX", "k", "2"}},
	"stream": {{"XADD", "k", "*", "f", "v"}, {"XGROUP", "CREATE", "k", "new", "0"}, {"XREADGROUP", "GROUP", "new", "c", "COUNT", "5", "STREAMS", "k", ">"}, {"XTRIM", "k", "MAXLEN", "2"}, {"XAUTOCLAIM", "k", "new", "d", "0", "0"}},
}

// restored tries damaged payloads on one connection.
type restored struct {
	c       *respconn.Conn
	n       *proc.Node
	refused int
	taken   map[string]int
}

// bad is a damaged payload and the name of its original.
type bad struct{ name, payload string }

func (b bad) String() string { return fmt.Sprintf("%s, damaged to\n%q\n", b.name, b.payload) }

// must sends commands about a payload in one pipeline and returns the answers.
func (x *restored) must(t *testing.T, about fmt.Stringer, commands ...[]string) []string {
	t.Helper()
	replies, err := x.c.Pipeline(commands...)
	if err != nil {
		t.Fatalf("%v: %.80q: %v\n%s", about, commands, err, x.n.LogTail(3000))
	}
	answers := make([]string, len(replies))
	for i, v := range replies {
		answers[i] = v.String()
		if strings.Contains(answers[i], "internal error") {
			t.Fatalf("%v: %.80q answers %s", about, commands[i], answers[i])
		}
		if commands[i][0] == "DUMP" {
			answers[i] = string(v.Bytes)
		}
	}
	return answers
}

// batch is a number of payloads that are restored in one pipeline.
type batch []bad

func (b batch) String() string { return fmt.Sprint([]bad(b)) }

// all restores payloads, each under its own key.
func (x *restored) all(t *testing.T, payloads batch) {
	t.Helper()
	var commands [][]string
	for i, b := range payloads {
		commands = append(commands, []string{"RESTORE", fmt.Sprint("bad-", i), "0", b.payload, "REPLACE"})
	}
	for i, got := range x.must(t, payloads, commands...) {
		switch got {
		case "-ERR Bad data format":
			x.refused++
		case "+OK":
			x.use(t, payloads[i], fmt.Sprint("bad-", i))
		default:
			t.Fatalf("%v: RESTORE answers %s", payloads[i], got)
		}
	}
}

// use reads a whole value, dumps it and reads the dump, and changes the value.
func (x *restored) use(t *testing.T, b bad, key string) {
	t.Helper()
	found := x.must(t, b, []string{"RENAME", key, "k"}, []string{"TYPE", "k"}, []string{"DEBUG", "DIGEST-VALUE", "k"}, []string{"DUMP", "k"})
	kind := strings.TrimPrefix(found[1], "+")
	x.taken[kind]++
	if kind == "none" {
		return // a hash whose fields have expired
	}
	commands := [][]string{{"RESTORE", "copy", "0", found[3], "REPLACE"}, {"DEBUG", "DIGEST-VALUE", "copy"}}
	commands = slices.Concat(commands, readsOf[kind], writesOf[kind], [][]string{{"RENAME", "k", fmt.Sprintf("kept-%d", x.taken[kind]%50)}})
	got := x.must(t, b, commands...)
	if got[0] != "+OK" {
		t.Fatalf("%v: what it became is dumped, and RESTORE answers %s", b, got[0])
	}
	if got[1] != found[2] {
		t.Fatalf("%v: digest %s, dumped and restored %s", b, found[2], got[1])
	}
}

// reload takes a snapshot and loads it again.
func (x *restored) reload(t *testing.T) {
	t.Helper()
	before, err := proc.Ask(x.n.Addr(), "DEBUG", "DIGEST")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := x.c.Do("DEBUG", "RELOAD"); err != nil || v.IsError() {
		t.Fatalf("DEBUG RELOAD: %v, %v", v, err)
	}
	if after, err := proc.Ask(x.n.Addr(), "DEBUG", "DIGEST"); err != nil || after != before {
		t.Fatalf("the digest was %s, and is %s after a snapshot: %v", before, after, err)
	}
}

const restoredTogether = 20

// TestRestoreOfDamagedPayloads: values of every type and encoding, dumped here and by redis-server,
// are damaged and get a valid checksum. Each is refused as bad data, or is a value like any other.
func TestRestoreOfDamagedPayloads(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const grownMax = 1024 * mb
	each := 25
	if proc.Long() {
		each = 400
	}
	n := proc.NewNode(t, patiently)
	pid := n.Pid()
	r, _ := sweepSeed(t)
	sources := map[string]map[string]string{
		"ours":   payloads(t, n.Addr(), []string{"HPEXPIRE", "hash-small", "100000000", "FIELDS", "1", "element-0-"}, []string{"HPEXPIRE", "hash-large", "100000000", "FIELDS", "1", "element-0-"}),
		"redis":  payloads(t, proc.RedisServer(t).Addr()),
		"redis2": payloads(t, proc.RedisServer(t, "--list-max-listpack-size", "5", "--list-compress-depth", "1", "--rdbcompression", "no").Addr()),
	}
	if _, err := proc.Ask(n.Addr(), "FLUSHALL"); err != nil {
		t.Fatal(err)
	}
	x := &restored{c: proc.Dial(t, n.Addr()), n: n, taken: map[string]int{}}
	x.c.Patience = patience
	grown := watchRSS(n, func() {
		for _, source := range []string{"ours", "redis", "redis2"} {
			for _, name := range sortedKeys(sources[source]) {
				payload := []byte(sources[source][name])
				body := payload[:len(payload)-footerBytes]
				for rest := each; rest > 0; rest -= restoredTogether {
					var together batch
					for range min(rest, restoredTogether) {
						together = append(together, bad{source + " " + name, mended(damage(r, body))})
					}
					x.all(t, together)
				}
			}
			x.reload(t)
		}
	})
	t.Logf("%d refused, taken: %v; the node took %d MB more at most", x.refused, x.taken, grown/mb)
	if x.refused == 0 || len(x.taken) < len(readsOf) {
		t.Error("some of each was to be refused and taken")
	}
	if grown > grownMax {
		t.Errorf("it took %d MB", grown/mb)
	}
	mustLive(t, n, pid)
}
