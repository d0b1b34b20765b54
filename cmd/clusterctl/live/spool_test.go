package live

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

// A reader that is never done with the stream: the ring goes round and round, and the file does not
// grow.
func TestASpoolGrowsNoLargerThanItMay(t *testing.T) {
	const most = 10_000
	s, err := newSpool(t.TempDir(), most)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	r := rand.New(rand.NewPCG(1, 2))
	var in, out bytes.Buffer
	for range 2000 {
		p := make([]byte, 1+r.IntN(3000))
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		in.Write(p)
		if _, err := s.Write(p); err != nil {
			t.Fatal(err)
		}
		// Some bytes are always left.
		if n := s.written - s.read - 1 - int64(r.IntN(4000)); n > 0 {
			if _, err := io.CopyN(&out, s, n); err != nil {
				t.Fatal(err)
			}
		}
	}
	if info, err := s.file.Stat(); err != nil || info.Size() > most {
		t.Errorf("the file has %d bytes (%v)", info.Size(), err)
	}
	if _, err := s.Write(make([]byte, most)); err == nil {
		t.Error("more waits than may")
	}
	if _, err := io.CopyN(&out, s, s.written-s.read); err != nil || !bytes.Equal(in.Bytes(), out.Bytes()) {
		t.Errorf("%d bytes came, %d were sent (%v)", out.Len(), in.Len(), err)
	}
}
