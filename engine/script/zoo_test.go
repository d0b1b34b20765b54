package script_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockstep/engine/reply"
	"lockstep/engine/script"
	"lockstep/tests/scripts/zoo"
)

// small bounds make the zoo quick. They are of the same kinds.
var small = script.Limits{Work: 60 * script.Millisecond, Bytes: 64 << 20, CallDepth: 4000, ReplyBytes: 4 << 20, SourceBytes: 1 << 20}

// tookMax is generous, because a machine may be busy. A script without a bound runs for ever.
const tookMax = time.Minute

func TestHostileScriptsEndWithAnError(t *testing.T) {
	var e script.Interpreters
	limits, otherBound := small, "none"
	if testing.Short() {
		// Most scripts that end by another bound then end by this one.
		limits.Work, otherBound = limits.Work/100, zoo.Ended
	}
	for _, z := range zoo.Animals {
		t.Run(z.Name, func(t *testing.T) {
			var first []byte
			for range 2 {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				began := time.Now()
				got := eval(t, &e, newHost(), reply.RESP2, &limits, z.Source, []string{"k"}, nil)
				took := time.Since(began)
				runtime.ReadMemStats(&after)
				if z.Want != "" && (got[0] != '-' || !strings.Contains(string(got), z.Want) && !strings.Contains(string(got), otherBound)) {
					t.Fatalf("ended with %.300q, want an error with %q", got, z.Want)
				}
				if bytes.Contains(got, []byte("0x")) || bytes.Contains(got, []byte("runtime error")) {
					t.Errorf("%.300q", got)
				}
				if made := after.TotalAlloc - before.TotalAlloc; made > 16*uint64(limits.Bytes) {
					t.Errorf("allocated %d MB", made>>20)
				}
				if took > tookMax {
					t.Errorf("took %v", took)
				}
				if first == nil {
					first = got
				} else if !bytes.Equal(first, got) {
					t.Errorf("ended with %.300q and then with %.300q", first, got)
				}
			}
		})
	}
}
