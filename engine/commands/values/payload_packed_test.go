package values_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"lockstep/engine/command"
	"lockstep/engine/commands/values"
	"lockstep/engine/commands/zsetcmd"
	"lockstep/engine/rdb"
	"lockstep/engine/zset"
)

// A packed value that repeats the same element becomes megabytes out of a payload of some
// kilobytes. It must be refused at the first repetition, before the whole value is unpacked.
func TestWhatComesTwiceEndsAPayload(t *testing.T) {
	const pairs, perPairMax = 1 << 20, 8
	settings := command.DefaultSettings
	blob := append(binary.LittleEndian.AppendUint32(nil, 6+4*pairs+1), 0xff, 0xff)
	blob = append(append(blob, bytes.Repeat([]byte{1, 1, 1, 1}, pairs)...), 0xff)
	body := append(rdb.AppendLength(nil, uint64(len(blob))), blob...)
	for _, typ := range []byte{rdb.TypeHashListpack, rdb.TypeSetListpack, rdb.TypeZSetListpack} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := values.ReadBody(typ, body, []byte("k"), &settings)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, rdb.ErrFormat) {
			t.Errorf("type %d: %v", typ, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > pairs*perPairMax {
			t.Errorf("type %d: %d bytes for %d pairs", typ, took, pairs)
		}
	}
}

// A packed sorted set may come in any order.
func TestAPackedSortedSetIsPutInOrder(t *testing.T) {
	want := zset.New()
	blob := rdb.AppendListpack(nil, func(yield func([]byte) bool) {
		for i := range 1000 {
			member, score := fmt.Appendf(nil, "m%d", i*7%1000), i*13%50-25
			want.Put(member, float64(score), zsetcmd.EverythingSmall)
			_ = yield(member) && yield(fmt.Append(nil, score))
		}
	})
	e, err := values.ReadBody(rdb.TypeZSetListpack, append(rdb.AppendLength(nil, uint64(len(blob))), blob...), []byte("k"), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := func(s *zset.Set) (list []string) {
		for _, e := range s.From(0) {
			list = append(list, fmt.Sprintf("%s=%v", e.Member, e.Score))
		}
		return list
	}
	if got := e.Object().(*zset.Set); got.Large() || !slices.Equal(all(got), all(want)) {
		t.Errorf("%v", all(got))
	}
}
