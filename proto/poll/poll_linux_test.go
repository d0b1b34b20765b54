package poll

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// echo is a guest that sends back its input. Now and then it leaves the loop, and a goroutine
// continues for a while.
type echo struct {
	conn  *Conn
	r     *rand.Rand
	ended chan struct{}
	// inside is true while the guest is called: there must be one call at a time.
	inside atomic.Bool
	ticks  atomic.Int64
	// flying is true if an answer is on its way, which Called sends.
	flying bool
	more   bool
	answer []byte
	buf    [512]byte
}

func (e *echo) enter(t *testing.T) func() {
	if e.inside.Swap(true) {
		t.Error("two call the guest at a time")
	}
	return func() { e.inside.Store(false) }
}

type testedEcho struct {
	*echo
	t *testing.T
	// mayEnd is true if the connection may be closed at any time.
	mayEnd bool
}

// sent checks the result of a write.
func (e testedEcho) sent(err error) {
	if err != nil && !e.mayEnd {
		e.t.Error(err)
	}
}

func (e testedEcho) Ready() {
	defer e.enter(e.t)()
	e.step()
}

func (e *echo) Tick() { e.ticks.Add(1) }

func (e testedEcho) step() {
	if e.flying {
		e.more = true
		return
	}
	for {
		n, err := e.conn.TryRead(e.buf[:])
		switch {
		case errors.Is(err, ErrNothing):
			return
		case err != nil:
			e.conn.Leave()
			e.conn.Close()
			close(e.ended)
			return
		}
		switch e.r.Intn(4) {
		case 0:
			// A goroutine continues, and then comes back.
			e.conn.Leave()
			data := append([]byte(nil), e.buf[:n]...)
			go e.outside(data)
			return
		case 1:
			e.flying, e.more, e.answer = true, n == len(e.buf), append([]byte(nil), e.buf[:n]...)
			go e.conn.Call(e.r.Intn(2) == 0)
			return
		}
		_, err = e.conn.TryWrite(e.buf[:n])
		e.sent(err)
		if n < len(e.buf) && e.conn.Drained() {
			return
		}
	}
}

func (e testedEcho) outside(data []byte) {
	_, err := e.conn.Write(data)
	e.sent(err)
	forGood := e.r.Intn(60) == 0
	if forGood {
		e.conn.LeaveForGood()
	}
	for forGood || e.r.Intn(2) == 0 {
		n, err := e.conn.Read(e.buf[:])
		if err != nil {
			e.conn.Close()
			close(e.ended)
			return
		}
		_, err = e.conn.Write(e.buf[:n])
		e.sent(err)
	}
	e.conn.Enter(e)
}

func (e testedEcho) Called() {
	defer e.enter(e.t)()
	_, err := e.conn.TryWrite(e.answer)
	e.sent(err)
	e.flying = false
	if e.more || !e.conn.Drained() {
		e.more = false
		e.step()
	}
}

func newLoop(t *testing.T) *Loop {
	t.Helper()
	l, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// pair returns a connection of a loop, outside it, and the other end.
func pair(t *testing.T, l *Loop) (*Conn, *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	far, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	near, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Take(near.(*net.TCPConn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close(); c.Close() })
	return c, far.(*net.TCPConn)
}

// All input is answered, in order, whether the loop or a goroutine has the connection. The end of
// the input is noticed even if it comes together with the last bytes.
func TestNothingIsOverlooked(t *testing.T) {
	l := newLoop(t)
	var all sync.WaitGroup
	for i := range 20 {
		c, far := pair(t, l)
		e := testedEcho{&echo{conn: c, r: rand.New(rand.NewSource(int64(i))), ended: make(chan struct{})}, t, false}
		c.Enter(e)
		all.Go(func() { converse(t, far, int64(i)); <-e.ended })
	}
	all.Wait()
	l.Close()
}

func converse(t *testing.T, far *net.TCPConn, seed int64) {
	r := rand.New(rand.NewSource(seed))
	_ = far.SetDeadline(time.Now().Add(60 * time.Second))
	for i := range 300 {
		sent := fmt.Appendf(nil, "%d:%s", i, bytes.Repeat([]byte{'x'}, r.Intn(1200)))
		if _, err := far.Write(sent); err != nil {
			t.Error(err)
			return
		}
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(far, got); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("request %d: %v", i, err)
			return
		}
	}
	if _, err := far.Write([]byte("last")); err != nil {
		t.Error(err)
	}
	_ = far.CloseWrite()
	if rest, err := io.ReadAll(far); err != nil || string(rest) != "last" {
		t.Errorf("the last answer: %q, %v", rest, err)
	}
}

