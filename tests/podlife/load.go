package podlife

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

	"lockstep/tests/proc"
	"lockstep/tests/respconn"
)

// writeEvery is the pace of a client: the machine is for the nodes.
const writeEvery = 5 * time.Millisecond

// writer appends numbers to a list of its own, through any pod that is ready. It
// looks, as client libraries do, whether its connection was closed before it uses
// it, and then takes another; a number whose answer did not come is left alone,
// and the next is sent.
type writer struct {
	s    *set
	key  string
	conn *respconn.Conn
	next int

	mu sync.Mutex
	// sure are the numbers that were acknowledged. The rest is since tell: counted
	// of them were told of, silent had no answer and told had an error for one.
	sure         []int
	counted      int
	silent, told []string
	longest      time.Duration
}

// load is all writers.
type load struct {
	s    *set
	all  []*writer
	stop chan struct{}
	done sync.WaitGroup
}

// begin starts writers; they end with the test or before.
func (s *set) begin(writers int) *load {
	l := &load{s: s, stop: make(chan struct{})}
	for i := range writers {
		w := &writer{s: s, key: fmt.Sprintf("list:%d", i)}
		l.all = append(l.all, w)
		l.done.Go(func() { w.run(l.stop) })
	}
	s.t.Cleanup(l.halt)
	return l
}

// halt ends the writers in good order.
func (l *load) halt() {
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

// connected tells whether there is a connection that was not closed.
func (w *writer) connected() bool {
	if w.conn != nil && closed(w.conn.Net()) {
		w.conn.Close()
		w.conn = nil
	}
	if w.conn == nil {
		if addr := w.s.service(); addr != "" {
			w.conn, _ = w.s.dial(addr)
		}
	}
	return w.conn != nil
}

// closed looks, without waiting, whether the other side has closed a connection
// on which nothing is to come; what comes all the same is TLS's farewell.
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

// write sends the next number and tells whether it was acknowledged.
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

// tally is what the writers have met since it was last asked for.
type tally struct {
	// writes were acknowledged, silent had no answer.
	writes       int
	silent, told []string
	longest      time.Duration
}

func (t tally) String() string {
	return fmt.Sprintf("%d writes acknowledged, %d error replies, %d without an answer, longest pause %v",
		t.writes, len(t.told), len(t.silent), t.longest.Round(time.Millisecond))
}

// tell is the sum over all writers since it was last called.
func (l *load) tell() (sum tally) {
	for _, w := range l.all {
		w.mu.Lock()
		sum.writes += len(w.sure) - w.counted
		sum.silent = append(sum.silent, w.silent...)
		sum.told = append(sum.told, w.told...)
		sum.longest = max(sum.longest, w.longest)
		w.counted, w.silent, w.told, w.longest = len(w.sure), nil, nil, 0
		w.mu.Unlock()
	}
	return sum
}

// advance waits until every writer has had more writes acknowledged.
func (l *load) advance(writes int) {
	l.s.t.Helper()
	from := map[*writer]int{}
	for _, w := range l.all {
		from[w] = w.acknowledged()
	}
	proc.Wait(l.s.t, patience, fmt.Sprintf("every client has %d more writes acknowledged", writes), func() bool {
		for _, w := range l.all {
			if w.acknowledged() < from[w]+writes {
				return false
			}
		}
		return true
	})
}

func (w *writer) acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.sure)
}

// verify ends the writers and reads everything through each pod: what was
// acknowledged is there once and in order, what was not at most once, and nothing
// else.
func (l *load) verify(t testing.TB) {
	t.Helper()
	l.halt()
	total := 0
	for i := range l.s.ordinals() {
		for _, w := range l.all {
			v, err := l.s.ask(l.s.pod(i), "LRANGE", w.key, "0", "-1")
			must(t, err)
			total += len(w.sure)
			if lost, doubled, foreign := w.judge(v); lost+doubled+foreign > 0 {
				t.Errorf("%s through %s: %d of %d acknowledged writes lost, %d doubled, %d that nobody wrote or out of order", w.key, l.s.pod(i).name, lost, len(w.sure), doubled, foreign)
			}
		}
	}
	t.Logf("%d acknowledged writes read back through %d pods: 0 lost, 0 doubled unless said above", total, len(l.s.ordinals()))
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
