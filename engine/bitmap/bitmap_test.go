package bitmap

import (
	"math"
	"math/big"
	"math/rand"
	"testing"
)

func noRest() {}

// slowBits are the bits of a text, one by one.
func slowBits(text []byte) []int {
	all := make([]int, 0, 8*len(text))
	for _, b := range text {
		for i := 7; i >= 0; i-- {
			all = append(all, int(b>>i&1))
		}
	}
	return all
}

func randomText(r *rand.Rand) []byte {
	text := make([]byte, r.Intn(60))
	switch r.Intn(3) {
	case 0:
		r.Read(text)
	case 1:
		for i := range text {
			text[i] = 0xff
		}
	}
	if len(text) > 0 && r.Intn(2) == 0 {
		text[r.Intn(len(text))] ^= 1 << r.Intn(8)
	}
	return text
}

func TestCountAndFirstAgreeWithBitByBit(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 50_000 {
		text := randomText(r)
		all := slowBits(text)
		if len(all) == 0 {
			continue
		}
		rg := Range{int64(r.Intn(len(all))), int64(r.Intn(len(all)))}
		ones, first := int64(0), [2]int64{-1, -1}
		for i := rg.First; i <= rg.Last; i++ {
			ones += int64(all[i])
			if first[all[i]] < 0 {
				first[all[i]] = i
			}
		}
		if got := Count(text, rg, noRest); got != ones {
			t.Fatalf("%x %v: %d ones, want %d", text, rg, got, ones)
		}
		for bit := range 2 {
			if got := First(text, rg, bit, noRest); got != first[bit] {
				t.Fatalf("%x %v: first %d at %d, want %d", text, rg, bit, got, first[bit])
			}
		}
		if at := r.Int63n(int64(len(all)) + 20); at < int64(len(all)) && Bit(text, at) != all[at] || at >= int64(len(all)) && Bit(text, at) != 0 {
			t.Fatalf("%x: bit %d is %d", text, at, Bit(text, at))
		}
	}
}

func TestLongTextsRest(t *testing.T) {
	text := make([]byte, 3*RestBytes+11)
	text[len(text)-1] = 1
	rests := 0
	rest := func() { rests++ }
	if n := Count(text, Whole(len(text)), rest); n != 1 || rests < 2 {
		t.Errorf("%d ones, %d rests", n, rests)
	}
	rests = 0
	if at := First(text, Whole(len(text)), 1, rest); at != int64(len(text))*8-1 || rests < 2 {
		t.Errorf("first one at %d, %d rests", at, rests)
	}
	rests = 0
	out := Combine(Not, [][]byte{text}, rest)
	if Count(out, Whole(len(out)), noRest) != int64(len(text))*8-1 || rests < 3 {
		t.Errorf("%d rests", rests)
	}
}

func TestCombineAgreesWithByteByByte(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 20_000 {
		texts := make([][]byte, 1+r.Intn(4))
		longest := 0
		for i := range texts {
			texts[i] = randomText(r)
			longest = max(longest, len(texts[i]))
		}
		op := Op(r.Intn(4))
		if op == Not {
			texts = texts[:1]
			longest = len(texts[0])
		}
		got := Combine(op, texts, noRest)
		if len(got) != longest {
			t.Fatalf("%d bytes, want %d", len(got), longest)
		}
		for i := range got {
			var want byte
			for j, text := range texts {
				var b byte
				if i < len(text) {
					b = text[i]
				}
				switch {
				case op == Not:
					want = ^b
				case j == 0:
					want = b
				case op == And:
					want &= b
				case op == Or:
					want |= b
				default:
					want ^= b
				}
			}
			if got[i] != want {
				t.Fatalf("op %d of %x: byte %d is %x, want %x", op, texts, i, got[i], want)
			}
		}
	}
}

func TestFieldsAgreeWithBitByBit(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for range 100_000 {
		f := Field{Signed: r.Intn(2) == 0, Bits: 1 + r.Intn(63), At: r.Int63n(100)}
		if f.Signed && r.Intn(4) == 0 {
			f.Bits = 64
		}
		text := randomText(r)
		all := append(slowBits(text), make([]int, 200)...)
		want := new(big.Int)
		for i := range f.Bits {
			want.Lsh(want, 1).Or(want, big.NewInt(int64(all[f.At+int64(i)])))
		}
		if f.Signed && all[f.At] == 1 {
			want.Sub(want, new(big.Int).Lsh(big.NewInt(1), uint(f.Bits)))
		}
		if got := f.Get(text); got != want.Int64() {
			t.Fatalf("%+v of %x: %d, want %v", f, text, got, want)
		}
		text = append(text, make([]byte, max(0, int(f.End())-len(text)))...)
		before := slowBits(text)
		n := f.wrapped(int64(r.Uint64()))
		f.Set(text, n)
		if got := f.Get(text); got != n {
			t.Fatalf("%+v: %d was set, %d is there", f, n, got)
		}
		for i, b := range slowBits(text) {
			if (int64(i) < f.At || int64(i) >= f.At+int64(f.Bits)) && b != before[i] {
				t.Fatalf("%+v: bit %d has changed", f, i)
			}
		}
	}
}

// TestSumsAgreeWithLargeNumbers adds to the numbers that a field holds.
func TestSumsAgreeWithLargeNumbers(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for range 100_000 {
		f := Field{Signed: r.Intn(2) == 0, Bits: 1 + r.Intn(63)}
		if f.Signed && r.Intn(4) == 0 {
			f.Bits = 64
		}
		n := f.wrapped(int64(r.Uint64()))
		delta := int64(r.Uint64()) >> r.Intn(64)
		sum := new(big.Int).Add(big.NewInt(n), big.NewInt(delta))
		least, greatest := big.NewInt(f.least()), big.NewInt(f.greatest())
		fits := sum.Cmp(least) >= 0 && sum.Cmp(greatest) <= 0
		limit := least
		if sum.Cmp(greatest) > 0 {
			limit = greatest
		}
		modulus := new(big.Int).Lsh(big.NewInt(1), uint(f.Bits))
		wrap := new(big.Int).Sub(sum, least)
		wrap.Mod(wrap, modulus).Add(wrap, least)
		if got, ok := f.Add(n, delta, Fail); ok != fits || fits && got != sum.Int64() {
			t.Fatalf("%+v: %d%+d is %d %v, want %v", f, n, delta, got, ok, sum)
		}
		if got, _ := f.Add(n, delta, Wrap); got != wrap.Int64() {
			t.Fatalf("%+v: %d%+d wraps to %d, want %v", f, n, delta, got, wrap)
		}
		if !fits {
			if got, _ := f.Add(n, delta, Saturate); got != limit.Int64() {
				t.Fatalf("%+v: %d%+d stops at %d, want %v", f, n, delta, got, limit)
			}
		}
	}
	if got, ok := (Field{Signed: true, Bits: 8}).Add(math.MinInt64, 0, Saturate); !ok || got != 127 {
		t.Errorf("the least number becomes %d", got)
	}
}
