package resp

import (
	"errors"
	"strings"
	"testing"
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
	g.Finish(10 * time.Second)
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
