package hll

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand"
	"testing"
)

// valuesOf reads all registers of a text.
func valuesOf(t *testing.T, text []byte) *Values {
	t.Helper()
	v := new(Values)
	if err := v.Merge(text); err != nil {
		t.Fatalf("%x: %v", text, err)
	}
	return v
}

// TestHashesOfOneTextDiffer hashes texts that differ in one bit. Other tests compare texts with
// those of redis-server, which shows that the hashes are Murmur's.
func TestHashesOfOneTextDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	data := make([]byte, 40)
	for n := range data {
		for i := range 8 * n {
			data[i/8] ^= 1 << (i % 8)
			h := murmur64A(data[:n], seed)
			if seen[h] {
				t.Fatalf("%d bytes, bit %d: a hash comes twice", n, i)
			}
			seen[h] = true
			data[i/8] ^= 1 << (i % 8)
		}
	}
}

func TestDenseRegistersKeepApart(t *testing.T) {
	if err := testRegisters(); err != nil {
		t.Error(err)
	}
	if err := SelfTest(); err != nil {
		t.Error(err)
	}
}

// TestSparseHoldsWhatAnArrayHolds sets random registers, many in runs, and compares with a plain
// array. The text must never exceed its limit.
func TestSparseHoldsWhatAnArrayHolds(t *testing.T) {
	for seed := range int64(30) {
		r := rand.New(rand.NewSource(seed))
		text, want := New(), Values{}
		bytesMax := 20 + r.Intn(2000)
		near := 0
		for range 3000 {
			register, rank := r.Intn(Registers), uint8(1+r.Intn(3))
			switch r.Intn(3) {
			case 0:
				near = (near + r.Intn(3)) % Registers
				register = near
			case 1:
				register = r.Intn(50)
			}
			if r.Intn(500) == 0 && seed%2 == 0 {
				rank = uint8(33 + r.Intn(19))
			}
			out, raised, _, err := set(text, register, rank, int64(bytesMax), noHint)
			if err != nil || raised != (want[register] < rank) {
				t.Fatalf("seed %d: register %d to %d, was %d: raised %v, %v", seed, register, rank, want[register], raised, err)
			}
			text, want[register] = out, max(want[register], rank)
			if !Is(text) || !Dense(text) && len(text) > bytesMax {
				t.Fatalf("seed %d: %d bytes", seed, len(text))
			}
		}
		if *valuesOf(t, text) != want {
			t.Fatalf("seed %d: other values", seed)
		}
		out, err := AppendDense(nil, text)
		if err != nil || *valuesOf(t, out) != want {
			t.Fatalf("seed %d: other values in the dense form: %v", seed, err)
		}
		a, _ := Count(text)
		b, _ := Count(out)
		if a != b || a != want.Count() {
			t.Fatalf("seed %d: estimates %d, %d, %d", seed, a, b, want.Count())
		}
	}
}

// TestHintsChangeNothing raises registers in order, with hints and without. The results must be the
// same.
func TestHintsChangeNothing(t *testing.T) {
	for seed := range int64(200) {
		r := rand.New(rand.NewSource(seed))
		base := New()
		for range r.Intn(300) {
			base, _, _, _ = set(base, r.Intn(600), uint8(1+r.Intn(3)), 1<<20, noHint)
		}
		var values Values
		for range r.Intn(900) {
			values[r.Intn(600)] = uint8(1 + r.Intn(3))
		}
		values[r.Intn(Registers)] = 3
		want := bytes.Clone(base)
		for i, rank := range values {
			if rank > 0 {
				want, _, _, _ = set(want, i, rank, 1<<20, noHint)
			}
		}
		Outdate(want)
		got, err := Raise(bytes.Clone(base), &values, false, 1<<20)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %v\n got %s\nwant %s", seed, err, Decode(got), Decode(want))
		}
	}
}

func TestEstimatesAreNear(t *testing.T) {
	text := New()
	for n := 1; n <= 200_000; n++ {
		var err error
		if text, _, err = Add(text, [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(n))}, 3000, func() {}); err != nil {
			t.Fatal(err)
		}
		if n%5000 == 0 || n < 20 {
			got, err := Count(text)
			if off := math.Abs(float64(got)-float64(n)) / float64(n); err != nil || off > 0.04 {
				t.Errorf("%d elements: estimate %d (%v)", n, got, err)
			}
		}
	}
}

