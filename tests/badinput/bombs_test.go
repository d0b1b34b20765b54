package badinput

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"lockstep/engine/rdb"
	"lockstep/tests/kit/proc"
)

// lzfText is a text of n equal bytes as RDB compresses it, in about n/88 bytes. It claims to have
// claimed bytes.
func lzfText(n, claimed uint64) []byte {
	packed := []byte{0, 'a'}
	const run = 264 // the most that three bytes stand for
	for made := uint64(1); made+run <= n; made += run {
		packed = append(packed, 0xe0, 0xff, 0)
	}
	n = 1 + (n-1)/run*run
	if claimed == 0 {
		claimed = n
	}
	out := append([]byte{0xc3}, length(uint64(len(packed)))...)
	return append(append(out, length(claimed)...), packed...)
}

// length is a length of 64 bits in RDB's encoding.
func length(n uint64) []byte { return binary.BigEndian.AppendUint64([]byte{0x81}, n) }

// bombs are bodies of payloads that claim, or unpack to, far more than their size.
func bombs() map[string][]byte {
	const great = 1 << 60
	all := map[string][]byte{
		"a text that claims a gigabyte":         append([]byte{rdb.TypeString}, lzfText(1000, 1<<30)...),
		"a text that claims 2^60 bytes":         append([]byte{rdb.TypeString}, lzfText(1000, great)...),
		"a packed text of 2^60 bytes":           append([]byte{rdb.TypeString, 0xc3}, length(great)...),
		"a text beyond the limit of values":     append([]byte{rdb.TypeString}, lzfText(100<<20, 0)...),
		"a list of texts of 4 GB together":      append(append([]byte{rdb.TypeList}, length(64)...), bytes.Repeat(lzfText(63<<20, 0), 64)...),
		"a set of texts of 4 GB together":       append(append([]byte{rdb.TypeSet}, length(64)...), bytes.Repeat(lzfText(63<<20, 0), 64)...),
		"a list of nodes of 4 GB together":      append(append([]byte{rdb.TypeListQuicklist2}, length(64)...), bytes.Repeat(append(length(1), lzfText(63<<20, 0)...), 64)...),
		"a hash of texts of 4 GB together":      append(append([]byte{rdb.TypeHash}, length(32)...), bytes.Repeat(lzfText(63<<20, 0), 64)...),
		"a stream of listpacks of 4 GB":         append(append([]byte{rdb.TypeStreamListpacks2}, length(64)...), bytes.Repeat(append(append([]byte{16}, make([]byte, 16)...), lzfText(63<<20, 0)...), 64)...),
		"a sorted set of texts of 4 GB":         append(append([]byte{rdb.TypeZSet}, length(64)...), bytes.Repeat(append(lzfText(63<<20, 0), make([]byte, 8)...), 64)...),
		"an intset that claims 2^31 members":    append([]byte{rdb.TypeSetIntset, 8}, 2, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f),
		"a listpack that claims 2^32-1 bytes":   append([]byte{rdb.TypeHashListpack, 7}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		"a ziplist that claims 2^32-1 bytes":    append([]byte{rdb.TypeHashZiplist, 11}, 0xff, 0xff, 0xff, 0xff, 10, 0, 0, 0, 0xff, 0xff, 0xff),
		"a stream of 2^60 entries and groups":   append(append([]byte{rdb.TypeStreamListpacks2, 0}, length(great)...), bytes.Repeat(length(great), 8)...),
		"a hash of fields that expire, of 2^60": append(append([]byte{rdb.TypeHashMetadata}, make([]byte, 8)...), length(great)...),
	}
	all["a sorted set of texts of 4 GB, of different scores"] = scoredTexts()
	all["a hash of one field, time and again"] = append([]byte{rdb.TypeHashListpack}, lzfListpack([]byte{1, 1, 1, 1}, 1<<26)...)
	all["a sorted set of one member, time and again"] = append([]byte{rdb.TypeZSetListpack}, lzfListpack([]byte{1, 1, 1, 1}, 1<<26)...)
	all["a set of one member, time and again"] = append([]byte{rdb.TypeSetListpack}, lzfListpack([]byte{1, 1, 1, 1}, 1<<26)...)
	all["a sorted set of a million members, the last one twice"] = manyMembers()
	all["a stream of two million groups, from behind, the last one twice"] = manyGroups()
	all["a stream of two million consumers, from behind, the last one twice"] = manyConsumers()
	for typ := range 30 {
		all[fmt.Sprintf("type %d of 2^60", typ)] = append(append([]byte{byte(typ)}, length(great)...), 1, 'a', 1, 'b')
		all[fmt.Sprintf("type %d of 2^63-1", typ)] = append(append([]byte{byte(typ)}, length(1<<63-1)...), 1, 'a', 1, 'b')
		all[fmt.Sprintf("type %d of nothing", typ)] = []byte{byte(typ), 0}
		all[fmt.Sprintf("type %d without a body", typ)] = []byte{byte(typ)}
	}
	return all
}

// scoredTexts is a sorted set with one long member many times, each time with another score.
func scoredTexts() []byte {
	const n = 64
	body := append([]byte{rdb.TypeZSet}, length(n)...)
	for i := range uint64(n) {
		body = append(body, lzfText(63<<20, 0)...)
		body = binary.LittleEndian.AppendUint64(body, math.Float64bits(float64(i)))
	}
	return body
}

// lzfListpack is a listpack with a pattern of four bytes n times, as RDB compresses it.
func lzfListpack(pattern []byte, n int) []byte {
	const run = 264 // the most that three bytes stand for
	n = n / (run / len(pattern)) * (run / len(pattern))
	total := uint64(6 + (n+1)*len(pattern) + 1)
	head := append(binary.LittleEndian.AppendUint32(nil, uint32(total)), 0xff, 0xff)
	packed := append([]byte{byte(len(head) + len(pattern) - 1)}, append(head, pattern...)...)
	packed = append(packed, bytes.Repeat([]byte{0xe0, 0xff, byte(len(pattern) - 1)}, n*len(pattern)/run)...)
	packed = append(packed, 0, 0xff)
	out := append([]byte{0xc3}, length(uint64(len(packed)))...)
	return append(append(out, length(total)...), packed...)
}

// many calls each for n names, each less than the one before, and again for the last one.
func many(n int, each func(name []byte)) {
	for i := n - 1; i >= 0; i-- {
		each(binary.BigEndian.AppendUint32(nil, uint32(i)))
	}
	each(make([]byte, 4))
}

func manyMembers() []byte {
	blob := rdb.AppendListpack(nil, func(yield func([]byte) bool) {
		many(1_000_000, func(name []byte) { _ = yield(name) && yield([]byte("1")) })
	})
	return append(rdb.AppendLength([]byte{rdb.TypeZSetListpack}, uint64(len(blob))), blob...)
}

func manyGroups() []byte {
	const n = 2_000_000
	// The bytes mean: no nodes, no entries; the last, the first and the greatest deleted ID;
	// entries added.
	body := rdb.AppendLength(append([]byte{rdb.TypeStreamListpacks2}, make([]byte, 9)...), n+1)
	many(n, func(name []byte) {
		// The bytes mean: the last ID, entries read, nothing pending, no consumers.
		body = append(append(append(body, 4), name...), 0, 0, 0, 0, 0)
	})
	return body
}

func manyConsumers() []byte {
	const n = 2_000_000
	body := append([]byte{rdb.TypeStreamListpacks2}, make([]byte, 9)...)
	body = rdb.AppendLength(append(body, 1, 1, 'g', 0, 0, 0, 0), n+1)
	many(n, func(name []byte) {
		// The bytes mean: when it was seen, and nothing pending.
		body = append(append(append(body, 4), name...), make([]byte, 9)...)
	})
	return body
}

// TestBombsAreRefused: payloads with valid checksums claim, or unpack to, more than the memory
// holds.
func TestBombsAreRefused(t *testing.T) {
	proc.NeedProcesses(t)
	t.Parallel()
	const grownMax = 2560 * mb
	n := proc.NewNode(t, patiently)
	pid := n.Pid()
	c := proc.Dial(t, n.Addr())
	c.Patience = patience
	all := bombs()
	for _, name := range sortedKeys(all) {
		begin := time.Now()
		grown := watchRSS(n, func() {
			v, err := c.Do("RESTORE", "k", "0", mended(all[name]), "REPLACE")
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, n.LogTail(3000))
			}
			// An empty string is a valid string.
			if got := v.String(); got != "-ERR Bad data format" && (got != "+OK" || len(all[name]) != 2) {
				t.Errorf("%s: RESTORE answers %s", name, got)
			}
		})
		if grown > grownMax {
			t.Errorf("%s: it took %d MB", name, grown/mb)
		}
		if took := time.Since(begin); grown > 200*mb || took > time.Second {
			t.Logf("%s: it took %v and %d MB", name, took, grown/mb)
		}
	}
	mustLive(t, n, pid)
}
