package geocmd_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/reply"
	"lockstep/tests/kit/cmdtest"
)

func TestGeoAnswersAsRedisDoes(t *testing.T) {
	n := 15_000
	if testing.Short() {
		n = 3000
	}
	for _, smallMax := range []string{"128", "8"} {
		for _, proto := range []int{reply.RESP2, reply.RESP3} {
			t.Run(fmt.Sprintf("small to %s, RESP%d", smallMax, proto), func(t *testing.T) {
				o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
				o.Do("config set zset-max-listpack-entries " + smallMax)
				r.Settings.Set("zset-max-listpack-entries", smallMax)
				if proto == reply.RESP3 {
					o.Do("hello 3")
					r.Proto = reply.RESP3
				}
				g := cmdtest.Generator{Rand: rand.New(rand.NewSource(int64(proto)))}
				for i := range n {
					args := g.Command(cmdtest.GeoCommands)
					got, want := r.Exec(args...), o.Exec(args...)
					if !bytes.Equal(got, want) {
						t.Fatalf("command %d: %q\n got %q\nwant %q", i, args, got, want)
					}
				}
			})
		}
	}
}

// TestStoredDistancesAreRedisDistances compares all digits of many distances.
// C's library, and so Redis, rounds a sine wrong now and then, which one
// depending on its version and the processor: the last digit may differ.
func TestStoredDistancesAreRedisDistances(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	g := cmdtest.Generator{Rand: rand.New(rand.NewSource(7))}
	all, different := 0, 0
	for range 50 {
		var add strings.Builder
		add.WriteString("geoadd g")
		for i := range 100 {
			spread := []float64{0.001, 1, 170}[i%3]
			fmt.Fprintf(&add, " %v %v m%d", (g.Float64()-0.5)*2*spread, (g.Float64()-0.5)*min(spread, 80)*2, i)
		}
		for _, line := range []string{"del g d", add.String(), "georadius g 1 1 30000 km storedist d"} {
			if got, want := r.Do(line), o.Do(line); got != want {
				t.Fatalf("%.60s\n got %s\nwant %s", line, got, want)
			}
		}
		const scores = "zrange d 0 -1 withscores"
		got, want := cmdtest.ParseReply(t, r.Exec(cmdtest.Words(scores)...)).([]any), cmdtest.ParseReply(t, o.Exec(cmdtest.Words(scores)...)).([]any)
		for i := 1; i < len(want); i += 2 {
			a, _ := strconv.ParseFloat(got[i].(string), 64)
			b, _ := strconv.ParseFloat(want[i].(string), 64)
			if math.Abs(a-b) > 1e-15*b {
				t.Fatalf("%v: %v, want %v", want[i-1], a, b)
			}
			all++
			if a != b {
				different++
			}
		}
	}
	if different*50 > all || all != 5000 {
		t.Errorf("%d of %d distances differ in the last digit", different, all)
	}
}
