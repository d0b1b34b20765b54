package script_test

import (
	"bytes"
	"math/rand"
	"sort"
	"strings"
	"testing"
	"time"

	"lockstep/engine/reply"
	"lockstep/engine/script"
)

func TestShrink(t *testing.T) {
	o := startOracle(t)
	p := &programs{drawer: drawer{rand.New(rand.NewSource(drawnSeed(t)))}}
	var e script.Interpreters
	type bad struct{ s, got, want string }
	var all []bad
	n := 0
	for began := time.Now(); time.Since(began) < 25*time.Second; n++ {
		p.vars = map[byte][]string{}
		p.text.Reset()
		p.made, p.loops, p.depth = 0, 0, 2
		p.w("%slocal ended = pcall(function()\n", strings.ReplaceAll(prologue, "\n", " "))
		for range 1 + p.Intn(4) {
			p.stmt()
		}
		p.w("end)\nout[#out + 1] = tostring(ended) budget = 100\n")
		p.w("for i = 1, math.min(#fs, 5) do local ok, n = pcall(fs[i], i) out[#out + 1] = ok and n or 'failed' end\nreturn out")
		source := p.text.String()
		want := o.exec("EVAL", source, "0")
		got := eval(t, &e, newHost(), reply.RESP2, &script.DefaultLimits, source, nil, nil)
		if !bytes.Equal(got, want) {
			all = append(all, bad{source[strings.Index(source, "local ended"):], string(got), string(want)})
		}
	}
	sort.Slice(all, func(i, j int) bool { return len(all[i].s) < len(all[j].s) })
	t.Logf("%d of %d", len(all), n)
	for i := 0; i < 12 && i < len(all); i++ {
		t.Logf("%s\n got %.300q\nwant %.300q", all[i].s, all[i].got, all[i].want)
	}
}
