package command

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/reply"
)

// elements are some for PFADD, now and then many.
func (g generator) hllElements() string {
	n := g.Intn(4)
	if g.Intn(20) == 0 {
		n = g.Intn(400)
	}
	all := make([]string, n)
	for i := range all {
		switch g.Intn(3) {
		case 0:
			all[i] = strconv.Itoa(g.Intn(5000))
		case 1:
			all[i] = strings.Repeat("e", g.Intn(20)) + strconv.Itoa(g.Intn(50))
		default:
			b := make([]byte, 1+g.Intn(30))
			g.Read(b)
			all[i] = strings.ReplaceAll(string(b), "\x01", "x")
		}
	}
	return "\x02" + strings.Join(all, "\x01")
}

// hllText is the text of a HyperLogLog, right or damaged.
func (g generator) hllText() string {
	head := "HYLL\x01\x00\x00\x00" + g.pick("\x00\x00\x00\x00\x00\x00\x00\x80", "\x07\x00\x00\x00\x00\x00\x00\x00")
	switch g.Intn(6) {
	case 0:
		return head + "\x7f\xff"
	case 1:
		return head + "\x40\x02\x84\x80\x88\x7f\xf8\x80\x80"
	case 2:
		// Runs that do not add up.
		return head + g.pick("\x7f\xfe", "\x00", "\x7f\xff\x80", "\x80", "")
	case 3:
		return g.pick("HYLL", "HYLL\x02", "hyll\x01", "HYLL\x00") + strings.Repeat("\x00", g.pick2(11, 12))
	case 4:
		return "HYLL\x00" + strings.Repeat("\x00", 10) + "\x80" + strings.Repeat(g.pick("\x00", "\x41\x10\x04", "\xff"), 12288)[:12288]
	default:
		return head + strings.Repeat("\x3f", 256)
	}
}

func (g generator) pick2(a, b int) int {
	if g.Intn(2) == 0 {
		return a
	}
	return b
}

var hllCommands = []func(generator) []string{
	func(g generator) []string { return []string{"pfadd", g.key(), g.hllElements()} },
	func(g generator) []string { return []string{"pfadd", g.key(), g.hllElements()} },
	func(g generator) []string { return []string{"pfadd", g.key(), g.hllElements()} },
	func(g generator) []string { return []string{"pfcount", g.key()} },
	func(g generator) []string { return []string{"pfcount", g.key(), g.key(), g.key()} },
	func(g generator) []string { return []string{"pfmerge", g.key(), "\x02" + g.some(2, g.key(), g.key())} },
	func(g generator) []string { return []string{"get", g.key()} },
	func(g generator) []string { return []string{"get", g.key()} },
	func(g generator) []string { return []string{"strlen", g.key()} },
	func(g generator) []string {
		return []string{"pfdebug", g.pick("encoding", "DECODE", "decode", "decode", "todense", "getreg", "x"), g.key()}
	},
	func(g generator) []string {
		return []string{g.pick("set", "set", "del"), g.key(), g.pick("text", "12", g.hllText())}
	},
	func(g generator) []string { return []string{"set", g.key(), g.hllText()} },
	func(g generator) []string { return []string{"del", g.key()} },
	func(g generator) []string { return []string{"del", g.key()} },
	func(g generator) []string { return []string{"copy", g.key(), g.key(), "replace"} },
	func(g generator) []string { return []string{"pexpireat", g.key(), "4000000000123"} },
	func(g generator) []string { return []string{"pexpiretime", g.key()} },
}

// withoutEstimate overwrites the estimate in a HyperLogLog's header, which Redis
// stores when it reads, in a reply of bulk strings.
func withoutEstimate(raw []byte) []byte {
	for at := 0; ; {
		i := bytes.Index(raw[at:], []byte("HYLL"))
		if i < 0 || at+i+16 > len(raw) {
			return raw
		}
		at += i + 4
		copy(raw[at+4:], "estimate")
	}
}

