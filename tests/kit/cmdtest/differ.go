package cmdtest

import (
	"bytes"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"lockstep/engine/reply"
)

// Differ runs random commands on the Runner and in redis-server, and compares the replies byte by
// byte.
func Differ(t *testing.T, proto int, seed int64, n int, templates []func(Generator) []string) {
	o := StartOracle(t)
	r := NewRunner(t)
	r.NowMs = WallMs()
	if proto == reply.RESP3 {
		o.Do("hello 3")
		r.Proto = reply.RESP3
	}
	g := Generator{Rand: rand.New(rand.NewSource(seed))}
	var history [][][]byte
	for i := range n {
		args := g.Command(templates)
		history = append(history, args)
		got, want := Both(r, o, args)
		if !bytes.Equal(got, want) {
			for _, h := range history[max(0, i-12):i] {
				t.Logf("%.100q", h)
			}
			t.Fatalf("seed %d, command %d: %.300q\n got %.500q\nwant %.500q", seed, i, args, got, want)
		}
	}
}

// Both runs a command on the Runner and in redis-server. The command for the digest has another
// name on the Runner. The order of keys differs, so both replies are sorted.
func Both(r *Runner, o *Oracle, args [][]byte) (got, want []byte) {
	if got, want, ok := bothSets(r, o, args); ok {
		return got, want
	}
	switch strings.ToLower(string(args[0])) {
	case "debug-digest":
		return r.Digest(), o.Exec([]byte("debug"), []byte("digest"))
	case "get":
		return withoutEstimate(r.Exec(args...)), withoutEstimate(o.Exec(args...))
	case "keys", "scan":
		return SortedPairs(r.Exec(args...)), SortedPairs(o.Exec(args...))
	}
	return r.Exec(args...), o.Exec(args...)
}

// SortedPairs sorts the pairs of lines of an array of bulk strings.
func SortedPairs(raw []byte) []byte {
	lines := strings.SplitAfter(strings.TrimSuffix(string(raw), "\r\n"), "\r\n")
	lines[len(lines)-1] += "\r\n"
	head := len(lines) % 2
	var items []string
	for i := head; i+1 < len(lines); i += 2 {
		items = append(items, lines[i]+lines[i+1])
	}
	slices.Sort(items)
	return []byte(strings.Join(lines[:head], "") + strings.Join(items, ""))
}
