package engine

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestLFUCounterGrowsAsRedisDoes compares with the table in Redis's own redis.conf: the counter
// after so many uses, by lfu-log-factor.
func TestLFUCounterGrowsAsRedisDoes(t *testing.T) {
	const trials = 40
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		factor int64
		uses   int
		want   float64
	}{
		{0, 100, 104}, {0, 1000, 255}, {1, 100, 18}, {1, 1000, 49}, {1, 100_000, 255},
		{10, 100, 10}, {10, 1000, 18}, {10, 100_000, 142}, {10, 1_000_000, 255},
		{100, 100, 8}, {100, 1000, 11}, {100, 100_000, 49}, {100, 1_000_000, 143},
	} {
		l := LFU{LogFactor: c.factor, DecayMin: 1}
		sum := 0
		runs := max(trials*1000/c.uses, 3)
		for range runs {
			e := NewString([]byte("k"), nil)
			for range c.uses {
				e.TouchLFU(77, rng.Uint64(), l)
			}
			sum += int(l.Count(e.Use(), 77))
		}
		if got := float64(sum) / float64(runs); math.Abs(got-c.want) > 1+c.want/20 {
			t.Errorf("factor %d: %.1f after %d uses, %.0f in Redis", c.factor, got, c.uses, c.want)
		}
	}
}

func TestLFUCounterDecays(t *testing.T) {
	for _, c := range []struct {
		decay   int64
		at, now uint16
		n, want uint8
	}{
		{1, 10, 10, 50, 50}, {1, 10, 15, 50, 45}, {1, 10, 100, 50, 0}, {5, 10, 14, 50, 50}, {5, 10, 20, 50, 48},
		{0, 10, 1000, 50, 50}, {1, 65530, 4, 50, 40},
	} {
		e := NewString([]byte("k"), nil)
		e.SetLFU(c.at, c.n)
		l := LFU{LogFactor: 10, DecayMin: c.decay}
		if got := l.Count(e.Use(), c.now); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
		// A use adds to the decayed counter.
		e.TouchLFU(c.now, 0, l)
		if got := l.Count(e.Use(), c.now); got != c.want+1 {
			t.Errorf("%+v: %d after another use", c, got)
		}
	}
}

func TestFreshKeyIsNotTheFirstToGo(t *testing.T) {
	e := NewString([]byte("k"), nil)
	l := LFU{LogFactor: 10, DecayMin: 1}
	e.TouchLFU(3, 0, l)
	if got := l.Count(e.Use(), 3); got != 5 {
		t.Errorf("%d", got)
	}
}

func TestAnotherValueKeepsTheRecordOfUse(t *testing.T) {
	k := New(Config{LockSlots: 4})
	slot := k.LockSlot([]byte("k"))
	k.SetString(slot, 0, []byte("k"), []byte("v"), 0, 1).Touch(42)
	long := make([]byte, 1000)
	if e := k.SetString(slot, 0, []byte("k"), long, 0, 2); e.Use() != 42 {
		t.Errorf("%d", e.Use())
	}
}
