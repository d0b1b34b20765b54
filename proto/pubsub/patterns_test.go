package pubsub

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/engine/glob"
)

// Patterns are added and removed: all that match a channel are found, sorted, whatever their
// literal beginnings.
func TestMatchingPatternsAreFound(t *testing.T) {
	g := rand.New(rand.NewSource(1))
	text := func(letters string, n int) string {
		var b strings.Builder
		for range g.Intn(n + 1) {
			b.WriteByte(letters[g.Intn(len(letters))])
		}
		return b.String()
	}
	long := strings.Repeat("a", prefixBytesMax+3)
	p, there := newPatterns(), map[string]bool{}
	found := 0
	for i := range 20_000 {
		name := text("aab", 4) + text(`ab*?[]\^-`, 4)
		if i%50 == 0 {
			name = long[:prefixBytesMax-2+g.Intn(5)] + name
		}
		if there[name] && g.Intn(2) == 0 {
			p.remove(name)
			delete(there, name)
		} else {
			p.get(name)
			there[name] = true
		}
		if i%20 != 0 {
			continue
		}
		channel := text("aab", 6)
		if i%100 == 0 {
			channel = long[:prefixBytesMax-2+g.Intn(5)] + channel
		}
		var want, got []string
		for name := range there {
			if glob.Match([]byte(name), []byte(channel), false) {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		for _, x := range p.matching(channel) {
			got = append(got, string(x.text))
		}
		if found += len(got); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", channel, got, want)
		}
	}
	if found < 1000 {
		t.Errorf("only %d were found", found)
	}
	for name := range there {
		p.remove(name)
	}
	if len(p.all)+len(p.byPrefix) != 0 || p.lengths != [prefixBytesMax + 1]int{} {
		t.Errorf("left: %d patterns, %d beginnings, lengths %v", len(p.all), len(p.byPrefix), p.lengths)
	}
}

// A message is compared only with patterns that have the same beginning as its channel, not with
// all.
func TestAMessageLooksAtFewPatterns(t *testing.T) {
	p := newPatterns()
	for i := range 100_000 {
		p.get(fmt.Sprintf("user:%d:*", i))
	}
	looked := 0
	for length, n := range p.lengths {
		if channel := "user:77:x"; n > 0 && length <= len(channel) {
			looked += len(p.byPrefix[channel[:length]])
		}
	}
	if got := p.matching("user:77:x"); len(got) != 1 || looked > 2 {
		t.Errorf("%d match, %d looked at", len(got), looked)
	}
}

// The numbers of subscriptions and of patterns of a node are bounded.
func TestSubscriptionsOfANodeAreBounded(t *testing.T) {
	h := New()
	h.subscriptionsMax, h.patternsMax = 4, 2
	a, b := &ear{}, &ear{}
	for i, c := range []struct {
		s    Subscriber
		kind Kind
		name string
		want bool
	}{
		{a, Pattern, "x*", true}, {a, Pattern, "y*", true}, {a, Pattern, "z*", false}, {b, Pattern, "y*", true},
		{a, Pattern, "x*", true}, {a, Channel, "c", true}, {b, Channel, "c", false}, {a, Channel, "c", true},
	} {
		if got := h.Subscribe(c.s, c.kind, c.name); got != c.want {
			t.Errorf("%d: %t", i, got)
		}
	}
	h.Unsubscribe(a, Pattern, "x*")
	h.Unsubscribe(a, Pattern, "x*")
	if !h.Subscribe(a, Pattern, "z*") || h.Names(Pattern) != 2 || h.total != 4 {
		t.Errorf("%d patterns, %d subscriptions", h.Names(Pattern), h.total)
	}
}

func benchmarkPatterns(b *testing.B, form string) {
	h := New()
	for i := range 100_000 {
		h.Subscribe(&ear{}, Pattern, fmt.Sprintf(form, i))
	}
	b.ResetTimer()
	for range b.N {
		h.Publish(Channel, "user:77:news", nil)
	}
}

// BenchmarkPublishPrefixes has 100,000 patterns with different beginnings, BenchmarkPublishSuffixes
// as many that begin with a star and have different ends, and BenchmarkPublishStars as many that
// must all be compared.
func BenchmarkPublishPrefixes(b *testing.B) { benchmarkPatterns(b, "user:%d:nows*") }
func BenchmarkPublishSuffixes(b *testing.B) { benchmarkPatterns(b, "*:%d:nows") }
func BenchmarkPublishStars(b *testing.B)    { benchmarkPatterns(b, "*:%d:n*") }

// The length of all names together is bounded.
func TestNamesOfANodeAreBounded(t *testing.T) {
	h := New()
	h.bytesMax = 100
	a, b, long := &ear{}, &ear{}, strings.Repeat("x", 60)
	if !h.Subscribe(a, Channel, long) || h.Subscribe(b, Channel, long) || h.Subscribe(a, Pattern, long) || !h.Subscribe(b, Channel, long[:40]) {
		t.Error("a hundred bytes are a hundred bytes")
	}
	h.Unsubscribe(a, Channel, long)
	h.Unsubscribe(a, Channel, long)
	if h.bytes != 40 || !h.Subscribe(b, Shard, long) {
		t.Errorf("%d bytes are counted", h.bytes)
	}
}

// A channel name that is slow to match meets many patterns that are as well. Once each took some
// tens of milliseconds, under a lock that all publishers need.
func TestPatternsMadeToBeSlow(t *testing.T) {
	h := New()
	a, text := &ear{}, strings.Repeat("a", 8000)
	for i := range 500 {
		h.Subscribe(a, Pattern, "*"+strings.Repeat("a", 4000)+strconv.Itoa(i)+"b*")
	}
	h.Subscribe(a, Pattern, "*"+strings.Repeat("a", 100)+"*")
	begin := time.Now()
	glob.Match([]byte("*"+strings.Repeat("a", 4000)+"b*"), []byte(text), false)
	each := time.Since(begin)
	begin = time.Now()
	if n := h.Publish(Channel, text, []byte("m")); n != 1 {
		t.Errorf("%d have heard", n)
	}
	h.Subscribe(a, Channel, text)
	if names := h.Channels(Channel, "*"+strings.Repeat("a", 4000)+"b"); len(names) != 0 {
		t.Errorf("%d match", len(names))
	}
	if took := time.Since(begin); took > max(100*each, 5*time.Second) {
		t.Errorf("it took %v, and one pattern alone %v", took, each)
	}
}
