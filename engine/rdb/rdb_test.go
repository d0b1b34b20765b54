package rdb

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

var texts = [][]byte{
	[]byte(""), []byte("a"), []byte("0"), []byte("-1"), []byte("127"), []byte("128"), []byte("-129"), []byte("32768"), []byte("2147483647"),
	[]byte("2147483648"), []byte("007"), []byte("+1"), []byte("-0"), {0, 255, 13, 10}, bytes.Repeat([]byte("x"), 63), bytes.Repeat([]byte("x"), 64),
	bytes.Repeat([]byte("ab"), 10_000), bytes.Repeat([]byte("z"), 1<<20+3),
}

func TestATextComesBackAsItWent(t *testing.T) {
	for _, want := range texts {
		b := append(AppendText(nil, want), "rest"...)
		got, rest, ok := ReadText(b, 1<<30)
		if !ok || !bytes.Equal(got, want) || string(rest) != "rest" {
			t.Errorf("%.20q came back as %.20q, %.10q, %v", want, got, rest, ok)
		}
		if _, _, ok := ReadText(b, int64(len(want))-1); ok && b[0] < formInt8 && len(want) > 0 {
			t.Errorf("%.20q is longer than what was allowed", want)
		}
	}
}

// file writes the texts as keys and values, with auxiliary fields between.
func file(t testing.TB) []byte {
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Aux("header", []byte{1, 2, 3})
	for i, text := range texts {
		w.SelectDB(i % 16)
		w.Aux("between", text)
		w.Key(fmt.Appendf(nil, "key:%d", i), int64(i%3)*1_900_000_000_000, TypeString, AppendText(nil, text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAFileComesBackAsItWent(t *testing.T) {
	r, err := NewReader(bytes.NewReader(file(t)))
	if err != nil {
		t.Fatal(err)
	}
	keys, fields := 0, 0
	for {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e.EOF {
			break
		}
		if e.Aux != nil {
			fields++
			continue
		}
		want := texts[keys]
		if string(e.Key) != fmt.Sprintf("key:%d", keys) || !bytes.Equal(e.Text, want) || e.DB != keys%16 || e.ExpireAtMs != int64(keys%3)*1_900_000_000_000 {
			t.Errorf("key %d came back as %q db %d expiry %d text %.20q", keys, e.Key, e.DB, e.ExpireAtMs, e.Text)
		}
		keys++
	}
	if keys != len(texts) || fields != len(texts)+1 {
		t.Errorf("%d keys, %d fields", keys, fields)
	}
}

func TestADamagedFileIsRefused(t *testing.T) {
	whole := file(t)
	read := func(b []byte) error {
		r, err := NewReader(bytes.NewReader(b))
		if err != nil {
			return err
		}
		for {
			e, err := r.Next()
			if err != nil || e.EOF {
				return err
			}
		}
	}
	if err := read(whole); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(whole); i += len(whole)/100 + 1 {
		bad := bytes.Clone(whole)
		bad[i] ^= 0x10
		if read(bad) == nil {
			t.Errorf("a flipped bit in byte %d was not noticed", i)
		}
		if read(whole[:i]) == nil {
			t.Errorf("a file cut at %d was taken", i)
		}
	}
	if err := read([]byte("REDIS0099")); !errors.Is(err, ErrVersion) {
		t.Errorf("version 99: %v", err)
	}
	if err := read([]byte("REDIS0010\x01\x01k")); !errors.Is(err, ErrType) {
		t.Errorf("a list: %v", err)
	}
}

// An announced length makes no room by itself.
func TestALieAboutLengthCostsNothing(t *testing.T) {
	lie := append([]byte("REDIS0010\x00\x01k"), length32, 0x3f, 0xff, 0xff, 0xff)
	n := testing.AllocsPerRun(10, func() {
		r, err := NewReader(bytes.NewReader(lie))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err == nil {
			t.Fatal("a gigabyte came out of nothing")
		}
	})
	if n > 60 {
		t.Errorf("%v allocations", n)
	}
}

func TestAFullDiskIsToldByClose(t *testing.T) {
	w := NewWriter(&failing{left: 100_000})
	for range 1000 {
		w.Key([]byte("k"), 0, TypeString, AppendText(nil, []byte(strings.Repeat("v", 1000))))
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

var errFull = errors.New("full")

type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func FuzzReader(f *testing.F) {
	small := []byte("REDIS0010\xfe\x00\xfa\x01a\x01b\xfc\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01k\xc0\x05\xff\x00\x00\x00\x00\x00\x00\x00\x00")
	f.Add(small)
	f.Add([]byte("REDIS0011\x00\x01k\xc3\x03\x05\x02abc\xff\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := NewReader(bytes.NewReader(data))
		if err != nil {
			return
		}
		for range 10_000 {
			if e, err := r.Next(); err != nil || e.EOF {
				return
			}
		}
	})
}

func FuzzOpenPayload(f *testing.F) {
	f.Add(AppendFooter(AppendText([]byte{TypeString}, []byte("text")), 0))
	f.Add([]byte("\x00\xc3\x03\x05\x02abc\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, body, ok := OpenPayload(data); ok {
			ReadText(body, 1<<20)
		}
		if text, rest, ok := ReadText(data, 1<<20); ok && len(text) > 100*len(data)+20 {
			t.Errorf("%d bytes of %d, %d left", len(text), len(data), len(rest))
		}
	})
}