func TestHyperLogLogsAnswerAsRedisDoes(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 3000
	}
	t.Run("RESP2", func(t *testing.T) { differ(t, reply.RESP2, 7, n, hllCommands) })
	t.Run("RESP3", func(t *testing.T) { differ(t, reply.RESP3, 8, n, hllCommands) })
}

// TestHyperLogLogsGrowAsInRedis adds until the text is dense, with several
// limits, and compares the texts byte by byte: nothing reads, so the estimates
// are the same too.
func TestHyperLogLogsGrowAsInRedis(t *testing.T) {
	o, r := startOracle(t), newRunner(t)
	for _, bytesMax := range []int64{0, 100, 3000, 15000} {
		o.do(fmt.Sprint("config set hll-sparse-max-bytes ", bytesMax))
		r.settings.HLLSparseBytesMax = bytesMax
		o.do("flushall")
		r.do("flushall")
		for i := range 4000 {
			args := words(fmt.Sprintf("pfadd k%d e%d", i%2, i))
			if i%3 == 0 {
				args = append(args, fmt.Appendf(nil, "x%d", i))
			}
			if i%1000 == 999 {
				args = words("pfmerge k2 k0 k1")
			}
			got, want := both(r, o, args)
			if !bytes.Equal(got, want) {
				t.Fatalf("%q\n got %q\nwant %q", args, got, want)
			}
			if i%50 != 0 && i%1000 != 999 {
				continue
			}
			for _, key := range []string{"k0", "k1", "k2"} {
				if got, want := r.do("get "+key), o.do("get "+key); got != want {
					t.Fatalf("limit %d, step %d: %s\n got %x\nwant %x", bytesMax, i, key, got, want)
				}
			}
		}
		for _, line := range []string{"pfcount k0", "pfcount k1", "pfcount k2", "pfcount k0 k1", "pfdebug encoding k2", "pfdebug getreg k2", "object encoding k0", "object encoding k2"} {
			if got, want := r.do(line), o.do(line); got != want {
				t.Errorf("limit %d: %s\n got %s\nwant %s", bytesMax, line, got, want)
			}
		}
	}
}

// TestCountingChangesNothing: PFCOUNT runs as a read. Adding what is there
// already changes no more than the encoding.
func TestCountingChangesNothing(t *testing.T) {
	r := newRunner(t)
	r.script(`
		pfselftest => +OK
		pfadd e => :1
		object encoding e => $3 raw
		pfadd e => :0
	`)
	r.do("pfadd k a b c")
	before := r.do("dump k")
	r.script(`
		pfcount k => :3
		pfcount k k => :3
	`)
	if after := r.do("dump k"); after != before {
		t.Errorf("the text was %q, is %q", before, after)
	}
}

// TestMemoryIsAsInRedis compares the memory of HyperLogLogs and bitmaps with
// what redis-server says it uses.
func TestMemoryIsAsInRedis(t *testing.T) {
	// headBytes are what a string that can grow in place costs beyond others.
	const headBytes = 48
	o, r := startOracle(t), newRunner(t)
	for _, n := range []int{10, 100, 100_000} {
		for i := range n {
			add, set := words(fmt.Sprint("pfadd h ", i)), words(fmt.Sprint("setbit b ", i*7, " 1"))
			both(r, o, add)
			both(r, o, set)
		}
		for _, key := range []string{"h", "b"} {
			theirs, _ := strconv.Atoi(strings.TrimPrefix(o.do("memory usage "+key), ":"))
			slot := r.ks.LockSlot([]byte(key))
			ours := r.ks.Find(slot, 0, []byte(key)).MemoryBytes()
			t.Logf("%s of %d: %d bytes, %.2f each; Redis %d", key, n, ours, float64(ours)/float64(n), theirs)
			if ours > theirs*3/2+headBytes {
				t.Errorf("%s of %d: %d bytes, Redis has %d", key, n, ours, theirs)
			}
		}
	}
}
