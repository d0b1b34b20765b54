package values_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc64"
	"math"
	"math/rand"
	"strings"
	"testing"

	"lockstep/engine"
	"lockstep/engine/command"
	"lockstep/engine/commands/values"
	"lockstep/engine/rdb"
	"lockstep/tests/kit/cmdtest"
)

// TestDumpsGoBothWays restores here what redis-server dumps, compressed or not, and restores in
// redis-server what Lockstep dumps.
func TestDumpsGoBothWays(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	rng := rand.New(rand.NewSource(1))
	values := [][]byte{nil, []byte("0"), []byte("-128"), []byte("128"), []byte("-32769"), []byte("2147483647"), []byte("2147483648"), []byte("-2147483648"), []byte("007")}
	for _, n := range []int{1, 20, 21, 63, 64, 300, 16383, 16384, 100_000} {
		random := make([]byte, n)
		rng.Read(random)
		few := make([]byte, n)
		for i := range few {
			few[i] = "ab"[rng.Intn(2)]
		}
		values = append(values, random, few, bytes.Repeat([]byte("x"), n), bytes.Repeat([]byte("long text "), n/10+1))
	}
	key := []byte("k")
	for _, compression := range []string{"yes", "no"} {
		o.Do("config set rdbcompression " + compression)
		for _, value := range values {
			o.Exec([]byte("set"), key, value)
			payload := cmdtest.Bulk(t, o.Exec([]byte("dump"), key))
			if got := cmdtest.Flat(r.Exec([]byte("restore"), key, []byte("0"), payload, []byte("replace"))); got != "+OK" {
				t.Fatalf("restore of %.30q, compression %s: %s", value, compression, got)
			}
			if got := cmdtest.Bulk(t, r.Exec([]byte("get"), key)); !bytes.Equal(got, value) {
				t.Fatalf("restored %.30q, want %.30q", got, value)
			}
			payload = cmdtest.Bulk(t, r.Exec([]byte("dump"), key))
			if got := cmdtest.Flat(o.Exec([]byte("restore"), key, []byte("0"), payload, []byte("replace"))); got != "+OK" {
				t.Fatalf("redis-server refuses our dump of %.30q: %s", value, got)
			}
			if got := cmdtest.Bulk(t, o.Exec([]byte("get"), key)); !bytes.Equal(got, value) {
				t.Fatalf("redis-server restored %.30q, want %.30q", got, value)
			}
		}
	}
}

// TestHostilePayloadsAreRefused restores payloads with a correct checksum and wrong content.
func TestHostilePayloadsAreRefused(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":                      "",
		"an unknown type":              "\x77\x01a",
		"a cut length":                 "\x00\x80\x00",
		"a length beyond the end":      "\x00\x05ab",
		"a huge length":                "\x00\x81\xff\xff\xff\xff\xff\xff\xff\xffab",
		"a cut number":                 "\x00\xc2\x01",
		"an unknown form":              "\x00\xc4\x01",
		"bytes left over":              "\x00\x01abc",
		"LZF cut":                      "\x00\xc3",
		"LZF of a huge length":         "\x00\xc3\x02\x81\x7f\xff\xff\xff\xff\xff\xff\xff\x00a",
		"LZF before its beginning":     "\x00\xc3\x04\x05\x00a\x20\x05",
		"LZF too long":                 "\x00\xc3\x04\x02\x00a\x20\x00",
		"LZF too short":                "\x00\xc3\x02\x05\x00a",
		"LZF literals cut":             "\x00\xc3\x02\x05\x05a",
		"LZF reference without offset": "\x00\xc3\x03\x05\x00a\x20",
		"LZF long reference cut":       "\x00\xc3\x03\x05\x00a\xe0",
	} {
		r := cmdtest.NewRunner(t)
		payload := rdb.AppendFooter([]byte(body), 0)
		got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("k"), []byte("0"), payload))
		if got != "-"+command.ErrBadDumpBody && got != "-"+command.ErrBadDump {
			t.Errorf("%s: %s", name, got)
		}
	}
	r := cmdtest.NewRunner(t)
	p := values.AppendPayload(nil, engine.NewString(nil, []byte("text")))
	// The footer of a version that is too new: two bytes, and a checksum over everything.
	binary.LittleEndian.PutUint16(p[len(p)-10:], rdb.VersionMax+1)
	binary.LittleEndian.PutUint64(p[len(p)-8:], ^crc64.Update(math.MaxUint64, crc64.MakeTable(0x95ac9329ac4bc9b5), p[:len(p)-8]))
	if got := cmdtest.Flat(r.Exec([]byte("restore"), []byte("k"), []byte("0"), p)); !strings.HasPrefix(got, "-"+command.ErrBadDump) {
		t.Errorf("a version of the future: %s", got)
	}
}

