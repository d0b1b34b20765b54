package list

import (
	"bytes"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/engine/rdb"
)

// nobody is an each that does nothing.
func nobody() {}

// element returns texts for all kinds of records.
func element(r *rand.Rand) string {
	switch r.Intn(6) {
	case 0:
		return strconv.FormatInt(int64(r.Uint64())>>r.Intn(64), 10)
	case 1:
		return strconv.Itoa(r.Intn(300) - 150)
	case 2:
		return []string{"", "-", "0", "-0", "00", "007", "+1", "1.0", "\xff", "\xf8\x01", "\xfe12345678", "\xffabc", "-9223372036854775808",
			"9223372036854775807", "9223372036854775808", "-9223372036854775809", "99999999999999999999", "-1234567890123456789"}[r.Intn(18)]
	case 3:
		return strings.Repeat("long ", r.Intn(100))
	}
	return string(rune('a' + r.Intn(4)))
}

// check compares a list with its model, with all methods that read.
func check(t *testing.T, l *List, model []string) {
	t.Helper()
	if l.Len() != len(model) {
		t.Fatalf("%d elements, want %d", l.Len(), len(model))
	}
	var buf Buffer
	n := 0
	for i, text := range l.From(0) {
		if i != n || string(text) != model[i] {
			t.Fatalf("From: place %d, element %q; want %d, %q", i, text, n, model[n])
		}
		if at := l.At(i, &buf); string(at) != model[i] {
			t.Fatalf("At(%d) is %q, want %q", i, at, model[i])
		}
		n++
	}
	if n != len(model) {
		t.Fatalf("From walks over %d of %d", n, len(model))
	}
	for i, text := range l.Backward(l.Len() - 1) {
		n--
		if i != n || string(text) != model[i] {
			t.Fatalf("Backward: place %d, element %q; want %d, %q", i, text, n, model[n])
		}
	}
	if n != 0 {
		t.Fatalf("Backward leaves %d", n)
	}
	items := func(yield func([]byte) bool) {
		for _, text := range model {
			if !yield([]byte(text)) {
				return
			}
		}
	}
	if want := len(rdb.AppendListpack(nil, items)); l.ListpackBytes() != want {
		t.Fatalf("listpack of %d bytes, want %d", l.ListpackBytes(), want)
	}
}

// remove is Remove of the model.
func remove(model []string, text string, most int, backward bool) ([]string, int) {
	removed := 0
	if backward {
		for i := len(model) - 1; i >= 0 && removed < most; i-- {
			if model[i] == text {
				model = slices.Delete(model, i, i+1)
				removed++
			}
		}
		return model, removed
	}
	for i := 0; i < len(model) && removed < most; {
		if model[i] == text {
			model = slices.Delete(model, i, i+1)
			removed++
		} else {
			i++
		}
	}
	return model, removed
}

// TestRandomChanges makes random changes to a list and to a slice of texts.
func TestRandomChanges(t *testing.T) {
	for _, limit := range []Limit{-2, -1, 16, 1, 0} {
		for seed := range int64(4) {
			r := rand.New(rand.NewSource(seed))
			l, model := New(), []string(nil)
			var old *List
			var oldModel []string
			for step := range 4000 {
				model = change(t, r, l, model, limit)
				if step%97 == 0 {
					check(t, l, model)
					if old != nil {
						check(t, old, oldModel)
					}
					old, oldModel = l.Clone().(*List), slices.Clone(model)
				}
			}
			check(t, l, model)
		}
	}
}

// change makes one change to both.
func change(t *testing.T, r *rand.Rand, l *List, model []string, limit Limit) []string {
	t.Helper()
	text := element(r)
	n := len(model)
	switch k := r.Intn(20); {
	case k < 9 || n == 0:
		i := []int{0, n, r.Intn(n + 1)}[r.Intn(3)]
		l.Reserve(limit, len(text), 1)
		l.Insert(i, []byte(text))
		return slices.Insert(model, i, text)
	case k < 12:
		i := r.Intn(n)
		l.Reserve(limit, len(text), 1)
		l.Set(i, []byte(text))
		model[i] = text
	case k < 18:
		i := r.Intn(n)
		count := r.Intn(min(n-i, 1+n/50) + 1)
		l.Delete(i, count)
		model = slices.Delete(model, i, i+count)
	case k < 19:
		most, backward := 1+r.Intn(n), r.Intn(2) == 0
		want := 0
		model, want = remove(model, text, most, backward)
		if got := l.Remove([]byte(text), most, backward, nobody); got != want {
			t.Fatalf("Remove of %q removes %d, want %d", text, got, want)
		}
	case r.Intn(20) == 0:
		i := r.Intn(n)
		count := r.Intn(n - i + 1)
		l.Trim(i, count)
		model = slices.Clone(model[i : i+count])
	}
	if i := l.Index([]byte(text), nobody); i != slices.Index(model, text) {
		t.Fatalf("Index of %q is %d, want %d", text, i, slices.Index(model, text))
	}
	l.Shrink(limit)
	return model
}

