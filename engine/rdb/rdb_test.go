package rdb

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
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
		in := NewSource(b)
		got, err := in.Text()
		if err != nil || !bytes.Equal(got, want) || in.Done() {
			t.Errorf("%.20q came back as %.20q, %v", want, got, err)
		}
		if rest, err := in.Bytes(4); err != nil || string(rest) != "rest" || !in.Done() {
			t.Errorf("behind %.20q stands %q, %v", want, rest, err)
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
		value := w.Key(fmt.Appendf(nil, "key:%d", i), int64(i%3)*1_900_000_000_000, TypeString)
		value.Text(text)
		value.End()
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
		key := string(e.Key)
		want := texts[keys]
		text, err := r.Text()
		if err != nil {
			t.Fatal(err)
		}
		if key != fmt.Sprintf("key:%d", keys) || !bytes.Equal(text, want) || e.DB != keys%16 || e.ExpireAtMs != int64(keys%3)*1_900_000_000_000 {
			t.Errorf("key %d came back as %q db %d expiry %d text %.20q", keys, key, e.DB, e.ExpireAtMs, text)
		}
		keys++
	}
	if keys != len(texts) || fields != len(texts)+1 {
		t.Errorf("%d keys, %d fields", keys, fields)
	}
}

// A node of a Redis Cluster writes the sizes of its hash slots and of its tables between the keys.
func TestSizesAreReadOver(t *testing.T) {
	text := "REDIS0012\xfe\x03\xfb\x02\x00" +
		"\xf4\x80\x00\x00\x2f\xff\x01\x00" + "\x00\x01a\x01A" +
		"\xf4\x40\x05\x41\x00\x01" + "\x00\x01b\x01B" +
		"\xff" + strings.Repeat("\x00", 8)
	r, err := NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for {
		e, err := r.Next()
		if err != nil {
			t.Fatalf("behind %q: %v", got, err)
		}
		if e.EOF {
			break
		}
		key := string(e.Key)
		value, err := r.Text()
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprintf("%d %s=%s ", e.DB, key, value)
	}
	if got != "3 a=A 3 b=B " {
		t.Errorf("the keys are %q", got)
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
			if e.Aux == nil {
				if _, err := r.Text(); err != nil {
					return err
				}
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
}

// A claimed length allocates no memory by itself.
func TestALieAboutLengthCostsNothing(t *testing.T) {
	lie := append([]byte("REDIS0010\x00\x01k"), length32, 0x3f, 0xff, 0xff, 0xff)
	n := testing.AllocsPerRun(10, func() {
		r, err := NewReader(bytes.NewReader(lie))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Text(); err == nil {
			t.Fatal("a gigabyte came out of nothing")
		}
	})
	if n > 60 {
		t.Errorf("%v allocations", n)
	}
}

// A node of a stream, or a hash that is kept packed, may have 1 GiB before its listpack is built.
// Such a listpack must be readable. Here only the file is too short.
func TestALongListpackIsRead(t *testing.T) {
	for _, n := range []uint64{1<<30 + 1, 3 << 30, math.MaxUint32} {
		body := append(AppendLength(nil, n), make([]byte, 3*bufferBytes)...)
		s := Source{in: bytes.NewReader(body), buf: make([]byte, bufferBytes)}
		if _, err := s.Text(); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestAFullDiskIsToldByClose(t *testing.T) {
	w := NewWriter(&failing{left: 100_000})
	for range 1000 {
		value := w.Key([]byte("k"), 0, TypeString)
		value.Text([]byte(strings.Repeat("v", 1000)))
		value.End()
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
			e, err := r.Next()
			if err != nil || e.EOF {
				return
			}
			if e.Aux == nil {
				if _, err := r.Text(); err != nil {
					return
				}
			}
		}
	})
}

func FuzzOpenPayload(f *testing.F) {
	f.Add(AppendFooter(AppendText([]byte{TypeString}, []byte("text")), 0))
	f.Add([]byte("\x00\xc3\x03\x05\x02abc\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, body, ok := OpenPayload(data); ok {
			_, _ = NewSource(body).Text()
		}
		if text, err := NewSource(data).Text(); err == nil && len(text) > 100*len(data)+20 {
			t.Errorf("%d bytes of %d", len(text), len(data))
		}
	})
}

// A long text is written without a copy of it: a snapshot needs no more memory if the longest value
// is longer.
func TestALongTextDoesNotPassThroughTheBuffer(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 40*bufferBytes)
	var out bytes.Buffer
	w := NewWriter(&out)
	value := w.Key([]byte("key"), 0, TypeList)
	value.Length(3)
	value.Text([]byte("12"))
	value.Text(long)
	value.Blob(long)
	value.End()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := cap(w.buf); n > 2*bufferBytes {
		t.Errorf("the buffer has %d bytes", n)
	}
	r, err := NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := r.Next(); err != nil || string(e.Key) != "key" {
		t.Fatalf("%q, %v", e.Key, err)
	}
	if n, err := r.Length(); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	for _, want := range [][]byte{[]byte("12"), long, long} {
		if got, err := r.Text(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes came back as %d, %v", len(want), len(got), err)
		}
	}
	if e, err := r.Next(); err != nil || !e.EOF {
		t.Errorf("the end: %+v, %v", e, err)
	}
}