// zipEntry is an element of a ziplist, behind an element of prev bytes.
func zipEntry(prev int, text string) string {
	if prev < 254 {
		return string([]byte{byte(prev), byte(len(text))}) + text
	}
	return string([]byte{254, byte(prev), byte(prev >> 8), 0, 0, byte(len(text))}) + text
}

// ziplistOf puts entries together, with the tail where the last one begins.
func ziplistOf(entries ...string) []byte {
	all := strings.Join(entries, "")
	tail := 10 + len(all)
	if len(entries) > 0 {
		tail -= len(entries[len(entries)-1])
	}
	blob := binary.LittleEndian.AppendUint32(nil, uint32(10+len(all)+1))
	blob = binary.LittleEndian.AppendUint32(blob, uint32(tail))
	blob = binary.LittleEndian.AppendUint16(blob, uint16(len(entries)))
	return append(append(blob, all...), 0xff)
}

// TestZiplistsAreCheckedAsRedisDoes restores hashes from before Redis 7, whole
// and damaged, here and in a redis-server that sanitizes them.
func TestZiplistsAreCheckedAsRedisDoes(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	o.Do("config set sanitize-dump-payload yes")
	long := "\x40" + string([]byte{200 - 128}) + strings.Repeat("x", 72) // a head of two bytes
	first := string([]byte{0}) + long
	prev := "\xfe" + string([]byte{byte(len(first)), 0, 0, 0}) // longer than need be
	whole := map[string][]byte{
		"two":            ziplistOf(zipEntry(0, "f"), zipEntry(3, "v")),
		"four":           ziplistOf(zipEntry(0, "f"), zipEntry(3, "vv"), zipEntry(4, "g"), zipEntry(3, "")),
		"a long length":  ziplistOf(first, prev+"\x01v"),
		"many to count":  ziplistOf(zipEntry(0, "f"), zipEntry(3, "v")),
		"numbers":        ziplistOf("\x00\xfe\x07", "\x03\xf4"),
		"nothing at all": ziplistOf(),
	}
	binary.LittleEndian.PutUint16(whole["many to count"][8:], 0xffff)
	answers := map[string]int{}
	try := func(what string, blob []byte) {
		t.Helper()
		payload := cmdtest.PayloadOf("\x0d" + string([]byte{0x40 | byte(len(blob)>>8), byte(len(blob))}) + string(blob))
		args := [][]byte{[]byte("restore"), []byte("k"), []byte("0"), payload, []byte("replace")}
		ours, want := cmdtest.Flat(r.Exec(args...)), cmdtest.Flat(o.Exec(args...))
		if answers[want]++; ours != want {
			t.Errorf("%s, %q: %s, redis-server: %s", what, blob, ours, want)
		}
	}
	for what, blob := range whole {
		try(what, blob)
		// Each byte of the head and of the lengths is made wrong by itself.
		for at := range blob {
			for _, by := range []byte{1, 0xff, 3} {
				damaged := bytes.Clone(blob)
				damaged[at] += by
				try(what+", damaged", damaged)
			}
		}
	}
	if answers["+OK"] < len(whole)-1 || len(answers) < 2 {
		t.Errorf("answers %v", answers)
	}
}

// FuzzRestore restores any body with a correct footer. A body that RESTORE accepts must survive
// another dump and restore unchanged.
func FuzzRestore(f *testing.F) {
	f.Add([]byte("\x00\x04text"))
	f.Add([]byte("\x00\xc0\x80"))
	f.Add([]byte("\x00\xc3\x09\x40\x64\x01xx\xe0\x57\x00\x01xx"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) == 0 {
			return
		}
		limits := command.DefaultSettings
		limits.ValueBytesMax = 1 << 20
		e, err := values.ReadBody(body[0], body[1:], []byte("k"), &limits)
		if err != nil {
			return
		}
		first := cmdtest.Restored(t, e, &limits)
		p := values.AppendPayload(nil, first)
		if e.Kind() != engine.KindList && !bytes.Equal(p, values.AppendPayload(nil, e)) {
			t.Fatalf("%q comes back as %q", values.AppendPayload(nil, e), p)
		}
		// A list may have another form after the first restore (FuzzRestoreList).
		if again := values.AppendPayload(nil, cmdtest.Restored(t, first, &limits)); !bytes.Equal(again, p) {
			t.Fatalf("%q comes back as %q", p, again)
		}
	})
}