func TestACloseIsNoticedInTheLoop(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	c, _ := pair(t, l)
	e := testedEcho{&echo{conn: c, r: rand.New(rand.NewSource(1)), ended: make(chan struct{})}, t, true}
	c.Enter(e)
	c.Close()
	within(t, e.ended)
	if err := c.Close(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if _, err := c.TryWrite([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func within(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// A closed descriptor soon belongs to another connection: the old connection must not affect that
// one.
func TestAPlaceIsUsedAgain(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	for i := range 200 {
		c, far := pair(t, l)
		e := testedEcho{&echo{conn: c, r: rand.New(rand.NewSource(int64(i))), ended: make(chan struct{})}, t, true}
		c.Enter(e)
		if _, err := far.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			c.Close()
		} else {
			far.Close()
		}
		within(t, e.ended)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.conns) > 3 {
		t.Errorf("%d places for one connection at a time", len(l.conns))
	}
}

func TestDeadlinesEndWaiting(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	c, far := pair(t, l)
	var b [8]byte
	_ = c.SetReadDeadline(time.Unix(1, 0))
	if _, err := c.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	if _, err := c.Read(b[:]); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	_ = c.SetReadDeadline(time.Time{})
	waits := make(chan error)
	go func() {
		_, err := c.Read(b[:])
		waits <- err
	}()
	_ = c.SetReadDeadline(time.Unix(1, 0))
	if err := <-waits; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
	_ = c.SetDeadline(time.Time{})
	if _, err := far.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(b[:]); err != nil || string(b[:n]) != "hello" {
		t.Error(n, err)
	}
	go func() {
		_, err := c.Read(b[:])
		waits <- err
	}()
	c.Close()
	if err := <-waits; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// If the other side does not read, a writer waits until its deadline at most. If it reads again, it
// gets everything.
func TestAWriterWaitsForRoom(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	c, far := pair(t, l)
	big := bytes.Repeat([]byte("0123456789"), 2<<20)
	var done int
	ended := make(chan error)
	go func() {
		var err error
		done, err = c.Write(big)
		ended <- err
	}()
	for begun := time.Now(); c.writing.Load() == 0; runtime.Gosched() {
		if time.Since(begun) > time.Minute {
			t.Fatal("the writer does not wait")
		}
	}
	_ = c.SetWriteDeadline(time.Unix(1, 0))
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) || done == 0 || done == len(big) {
		t.Fatalf("%d of %d bytes, %v", done, len(big), err)
	}
	_ = c.SetWriteDeadline(time.Time{})
	go func() {
		if _, err := c.Write(big[done:]); err != nil {
			t.Error(err)
		}
		_ = c.CloseWrite()
	}()
	if got, err := io.ReadAll(far); err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d of %d bytes, %v", len(got), len(big), err)
	}
}

func TestTicksComeWhileTheyAreAskedFor(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	c, _ := pair(t, l)
	g := &ticked{conn: c, done: make(chan struct{})}
	c.Enter(g)
	within(t, g.done)
	l.mu.Lock()
	defer l.mu.Unlock()
}

// ticked asks for three ticks.
type ticked struct {
	conn *Conn
	n    int
	done chan struct{}
}

func (g *ticked) Ready()  { g.conn.Clock(true) }
func (g *ticked) Called() {}
func (g *ticked) Tick() {
	if g.n++; g.n == 3 {
		g.conn.Clock(false)
		close(g.done)
	}
}

// A deadline also holds for a writer after the connection has left its loop for good.
func TestADeadlineOutlivesTheLoop(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	c, _ := pair(t, l)
	waits := make(chan error, 1)
	go func() {
		_, err := c.Write(make([]byte, 20<<20))
		waits <- err
	}()
	for begun := time.Now(); c.writing.Load() == 0; runtime.Gosched() {
		if time.Since(begun) > time.Minute {
			t.Fatal("it does not wait")
		}
	}
	_ = c.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
	c.LeaveForGood()
	select {
	case err := <-waits:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for ever")
	}
}

// A writer finds no room, and then the connection leaves its loop: the writer does not wait for a
// report of the loop.
func TestAWriterDoesNotWaitForALoopThatWasLeft(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	c, _ := pair(t, l)
	big := make([]byte, 1<<20)
	for {
		if _, err := c.TryWrite(big); errors.Is(err, ErrNothing) {
			break
		}
	}
	c.LeaveForGood()
	done, back := 0, make(chan struct{})
	go func() {
		_ = c.awaitRoom(big, &done)
		close(back)
	}()
	within(t, back)
}

// counted is a guest that counts how often it is called.
type counted struct{ readies, calls, ticks atomic.Int64 }

func (g *counted) Ready()  { g.readies.Add(1) }
func (g *counted) Called() { g.calls.Add(1) }
func (g *counted) Tick()   { g.ticks.Add(1) }

// A goroutine that has what a guest waits for calls the guest itself, if the loop sleeps.
func TestACallBorrowsALoopThatSleeps(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	c, _ := pair(t, l)
	g := &counted{}
	c.Enter(g)
	for n := range int64(100) {
		// The loop may be awake for a moment: a signal also wakes it.
		for begun := time.Now(); g.readies.Load() == 0 || !l.borrow(c); runtime.Gosched() {
			if time.Since(begun) > time.Minute {
				t.Fatal("the loop is not lent")
			}
		}
		if got := g.calls.Load(); got != n+1 {
			t.Fatalf("%d calls after %d", got, n+1)
		}
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.borrow(c) {
		t.Error("a loop that is awake is lent")
	}
}

// A guest may be called while it comes back into the loop.
func TestACallMeetsAnEntry(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	c, _ := pair(t, l)
	g := &counted{}
	c.Enter(g)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for range 2000 {
				c.Call(true)
				c.Enter(g)
			}
		})
	}
	both.Wait()
	for begun := time.Now(); g.calls.Load() == 0 || g.readies.Load() == 0; runtime.Gosched() {
		if time.Since(begun) > time.Minute {
			t.Fatal("it was not called")
		}
	}
}

// clocked is a guest that wants ticks, until it has had three after its connection was closed.
type clocked struct {
	conn *Conn
	shut bool
	n    int
	done chan struct{}
}

func (g *clocked) Called() {}
func (g *clocked) Ready() {
	g.conn.Clock(true)
	_, err := g.conn.TryRead(make([]byte, 1))
	g.shut = errors.Is(err, net.ErrClosed)
}

func (g *clocked) Tick() {
	if !g.shut {
		return
	}
	if g.n++; g.n == 3 {
		g.conn.Leave()
		close(g.done)
	}
}

// The clock calls the guest of a closed connection until the guest has left.
func TestTicksOutliveAClose(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	c, _ := pair(t, l)
	g := &clocked{conn: c, done: make(chan struct{})}
	c.Enter(g)
	c.Close()
	within(t, g.done)
}

// reader is a guest that relies on a short read if it may.
type reader struct {
	conn *Conn
	mu   sync.Mutex
	got  []byte
}

func (g *reader) Tick()   {}
func (g *reader) Called() {}
func (g *reader) Ready() {
	var buf [64]byte
	for {
		n, err := g.conn.TryRead(buf[:])
		g.mu.Lock()
		g.got = append(g.got, buf[:n]...)
		g.mu.Unlock()
		if err != nil || n < len(buf) && g.conn.Drained() {
			return
		}
	}
}

// A read ends at an urgent byte, although more input is behind it.
func TestUrgentBytesHideNothing(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	c, far := pair(t, l)
	raw, err := far.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		text  string
		flags int
	}{{"before", 0}, {"!", unix.MSG_OOB}, {"behind", 0}} {
		if err := raw.Control(func(fd uintptr) { err = unix.Sendto(int(fd), []byte(part.text), part.flags, nil) }); err != nil {
			t.Fatal(err)
		}
	}
	g := &reader{conn: c}
	c.Enter(g)
	for begun := time.Now(); ; runtime.Gosched() {
		g.mu.Lock()
		got := string(g.got)
		g.mu.Unlock()
		if got == "beforebehind" {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("it read %q", got)
		}
	}
}

