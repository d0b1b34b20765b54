package rdb

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

func collect(read func([]byte, func([]byte) bool) bool, blob []byte) (got []string, ok bool) {
	ok = read(blob, func(item []byte) bool { got = append(got, string(item)); return true })
	return got, ok
}

var packItems = func() (all []string) {
	for _, n := range []int64{0, 127, 128, -1, 4095, 4096, -4096, -4097, 32767, -32768, 32768, 1<<23 - 1, -1 << 23, 1 << 23, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, math.MaxInt64, math.MinInt64} {
		all = append(all, strconv.FormatInt(n, 10))
	}
	for _, n := range []int{0, 1, 63, 64, 120, 121, 122, 4095, 4096, 16377, 16378, 16379, 20000, 1<<21 - 6} {
		all = append(all, string(bytes.Repeat([]byte("x"), n)))
	}
	return append(all, "007", "-0", "+1", "9223372036854775808")
}()

func TestAListpackComesBackAsItWent(t *testing.T) {
	blob := AppendListpack(nil, func(yield func([]byte) bool) {
		for _, item := range packItems {
			if !yield([]byte(item)) {
				return
			}
		}
	})
	got, ok := collect(ReadListpack, blob)
	if !ok || !slices.Equal(got, packItems) {
		t.Errorf("%v %.100q", ok, got)
	}
	for i := range blob {
		if _, ok := collect(ReadListpack, blob[:i]); ok {
			t.Fatalf("cut at %d it was taken", i)
		}
	}
}

func TestAnIntsetComesBackAsItWent(t *testing.T) {
	for _, numbers := range [][]int64{nil, {-5, 0, 3}, {-40000, 40000}, {math.MinInt64, 0, math.MaxInt64}} {
		blob := AppendIntset(nil, numbers)
		got, ok := ReadIntset(blob)
		if !ok || !slices.Equal(got, numbers) {
			t.Errorf("%v became %v, %v", numbers, got, ok)
		}
	}
	if _, ok := ReadIntset(AppendIntset(nil, []int64{2, 1})); ok {
		t.Error("unsorted numbers were taken")
	}
}

// These blobs were put together by hand from the descriptions of the formats.
func TestOldForms(t *testing.T) {
	zip := "\x00\x02ab" + "\x04\xc0\x00\x01" + "\x04\xf3" + "\x02\xfe\xff" + "\x03\x40\x03abc" + "\x06\xf0\x00\x00\x80" + "\xfe\x05\x00\x00\x00\x80\x00\x00\x00\x01z"
	blob := append([]byte{byte(zipHeadBytes + len(zip) + 1), 0, 0, 0, byte(zipHeadBytes + len(zip) - 11), 0, 0, 0, 7, 0}, zip+"\xff"...)
	got, ok := collect(ReadZiplist, blob)
	if want := []string{"ab", "256", "2", "-1", "abc", "-8388608", "z"}; !ok || !slices.Equal(got, want) {
		t.Errorf("%v %q", ok, got)
	}
	got, ok = collect(ReadZipmap, []byte("\x02\x03foo\x03\x00bar\x05hello\x05\x02world..\xff"))
	if want := []string{"foo", "bar", "hello", "world"}; !ok || !slices.Equal(got, want) {
		t.Errorf("%v %q", ok, got)
	}
}

// Reading a blob with any changed bytes comes to an end.
func TestDamagedBlobsEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	whole := AppendListpack(nil, func(yield func([]byte) bool) {
		for _, item := range packItems[:25] {
			yield([]byte(item))
		}
	})
	for range 20_000 {
		blob := bytes.Clone(whole[:r.IntN(len(whole)+1)])
		for range 1 + r.IntN(4) {
			if len(blob) > 0 {
				blob[r.IntN(len(blob))] = byte(r.Uint32())
			}
		}
		if len(blob) >= 4 {
			blob[0], blob[1], blob[2], blob[3] = byte(len(blob)), byte(len(blob)>>8), byte(len(blob)>>16), 0
		}
		collect(ReadListpack, blob)
		collect(ReadZiplist, blob)
		collect(ReadZipmap, blob)
		ReadIntset(blob)
	}
}
