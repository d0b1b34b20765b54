// Package writers has clients that write without a pause, and then check that all acknowledged
// writes are there.
package writers

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lockstep/tests/kit/proc"
	"lockstep/tests/kit/respconn"
)

// advancePatience is how long clients may wait for a cluster that should serve them.
const advancePatience = 90 * time.Second

// writeEvery is the pace of a client. It leaves most of the machine to the nodes.
const writeEvery = 5 * time.Millisecond

// writer appends numbers to a list of its own, through any pod that is ready. Like a client
// library, it checks before each use whether its connection was closed, and then opens another. It
// does not repeat a number that got no answer, but goes on with the next.
type writer struct {
	connect Connect
	key     string
	conn    *respconn.Conn
	next    int

	mu sync.Mutex
	// sure are the acknowledged numbers; Tell has reported the first counted of them. silent are
	// the writes without an answer and told those with an error reply, since the last Tell.
	sure         []int
	counted      int
	silent, told []string
	longest      time.Duration
}

// Connect opens a connection to a server that is ready, as a client library or a Service would
// choose it.
type Connect func() (*respconn.Conn, error)

// Writers are the clients of a test.
type Writers struct {
	t    testing.TB
	all  []*writer
	stop chan struct{}
	done sync.WaitGroup
}

// Begin starts n clients. They end with the test at the latest.
func Begin(t testing.TB, n int, connect Connect) *Writers {
	l := &Writers{t: t, stop: make(chan struct{})}
	for i := range n {
		w := &writer{connect: connect, key: fmt.Sprintf("list:%d", i)}
		l.all = append(l.all, w)
		l.done.Go(func() { w.run(l.stop) })
	}
	t.Cleanup(l.Halt)
	return l
}

// Halt stops the clients and waits for them.
func (l *Writers) Halt() {
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.done.Wait()
}

func (w *writer) run(stop <-chan struct{}) {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	defer func() {
		if w.conn != nil {
			w.conn.Close()
		}
	}()
	began := time.Time{}
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if began.IsZero() {
			began = time.Now()
		}
		if w.connected() && w.write() {
			w.mu.Lock()
			w.longest = max(w.longest, time.Since(began))
			w.mu.Unlock()
			began = time.Time{}
		}
	}
}

// connected reports whether there is an open connection. If necessary it tries to open one.
func (w *writer) connected() bool {
	if w.conn != nil && closed(w.conn.Net()) {
		w.conn.Close()
		w.conn = nil
	}
	if w.conn == nil {
		w.conn, _ = w.connect()
	}
	return w.conn != nil
}

// closed checks, without waiting, whether the other side has closed a connection on which no data
// is expected. Under TLS, received bytes are the closing message.
func closed(conn net.Conn) bool {
	if sealed, ok := conn.(*tls.Conn); ok {
		conn = sealed.NetConn()
	}
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return true
	}
	ended := false
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		ended = !errors.Is(err, unix.EAGAIN)
		return true
	})
	return err != nil || ended
}

// write sends the next number and reports whether it was acknowledged.
func (w *writer) write() bool {
	n := w.next
	w.next++
	args := []string{"RPUSH", w.key, strconv.Itoa(n)}
	v, err := w.conn.Do(args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		w.silent = append(w.silent, fmt.Sprintf("%s %s to %s: %v", w.key, args[2], w.conn.Net().RemoteAddr(), err))
		w.conn.Close()
		w.conn = nil
	case strings.HasPrefix(v.String(), ":"):
		w.sure = append(w.sure, n)
		return true
	default:
		w.told = append(w.told, v.String())
		w.conn.Close()
		w.conn = nil
	}
	return false
}

// Tally is what happened to the writers since the last call of Tell.
type Tally struct {
	// Writes is the number of acknowledged writes.
	Writes int
	// Silent are the writes without an answer, Told the error replies to others.
	Silent, Told []string
	// Longest is the longest time that a client was without an acknowledgement.
	Longest time.Duration
}

func (t Tally) String() string {
	return fmt.Sprintf("%d writes acknowledged, %d error replies, %d without an answer, longest pause %v",
		t.Writes, len(t.Told), len(t.Silent), t.Longest.Round(time.Millisecond))
}

// Tell sums up what happened to all writers since its last call.
func (l *Writers) Tell() (sum Tally) {
	for _, w := range l.all {
		w.mu.Lock()
		sum.Writes += len(w.sure) - w.counted
		sum.Silent = append(sum.Silent, w.silent...)
		sum.Told = append(sum.Told, w.told...)
		sum.Longest = max(sum.Longest, w.longest)
		w.counted, w.silent, w.told, w.longest = len(w.sure), nil, nil, 0
		w.mu.Unlock()
	}
	return sum
}

// Advance waits until every writer has had this many more writes acknowledged.
func (l *Writers) Advance(writes int) {
	l.t.Helper()
	from := map[*writer]int{}
	for _, w := range l.all {
		from[w] = w.acknowledged()
	}
	proc.Wait(l.t, advancePatience, fmt.Sprintf("every client has %d more writes acknowledged", writes), func() bool {
		for _, w := range l.all {
			if w.acknowledged() < from[w]+writes {
				return false
			}
		}
		return true
	})
}

// GoOn is called when the servers are whole again after a disturbance: it waits until every writer
// has more writes acknowledged, and logs what happened since Tell. With strict, errors fail the
// test.
func (l *Writers) GoOn(what string, took time.Duration, writes int, strict bool) {
	l.t.Helper()
	l.Advance(writes)
	met := l.Tell()
	l.t.Logf("%s: whole again after %v; %v", what, took.Round(100*time.Millisecond), met)
	if strict && len(met.Told)+len(met.Silent) > 0 {
		l.t.Errorf("%s: clients met error replies %q and no answer to %q", what, met.Told, met.Silent)
	}
}

func (w *writer) acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sure)
}

// Verify stops the writers and reads their lists from each of the servers, through its function in
// the map. An acknowledged write must be there once and in order, any other write at most once, and
// nothing else may be there.
func (l *Writers) Verify(servers map[string]func(args ...string) (respconn.Value, error)) {
	l.t.Helper()
	l.Halt()
	total := 0
	for name, ask := range servers {
		for _, w := range l.all {
			v, err := ask("LRANGE", w.key, "0", "-1")
			if err != nil {
				l.t.Fatalf("%s through %s: %v", w.key, name, err)
			}
			total += len(w.sure)
			if lost, doubled, foreign := w.judge(v); lost+doubled+foreign > 0 {
				l.t.Errorf("%s through %s: %d of %d acknowledged writes lost, %d doubled, %d that nobody wrote or out of order", w.key, name, lost, len(w.sure), doubled, foreign)
			}
		}
	}
	if total == 0 {
		l.t.Error("nothing was acknowledged, or nobody was asked")
	}
	l.t.Logf("%d acknowledged writes read back through %d servers: 0 lost, 0 doubled unless said above", total, len(servers))
}

func (w *writer) judge(v respconn.Value) (lost, doubled, foreign int) {
	seen, last := map[string]int{}, -1
	sure := map[string]bool{}
	for _, n := range w.sure {
		sure[strconv.Itoa(n)] = true
	}
	for _, e := range v.Elems {
		text := string(e.Bytes)
		seen[text]++
		n, err := strconv.Atoi(text)
		if err != nil || n >= w.next || sure[text] && n < last {
			foreign++
		}
		if sure[text] {
			last = n
		}
		if seen[text] == 2 {
			doubled++
		}
	}
	for text := range sure {
		if seen[text] == 0 {
			lost++
		}
	}
	return lost, doubled, foreign
}