// Flush implements Guest.
func (testedEcho) Flush() {}

// Flush implements Guest.
func (*ticked) Flush() {}

// Flush implements Guest.
func (*counted) Flush() {}

// Flush implements Guest.
func (*clocked) Flush() {}

// Flush implements Guest.
func (*reader) Flush() {}

// flushed is a guest that asks for a flush at each call, and records the calls. The first call
// waits.
type flushed struct {
	conn *Conn
	name string
	tell chan<- string
	wait <-chan struct{}
}

func (g *flushed) Ready() {
	if g.wait != nil {
		<-g.wait
		g.wait = nil
	}
	var buf [100]byte
	if n, _ := g.conn.TryRead(buf[:]); n > 0 {
		g.conn.Later()
		g.conn.Later()
		g.tell <- "ready " + g.name
	}
}

func (g *flushed) Called() { g.conn.Later() }
func (g *flushed) Tick()   {}
func (g *flushed) Flush()  { g.tell <- "flush " + g.name }

// awaitInput waits until there is something to read: on a busy machine the kernel may take a moment
// to deliver it.
func awaitInput(t *testing.T, c *Conn) {
	t.Helper()
	n := 0
	for begun := time.Now(); n == 0; runtime.Gosched() {
		if time.Since(begun) > time.Minute {
			t.Fatal("nothing comes")
		}
		_ = c.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
}

// Guests with output at the same time are flushed together, after all of them were called, each
// once, but not too many at a time.
func TestFlushesComeTogether(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	const conns = laterMax + 4
	told, begin := make(chan string, 10*conns), make(chan struct{})
	for i := range conns {
		c, far := pair(t, l)
		g := &flushed{conn: c, name: strconv.Itoa(i), tell: told}
		if i == 0 {
			g.wait = begin
		}
		if _, err := far.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		awaitInput(t, c)
		c.Enter(g)
	}
	// The loop was busy with the first guest until all had input.
	close(begin)
	var order []string
	for len(order) < 2*conns {
		select {
		case what := <-told:
			order = append(order, what)
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d: %q", len(order), 2*conns, order)
		}
	}
	readies, waiting, turns, flushes := 0, 0, 0, map[string]int{}
	for _, what := range order {
		verb, name, _ := strings.Cut(what, " ")
		if verb == "ready" {
			readies++
			if waiting == 0 {
				turns++
			}
			if waiting++; waiting > laterMax {
				t.Errorf("%d wait to be flushed: %q", waiting, order)
			}
			continue
		}
		waiting--
		flushes[name]++
	}
	if readies != conns || len(flushes) != conns || waiting != 0 || turns > 3 {
		t.Errorf("%d called, %d flushed in %d turns: %q", readies, len(flushes), turns, order)
	}
}

// A goroutine that borrows a loop also flushes the output of its call.
func TestABorrowedLoopIsFlushed(t *testing.T) {
	l := newLoop(t)
	defer l.Close()
	c, _ := pair(t, l)
	told := make(chan string, 10)
	g := &flushed{conn: c, tell: told}
	c.Enter(g)
	for begun := time.Now(); !l.borrow(c); runtime.Gosched() {
		if time.Since(begun) > time.Minute {
			t.Fatal("the loop is not lent")
		}
	}
	select {
	case what := <-told:
		if what != "flush " {
			t.Error(what)
		}
	default:
		t.Error("nobody was flushed")
	}
}