// TestRecordsAreTexts: each text has one record, and the record gives the text back.
func TestRecordsAreTexts(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	texts := []string{strconv.Itoa(math.MinInt64), strconv.Itoa(math.MaxInt64)}
	for range 20_000 {
		texts = append(texts, element(r))
	}
	for shift := range 64 {
		for d := int64(-2); d <= 2; d++ {
			texts = append(texts, strconv.FormatInt(int64(uint64(1)<<shift)+d, 10), strconv.FormatInt(-int64(uint64(1)<<shift)+d, 10))
		}
	}
	seen := map[string]string{}
	for _, text := range texts {
		var a, b Buffer
		record := a.record([]byte(text))
		if got := b.text(record); string(got) != text {
			t.Fatalf("%q comes back as %q", text, got)
		}
		if len(record) > len(text) && text[0] < 0xf8 {
			t.Errorf("the record of %q is longer than it", text)
		}
		if other, ok := seen[string(record)]; ok && other != text {
			t.Fatalf("%q and %q have the same record", text, other)
		}
		seen[string(record)] = text
		want := len(rdb.AppendListpack(nil, func(yield func([]byte) bool) { yield([]byte(text)) })) - 7
		if got := listpackBytes([]byte(text)); got != want {
			t.Errorf("%q has %d bytes in a listpack, want %d", text, got, want)
		}
	}
}

// TestFormsChangeAsInRedis moves a list across the limits of Redis 7.2.
func TestFormsChangeAsInRedis(t *testing.T) {
	push := func(l *List, limit Limit, text string, n int) {
		for range n {
			l.Reserve(limit, len(text), 1)
			l.PushBack([]byte(text))
		}
	}
	pop := func(l *List, limit Limit, n int) {
		for range n {
			l.Delete(0, 1)
			l.Shrink(limit)
		}
	}
	expect := func(l *List, when, want string) {
		t.Helper()
		if got := l.Encoding(); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	text := strings.Repeat("x", 98) // 101 bytes in a listpack
	l := New()
	push(l, -2, text, 81) // 7+81*101 = 8188
	expect(l, "81 elements", "listpack")
	push(l, -2, "1", 1) // 8188+1 raw, then 8190
	expect(l, "82 elements", "listpack")
	push(l, -2, "123", 1)
	expect(l, "83 elements", "quicklist")
	pop(l, -2, 42) // 7+39*101+2+3 = 3951
	expect(l, "half of it", "listpack")
	l = New()
	push(l, 10, "a", 10)
	expect(l, "10 of 10", "listpack")
	push(l, 10, "a", 1)
	expect(l, "11 of 10", "quicklist")
	pop(l, 10, 5)
	expect(l, "6 of 10", "quicklist")
	pop(l, 10, 1)
	expect(l, "5 of 10", "listpack")
	push(l, 100, strings.Repeat("y", 9000), 1)
	expect(l, "few elements of more than 8 KiB", "quicklist")
	pop(l, 100, 4)
	expect(l, "two elements of more than 8 KiB", "quicklist")
	pop(l, 100, 1)
	expect(l, "one element of more than 8 KiB", "listpack")
	for level, want := range map[Limit]int{-1: 4096, -2: 8192, -3: 16384, -4: 32768, -5: 65536} {
		if got := level.bytes(); got != want {
			t.Errorf("limit %d is %d bytes, want %d", level, got, want)
		}
	}
	l = New()
	l.Reserve(-2, 8186, 1)
	expect(l, "a text too long", "quicklist")
}

// TestClonesAreApart changes a clone and its original.
func TestClonesAreApart(t *testing.T) {
	for _, n := range []int{10, 10_000} {
		l := New()
		for i := range n {
			l.Reserve(-2, 4, 1)
			l.PushBack(fmt.Append(nil, "e", i))
		}
		c := l.Clone().(*List)
		c.Set(3, []byte("changed"))
		l.Delete(0, 2)
		var buf Buffer
		if got := c.At(3, &buf); !bytes.Equal(got, []byte("changed")) || c.Len() != n {
			t.Errorf("the clone of %d holds %q", n, got)
		}
		if got := l.At(1, &buf); !bytes.Equal(got, []byte("e3")) || l.Len() != n-2 {
			t.Errorf("the original of %d holds %q", n, got)
		}
	}
}

// TestMatchesLooksAtNoMore: Matches stops after the given number of elements.
func TestMatchesLooksAtNoMore(t *testing.T) {
	l := New()
	for _, text := range []string{"a", "b", "a", "b", "a"} {
		l.PushBack([]byte(text))
	}
	for most, want := range []string{"[] []", "[0] [4]", "[0] [4]", "[0 2] [4 2]", "[0 2] [4 2]", "[0 2 4] [4 2 0]", "[0 2 4] [4 2 0]"} {
		got := fmt.Sprint(slices.Collect(l.Matches([]byte("a"), false, most, nobody)), slices.Collect(l.Matches([]byte("a"), true, most, nobody)))
		if got != want {
			t.Errorf("Matches of %d elements: %s, want %s", most, got, want)
		}
	}
}
