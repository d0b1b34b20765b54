package resp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func valveGuard(l Limits) (*Guard, *valve, *Traffic) {
	v, traffic := newValve(), new(Traffic)
	return NewGuard(v, func() Limits { return l }, traffic), v, traffic
}

func TestAWriterNeverWaitsForAReader(t *testing.T) {
	g, v, traffic := valveGuard(testLimits())
	var want strings.Builder
	for i := range 100 {
		text := strings.Repeat(string(rune('a'+i%26)), 10_000)
		want.WriteString(text)
		if _, err := g.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if n := g.Usage().WaitingBytes; n < 900_000 {
		t.Errorf("%d bytes wait", n)
	}
	for range 1000 {
		v.open(1001)
	}
	g.Finish(time.Minute)
	if v.content() != want.String() {
		t.Error("what came out is not what went in")
	}
	if u := g.Usage(); u.WaitingBytes != 0 || u.OutBytes != 1_000_000 || traffic.Out.Load() != 1_000_000 {
		t.Errorf("%+v", u)
	}
}

func TestAClientThatDoesNotReadIsClosedAtTheHardLimit(t *testing.T) {
	l := testLimits()
	l.OutputHardMax = 100_000
	g, v, traffic := valveGuard(l)
	var err error
	for i := 0; err == nil; i++ {
		if i > 100 {
			t.Fatal("everything is taken")
		}
		_, err = g.Write(make([]byte, 10_000))
	}
	if !errors.Is(err, ErrOutputBuffer) || !v.closed || traffic.OutputClosed.Load() != 1 {
		t.Error(err, v.closed)
	}
	if _, again := g.Write([]byte("x")); !errors.Is(again, ErrOutputBuffer) {
		t.Error("an error is final:", again)
	}
}

func TestAClientIsClosedWhenItStaysAboveTheSoftLimit(t *testing.T) {
	l := testLimits()
	l.OutputSoftMax, l.OutputSoftTime = 50_000, -time.Second
	g, v, _ := valveGuard(l)
	var err error
	for i := 0; err == nil && i < 20; i++ {
		_, err = g.Write(make([]byte, 10_000))
	}
	if !errors.Is(err, ErrOutputBuffer) || !v.closed {
		t.Error(err, v.closed)
	}
}

func TestFinishDoesNotWaitForEver(t *testing.T) {
	g, v, _ := valveGuard(testLimits())
	if _, err := g.Write([]byte("never read")); err != nil {
		t.Fatal(err)
	}
	g.Finish(time.Millisecond)
	v.Close()
}

// A client that goes on reading gets all of its last replies, however long it takes. Finish does
// not wait much longer than the patience for a client that stops reading.
func TestFinishWaitsForWhoReads(t *testing.T) {
	const patience, all = 500 * time.Millisecond, 1 << 20
	for _, reads := range []int{all, all / 2} {
		synctest.Test(t, func(t *testing.T) {
			g, v, _ := valveGuard(testLimits())
			reply := strings.Repeat("x", all)
			if _, err := g.Write([]byte(reply)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			go func() {
				tick := time.NewTicker(2 * time.Millisecond)
				defer tick.Stop()
				for n := 0; n < reads; n += 1 << 10 {
					<-tick.C
					v.open(1 << 10)
				}
			}()
			g.Finish(patience)
			took, reading := time.Since(began), time.Duration(reads>>10)*2*time.Millisecond
			if got := v.content(); got != reply[:reads] || took < reading || took > reading+2*patience {
				t.Errorf("%d bytes of %d after %v", len(got), reads, took)
			}
			v.Close()
		})
	}
}

// A client that has not logged in is told so, and cannot make many such replies wait. Earlier
// replies that wait do not count, whether they are being written or not.
func TestAStrangerHoardsNothing(t *testing.T) {
	for _, leaving := range []bool{false, true} {
		g, v, traffic := valveGuard(testLimits())
		defer v.Close()
		if _, err := g.Write(make([]byte, 100_000)); err != nil {
			t.Fatal(err)
		}
		for begun := time.Now(); leaving && !isLeaving(g); runtime.Gosched() {
			if time.Since(begun) > time.Minute {
				t.Fatal("nobody writes it")
			}
		}
		g.out.know(false)
		var err error
		n := 0
		for ; err == nil && n <= unauthOutputMax; n += 1000 {
			_, err = g.Write(make([]byte, 1000))
		}
		if n < unauthOutputMax-1000 || !errors.Is(err, ErrOutputBuffer) || traffic.OutputClosed.Load() != 1 {
			t.Errorf("%v behind %d bytes", err, n)
		}
	}
	g, v, _ := valveGuard(testLimits())
	defer v.Close()
	g.out.know(false)
	g.out.know(true)
	if _, err := g.Write(make([]byte, 2*unauthOutputMax)); err != nil {
		t.Error(err)
	}
}

// isLeaving reports whether the goroutine is writing bytes now.
func isLeaving(g *Guard) bool {
	g.out.mu.Lock()
	defer g.out.mu.Unlock()
	return g.out.leaving > 0
}

func TestWhatIsWrittenSoonKeepsItsPlace(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reader, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	g := NewGuard(conn, testLimits, new(Traffic))
	var want strings.Builder
	for i := range 2000 {
		message, reply := fmt.Sprintf("message %d;", i), fmt.Sprintf("reply %d;", i)
		want.WriteString(message + reply)
		if _, err := g.WriteLater([]byte(message)); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Write([]byte(reply)); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, want.Len())
	_ = reader.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.ReadFull(reader, got); err != nil || string(got) != want.String() {
		t.Errorf("%v: what came out is not what went in", err)
	}
}

func TestWhatIsWrittenLaterIsBounded(t *testing.T) {
	l := testLimits()
	l.OutputHardMax = 100_000
	g, v, traffic := valveGuard(l)
	var err error
	for i := 0; err == nil && i < 100; i++ {
		_, err = g.WriteLater(make([]byte, 10_000))
	}
	if !errors.Is(err, ErrOutputBuffer) || !v.closed || traffic.OutputClosed.Load() != 1 {
		t.Error(err, v.closed)
	}
	if _, again := g.WriteLater([]byte("x")); !errors.Is(again, ErrOutputBuffer) {
		t.Error("an error is final:", again)
	}
}

// The messages between two kicks go out in one piece, and only with the kick.
func TestWhatIsLeftGoesOutInOnePiece(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	traffic := new(Traffic)
	g := NewGuard(here, testLimits, traffic)
	defer g.Close()
	for round := range int64(3) {
		for i := range 100 {
			kick, err := g.WriteLater([]byte("message;"))
			if err != nil || kick != (i == 0) {
				t.Fatalf("round %d, message %d: kick %v, %v", round, i, kick, err)
			}
		}
		if n := traffic.Writes.Load(); n != uint64(round) {
			t.Errorf("%d writes before the kick of round %d", n, round)
		}
		g.Kick()
		got := make([]byte, 100*len("message;"))
		_ = there.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.ReadFull(there, got); err != nil || string(got) != strings.Repeat("message;", 100) {
			t.Fatalf("%v: %q", err, got)
		}
		g.Flush(30 * time.Second)
		if n := traffic.Writes.Load(); n != uint64(round)+1 {
			t.Errorf("%d writes in %d rounds", n, round+1)
		}
	}
}
