package resp

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// pipe returns a guard and its client. cuts receives the errors with which Traffic.Cut is called.
func pipe(t *testing.T, l Limits) (g *Guard, client net.Conn, traffic *Traffic, cuts chan error) {
	client, conn := net.Pipe()
	t.Cleanup(func() { client.Close(); conn.Close() })
	cuts = make(chan error, 1)
	traffic = &Traffic{Cut: func(_ net.Addr, _ int64, why error) { cuts <- why }}
	return NewGuard(conn, func() Limits { return l }, traffic), client, traffic, cuts
}

func write(t *testing.T, g *Guard, bytes int) {
	t.Helper()
	if _, err := g.Write(make([]byte, bytes)); err != nil {
		t.Fatal(err)
	}
}

// The soft limit also holds when nothing more is written for a client: for a client that takes
// nothing, and for one that takes a little now and then.
func TestTheSoftLimitHoldsWhenNothingMoreIsWritten(t *testing.T) {
	for _, reads := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := testLimits()
			l.OutputSoftMax, l.OutputSoftTime, l.StallTimeout = 1<<20, 20*time.Second, 30*time.Second
			g, client, traffic, cuts := pipe(t, l)
			began := time.Now()
			write(t, g, 2<<20)
			if reads {
				tick := time.NewTicker(time.Second)
				defer tick.Stop()
				go func() {
					for {
						if _, err := client.Read(make([]byte, 1000)); err != nil {
							return
						}
						<-tick.C
					}
				}()
				defer func() { <-time.After(2 * time.Second) }()
			}
			why := <-cuts
			took := time.Since(began)
			if !errors.Is(why, ErrOutputBuffer) || took < l.OutputSoftTime || took > l.OutputSoftTime+2*time.Second || traffic.OutputClosed.Load() != 1 {
				t.Errorf("cut off after %v: %v, %d", took, why, traffic.OutputClosed.Load())
			}
		})
	}
}

// A client that was above the soft limit and has read enough is not closed.
func TestTheSoftLimitForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testLimits()
		l.OutputSoftMax, l.OutputSoftTime, l.StallTimeout = 1<<20, 20*time.Second, time.Minute
		g, client, _, cuts := pipe(t, l)
		write(t, g, 2<<20)
		<-time.After(l.OutputSoftTime / 2)
		if _, err := io.CopyN(io.Discard, client, 3<<19); err != nil {
			t.Fatal(err)
		}
		<-time.After(l.OutputSoftTime)
		if _, err := io.CopyN(io.Discard, client, 1<<19); err != nil || len(cuts) > 0 {
			t.Error(err, len(cuts))
		}
	})
}

func TestAClientThatTakesNothingIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testLimits()
		l.StallTimeout = 30 * time.Second
		g, _, traffic, cuts := pipe(t, l)
		write(t, g, 100)
		if why := <-cuts; !errors.Is(why, ErrStalled) || traffic.OutputClosed.Load() != 0 {
			t.Error(why)
		}
		if _, err := g.Write([]byte("x")); !errors.Is(err, ErrStalled) {
			t.Error(err)
		}
	})
}

func TestAClientIsCutOffOnce(t *testing.T) {
	g, _, traffic, cuts := pipe(t, testLimits())
	g.CutOff(7)
	g.CutOff(7)
	if why := <-cuts; !errors.Is(why, ErrOutputBuffer) || traffic.OutputClosed.Load() != 1 {
		t.Error(why, traffic.OutputClosed.Load())
	}
	if _, err := g.Write([]byte("x")); !errors.Is(err, ErrOutputBuffer) {
		t.Error(err)
	}
}

// AwaitRoom waits until the client has read half of the bytes that may wait. Meanwhile it reads the
// bytes that the client sends.
func TestAClientThatIsBehindIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, client, _, _ := pipe(t, testLimits())
		write(t, g, pausedBytes)
		g.AwaitRoom(t.Context())
		write(t, g, pausedBytes)
		if !g.Behind() {
			t.Fatal("it is not behind")
		}
		done := make(chan struct{})
		go func() { g.AwaitRoom(t.Context()); close(done) }()
		if _, err := client.Write([]byte("PING\r\n")); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		<-time.After(time.Second)
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("it has not waited")
		default:
		}
		go func() { _, _ = io.CopyN(io.Discard, client, pausedBytes*3/2) }()
		<-done
		if took := time.Since(began); g.Usage().WaitingBytes > pausedBytes || took > 2*time.Second {
			t.Errorf("%d bytes wait, %v", g.Usage().WaitingBytes, took)
		}
		if data, n, err := g.Next(); n != 1 || err != nil {
			t.Errorf("%q, %d, %v", data, n, err)
		}
	})
}

// The wait for room ends when the client is cut off, when the client sends too much meanwhile, and
// when the node stops.
func TestNobodyIsAwaitedForEver(t *testing.T) {
	for _, how := range []string{"stalls", "sends", "stops"} {
		synctest.Test(t, func(t *testing.T) {
			l := testLimits()
			l.StallTimeout, l.QueryBytesMax = 30*time.Second, 4<<20
			g, client, _, _ := pipe(t, l)
			write(t, g, 2*pausedBytes)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			switch how {
			case "sends":
				go func() { _, _ = client.Write(make([]byte, 2<<20)) }()
			case "stops":
				time.AfterFunc(time.Second, cancel)
			}
			began := time.Now()
			g.AwaitRoom(ctx)
			if took := time.Since(began); took > l.StallTimeout+time.Second || how != "stalls" && took > 2*time.Second {
				t.Errorf("%s: %v", how, took)
			}
		})
	}
}

func TestHowMuchMayWait(t *testing.T) {
	const large = 2 * pausedBytes
	for _, x := range []struct{ hard, soft, together, waiting, want int64 }{
		{0, 0, 0, 1 << 40, pausedBytes},
		{large, large, 0, 0, pausedBytes},
		{large - 1, 0, 0, 0, math.MaxInt64},
		{0, large - 1, 0, 0, math.MaxInt64},
		{0, 0, 100, 50, pausedBytes},
		{0, 0, 100, 51, drainBytes},
		{large - 1, 0, 100, 51, math.MaxInt64},
	} {
		l := Limits{OutputHardMax: x.hard, OutputSoftMax: x.soft, TogetherMax: x.together}
		if got := l.pauseAt(x.waiting); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
}
