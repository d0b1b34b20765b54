package listcmd_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"lockstep/tests/kit/cmdtest"
)

// TestListMemory compares the memory of lists with the size that redis-server reports. It prints
// bytes per element.
func TestListMemory(t *testing.T) {
	o, r := cmdtest.StartOracle(t), cmdtest.NewRunner(t)
	for name, element := range map[string]func(i int) string{
		"numbers": func(i int) string { return strconv.Itoa(1_000_000_000 + i*7919) },
		"words":   func(i int) string { return fmt.Sprintf("element:%d", i) },
		"texts":   func(i int) string { return strings.Repeat("text ", 20) + strconv.Itoa(i) },
	} {
		for _, n := range []int{10, 100, 100_000} {
			for _, push := range []string{"rpush", "lpush"} {
				o.Do("flushall")
				r.Do("flushall")
				for i := 0; i < n; i += 100 {
					args := cmdtest.Words(push + " k")
					for j := i; j < min(i+100, n); j++ {
						args = append(args, []byte(element(j)))
					}
					o.Exec(args...)
					r.Exec(args...)
				}
				theirs := cmdtest.ParseReply(t, o.Exec(cmdtest.Words("memory usage k samples 0")...)).(int)
				ours := int(r.KS.MemoryBytes())
				ratio := float64(ours) / float64(theirs)
				t.Logf("%d %s by %s: %.1f bytes each, Redis %.1f, %.2f times as much", n, name, push, float64(ours)/float64(n), float64(theirs)/float64(n), ratio)
				if ratio > 1.5 {
					t.Errorf("%d %s by %s: more than 1.5 times as much", n, name, push)
				}
			}
		}
	}
}
