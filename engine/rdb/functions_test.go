package rdb

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

var libraries = [][]byte{[]byte("#!lua name=a\nfirst"), bytes.Repeat([]byte("#!lua name=b\n"), 5000), []byte("")}

func sameTexts(a, b [][]byte) bool {
	return bytes.Equal(bytes.Join(a, []byte{0}), bytes.Join(b, []byte{0})) && len(a) == len(b)
}

func TestLibrariesComeBackAsTheyWent(t *testing.T) {
	for n := range len(libraries) + 1 {
		payload := AppendFunctions([]byte("before"), libraries[:n])[len("before"):]
		got, err := ReadFunctions(payload, 1<<20)
		if err != nil || !sameTexts(got, libraries[:n]) {
			t.Errorf("%d libraries came back as %.80q, %v", n, got, err)
		}
		for cut := range len(payload) {
			if _, err := ReadFunctions(payload[:cut], 1<<20); !errors.Is(err, ErrChecksum) && cut < 100 {
				t.Errorf("cut to %d bytes: %v", cut, err)
			}
		}
	}
	for body, want := range map[string]error{
		"\x00\x01a": ErrType, "\xf6\x01a": ErrType, "\xf5\x01ax": ErrType, "\xf5": ErrFormat, "\xf5\x05ab": ErrFormat,
		"\xf5\x81\xff\xff\xff\xff\xff\xff\xff\xff": ErrFormat,
	} {
		if _, err := ReadFunctions(AppendFooter([]byte(body), 0), 1<<20); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", body, err, want)
		}
	}
}

// TestLibrariesAreNotUnpackedBeyondTheirBound: a few bytes may claim to unpack to many.
func TestLibrariesAreNotUnpackedBeyondTheirBound(t *testing.T) {
	// LZF: a literal byte, then copies of 264 bytes each.
	packed := []byte{0, 'x'}
	for range 1000 {
		packed = append(packed, 0xe0, 255, 0)
	}
	const length = 1 + 1000*264
	body := append(AppendLength([]byte{opFunction, 0xc3}, uint64(len(packed))), AppendLength(nil, length)...)
	body = append(body, packed...)
	for max, want := range map[int]error{length: nil, length - 1: ErrFormat, 0: ErrFormat, 1: ErrFormat} {
		got, err := ReadFunctions(AppendFooter(bytes.Clone(body), 0), max)
		if !errors.Is(err, want) || want == nil && (len(got) != 1 || len(got[0]) != length) {
			t.Errorf("at most %d bytes: %d libraries, %v", max, len(got), err)
		}
	}
	two := append(bytes.Clone(body), body...)
	if _, err := ReadFunctions(AppendFooter(bytes.Clone(two), 0), 2*length-1); !errors.Is(err, ErrFormat) {
		t.Errorf("two of them: %v", err)
	}
	if got, err := ReadFunctions(AppendFooter(two, 0), 2*length); err != nil || len(got) != 2 {
		t.Errorf("two of them, with room: %d, %v", len(got), err)
	}
}

func TestAFileTellsOfItsLibraries(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Aux("a", []byte("field"))
	for _, l := range libraries {
		w.Function(l)
	}
	w.Key([]byte("k"), 0, TypeString).Text([]byte("v"))
	w.value.End()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	var got [][]byte
	for {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case e.EOF:
			if !sameTexts(got, libraries) {
				t.Errorf("got %.80q", got)
			}
			if _, err := r.Byte(); err == nil || errors.Is(err, io.EOF) != true {
				t.Errorf("behind the end: %v", err)
			}
			return
		case e.Function != nil:
			got = append(got, bytes.Clone(e.Function))
		case e.Aux == nil:
			if v, err := r.Text(); err != nil || string(v) != "v" {
				t.Errorf("the key behind the libraries holds %q, %v", v, err)
			}
		}
	}
}
