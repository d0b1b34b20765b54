package secret

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// ends are the two ends of a connection with records.
func ends(t testing.TB) (a, b *records) {
	near, far := pipe(t)
	k1, k2 := bytes.Repeat([]byte{1}, keyBytes), bytes.Repeat([]byte{2}, keyBytes)
	return newRecords(near, k1, k2), newRecords(far, k2, k1)
}

func TestRecordsAreReadInPiecesOfAnyLength(t *testing.T) {
	a, b := ends(t)
	sent := make([]byte, 2*recordMax+999)
	for i := range sent {
		sent[i] = byte(i * 7)
	}
	go func() { _, _ = a.Write(sent) }()
	var got []byte
	for i, piece := 0, make([]byte, 3*recordMax); len(got) < len(sent); i++ {
		n, err := b.Read(piece[:[]int{0, 1, 3, 1000, recordMax, 3 * recordMax}[i%6]])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, piece[:n]...)
	}
	if !bytes.Equal(got, sent) {
		t.Error("what came is not what was sent")
	}
}

// TestKeysChange: both sides change to the next key after the same number of records, and never use
// a nonce twice with one key.
func TestKeysChange(t *testing.T) {
	a, b := ends(t)
	before := string(a.out.chain)
	a.out.count, b.in.count = rekeyAfter-2, rekeyAfter-2
	for i := range 5 {
		sent := fmt.Sprintf("record %d", i)
		if _, err := a.Write([]byte(sent)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(b, got); err != nil || string(got) != sent {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if string(a.out.chain) == before || string(a.out.chain) != string(b.in.chain) {
		t.Error("the key did not change")
	}
}

func TestAConnectionThatWasCutOffIsNoEndOfData(t *testing.T) {
	a, b := ends(t)
	if _, err := a.Write([]byte("whole")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Conn.Write([]byte{0, 30, 1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	a.Close()
	got, err := io.ReadAll(b)
	if string(got) != "whole" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestADeadlineEndsTheConnection: after half a record nothing more could be read.
func TestADeadlineEndsTheConnection(t *testing.T) {
	a, b := ends(t)
	if _, err := a.Conn.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	_ = b.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := b.Read(make([]byte, 9)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	_ = b.SetReadDeadline(time.Time{})
	if _, err := b.Read(make([]byte, 9)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it goes on: %v", err)
	}
}

// BenchmarkRecords compares a round trip with and without records.
func BenchmarkRecords(b *testing.B) {
	for _, n := range []int{100, 16 << 10, 1 << 20} {
		near, far := pipe(b)
		sealedNear, sealedFar := ends(b)
		for name, pair := range map[string][2]net.Conn{"plain": {near, far}, "records": {sealedNear, sealedFar}} {
			b.Run(fmt.Sprintf("%s-%d", name, n), func(b *testing.B) {
				_ = pair[0].SetDeadline(time.Time{})
				_ = pair[1].SetDeadline(time.Time{})
				b.SetBytes(int64(n))
				b.ReportAllocs()
				go func() {
					p := make([]byte, n)
					for range b.N {
						if _, err := io.ReadFull(pair[1], p); err != nil {
							return
						}
						_, _ = pair[1].Write(p[:1])
					}
				}()
				p, one := make([]byte, n), make([]byte, 1)
				for range b.N {
					_, _ = pair[0].Write(p)
					if _, err := io.ReadFull(pair[0], one); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