func TestKeptEstimateIsUsedUntilItIsOutdated(t *testing.T) {
	text := New()
	text[8] = 77
	if n, err := Count(text); n != 77 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	Outdate(text)
	if n, err := Count(text); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestCorruptTextsAreRefused(t *testing.T) {
	head := New()[:headerBytes]
	head[headerBytes-1] |= staleFlag
	for name, body := range map[string]string{
		"nothing":        "",
		"too few":        "\x00",
		"too many":       "\x7f\xff\x00",
		"a run cut":      "\x7f",
		"values too far": "\x7f\xfe\x83",
	} {
		text := append(bytes.Clone(head), body...)
		if _, err := Count(text); err != ErrCorrupt {
			t.Errorf("%s: Count says %v", name, err)
		}
		if _, err := AppendDense(nil, text); err != ErrCorrupt {
			t.Errorf("%s: AppendDense says %v", name, err)
		}
		if err := new(Values).Merge(text); err != ErrCorrupt {
			t.Errorf("%s: Merge says %v", name, err)
		}
	}
	for _, text := range []string{"", "HYLL", "HYLL\x02" + string(make([]byte, 11)), "HYLL\x00" + string(make([]byte, 11)), "hyll\x01" + string(make([]byte, 11))} {
		if Is([]byte(text)) {
			t.Errorf("%q is taken", text)
		}
	}
	full := make([]byte, DenseBytes)
	copy(full, magic)
	Outdate(full)
	for i := range Registers {
		denseSet(full, i, rankMax)
	}
	if n, err := Count(full); n != 1<<63 || err != nil {
		t.Errorf("all registers full: %d, %v", n, err)
	}
}

// FuzzTexts takes any text as a HyperLogLog. Nothing may panic, and a readable text must stay
// readable after elements were added.
func FuzzTexts(f *testing.F) {
	text := New()
	for i := range 300 {
		text, _, _ = Add(text, [][]byte{{byte(i), byte(i >> 8)}}, 3000, func() {})
		if i%50 == 0 {
			f.Add(bytes.Clone(text), []byte("element"), 3000)
		}
	}
	f.Add(append(New()[:headerBytes], 0x7f, 0xff, 0x7f), []byte("x"), 0)
	f.Fuzz(func(t *testing.T, text, element []byte, bytesMax int) {
		if !Is(text) {
			return
		}
		before := Values{}
		_, errCount := Count(text)
		errBefore := before.Merge(text)
		Decode(text)
		out, raised, err := Add(bytes.Clone(text), [][]byte{element, element}, int64(max(bytesMax, 0)), func() {})
		if errBefore != nil {
			return
		}
		register, rank := place(element)
		if err != nil || errCount != nil || (raised > 0) != (before[register] < rank) {
			t.Fatalf("added to %x: %d, %v, %v", text, raised, err, errCount)
		}
		before[register] = max(before[register], rank)
		if *valuesOf(t, out) != before {
			t.Fatalf("added to %x: other values", text)
		}
	})
}

func BenchmarkAddSparse(b *testing.B) { benchmarkAdd(b, 400) }
func BenchmarkAddDense(b *testing.B)  { benchmarkAdd(b, 100_000) }

func benchmarkAdd(b *testing.B, elements int) {
	text := New()
	element := make([]byte, 8)
	for i := range elements {
		binary.LittleEndian.PutUint64(element, uint64(i))
		text, _, _ = Add(text, [][]byte{element}, 3000, func() {})
	}
	for i := 0; b.Loop(); i++ {
		binary.LittleEndian.PutUint64(element, uint64(i%elements))
		text, _, _ = Add(text, [][]byte{element}, 3000, func() {})
	}
	b.ReportMetric(float64(len(text)), "bytes")
}

func BenchmarkCountDense(b *testing.B) {
	text, _ := AppendDense(nil, New())
	Outdate(text)
	for b.Loop() {
		Count(text)
	}
}
